#include "fake_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>

namespace fake {

namespace {

struct Allocation {
    std::size_t size;
    char* real;
    std::uint64_t id;
    void* context;
    int device;
    int fd;
};

std::mutex guard;
std::map<std::uint64_t, Allocation> memory;
std::map<const char*, std::size_t> hosts;
std::uint64_t last_id = 0;

std::size_t pages(std::size_t bytes) { return (bytes + 65535) / 65536 * 65536; }

std::uint64_t keep(int fd, std::size_t bytes, void* context, int device) {
    void* real = mmap(nullptr, pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    // GPU memory starts at pages of 64 KiB.
    void* room = mmap(nullptr, pages(bytes) + 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto base = (reinterpret_cast<std::uint64_t>(room) + 65535) / 65536 * 65536;
    const std::lock_guard<std::mutex> lock(guard);
    memory[base] = {bytes, static_cast<char*>(real), ++last_id, context, device, fd};
    return base;
}

}  // namespace

std::uint64_t allocate(std::size_t bytes, void* context, int device) {
    const int fd = static_cast<int>(syscall(SYS_memfd_create, "fake_gpu", 0));
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(pages(bytes)))) return 0;
    return keep(fd, bytes, context, device);
}

std::uint64_t open_other(int pid, int fd, std::size_t bytes, void* context, int device) {
    const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
    const int theirs = open(path.c_str(), O_RDWR | O_CLOEXEC);
    return theirs < 0 ? 0 : keep(theirs, bytes, context, device);
}

bool release(std::uint64_t base) {
    const std::lock_guard<std::mutex> lock(guard);
    const auto found = memory.find(base);
    if (found == memory.end()) return false;
    munmap(found->second.real, pages(found->second.size));
    close(found->second.fd);
    memory.erase(found);
    return true;
}

Place find(std::uint64_t pointer, std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(guard);
    auto next = memory.upper_bound(pointer);
    if (next == memory.begin()) return {};
    const auto& [base, each] = *--next;
    if (pointer - base + bytes > each.size) return {};
    return {each.real + (pointer - base), base, each.id, each.size, each.context, each.device, each.fd};
}

int register_host(const void* base, std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(guard);
    if (reinterpret_cast<std::uintptr_t>(base) % 4096 || !bytes) return 1;
    return hosts.emplace(static_cast<const char*>(base), bytes).second ? 0 : 712;
}

int unregister_host(const void* base) {
    const std::lock_guard<std::mutex> lock(guard);
    return hosts.erase(static_cast<const char*>(base)) ? 0 : 713;
}

bool registered(const void* base, std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(guard);
    const char* from = static_cast<const char*>(base);
    auto next = hosts.upper_bound(from);
    if (next == hosts.begin()) return false;
    --next;
    return from + bytes <= next->first + next->second;
}

void trace(const std::string& line) {
    static const int file = [] {
        const char* name = std::getenv("FAKE_CUDA_TRACE");
        return name ? open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    }();
    if (file < 0) return;
    const char* rank = std::getenv("RANK");
    const std::string whole = "{\"rank\": " + std::string(rank ? rank : "0") + ", " + line + "}\n";
    [[maybe_unused]] const auto done = write(file, whole.data(), whole.size());
}

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace fake
