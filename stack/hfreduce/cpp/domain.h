// Memory and threads of a NUMA domain. A domain is the number of a NUMA node, or -1 where none is
// known; then, and where the kernel refuses, nothing is placed: it costs speed and nothing else.
#pragma once

#include <cstddef>

namespace hfreduce {

// Prefer the domain for pages that have not been touched yet. `at` is the start of a page.
void place_memory(void* at, std::size_t bytes, int domain);

// Leave the calling thread the processors of the domain, unless the process may not use all
// processors of the machine: then whoever started it has chosen.
void bind_thread(int domain);

// Zeroed memory of a domain, from the start of a page.
class DomainMemory {
  public:
    // Raises Error where the kernel has no room.
    DomainMemory(std::size_t bytes, int domain);
    ~DomainMemory();
    DomainMemory(DomainMemory&& other) noexcept;
    DomainMemory(const DomainMemory&) = delete;
    DomainMemory& operator=(const DomainMemory&) = delete;
    std::byte* data() const { return data_; }

  private:
    std::byte* data_;
    std::size_t bytes_;
};

}  // namespace hfreduce
