// A pretended GPU's memory: a file in memory that is mapped twice, once where nobody may touch it
// (the device pointer) and once for the pretended engines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace fake {

struct Place {
    char* at = nullptr;  // nullptr: no such memory
    std::uint64_t base = 0, id = 0;
    std::size_t size = 0;
    void* context = nullptr;  // nullptr: of a pool, or mapped piece by piece
    int device = 0;
    int fd = -1;
};

std::uint64_t allocate(std::size_t bytes, void* context, int device);
bool release(std::uint64_t base);
// The memory behind a device pointer, if all of it belongs to one allocation.
Place find(std::uint64_t pointer, std::size_t bytes);
// Another process's, by what its handle says.
std::uint64_t open_other(int pid, int fd, std::size_t bytes, void* context, int device);

int register_host(const void* base, std::size_t bytes);  // a CUresult
int unregister_host(const void* base);
bool registered(const void* base, std::size_t bytes);

// Steps of pretended engines, one JSON object a line, in the file that FAKE_CUDA_TRACE names.
void trace(const std::string& line);
double now_s();

}  // namespace fake
