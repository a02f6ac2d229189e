#include "domain.h"

#include <numa.h>
#include <numaif.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "error.h"

namespace hfreduce {

namespace {

bool known(int domain) {
    return domain >= 0 && numa_available() >= 0 && domain <= numa_max_node();
}

}  // namespace

void place_memory(void* at, std::size_t bytes, int domain) {
    if (!bytes || !known(domain)) return;
    bitmask* mask = numa_allocate_nodemask();
    numa_bitmask_setbit(mask, static_cast<unsigned>(domain));
    mbind(at, bytes, MPOL_PREFERRED, mask->maskp, mask->size + 1, 0);
    numa_bitmask_free(mask);
}

void bind_thread(int domain) {
    cpu_set_t allowed;
    if (!known(domain) || sched_getaffinity(0, sizeof allowed, &allowed)) return;
    if (CPU_COUNT(&allowed) < sysconf(_SC_NPROCESSORS_ONLN)) return;
    bitmask* cpus = numa_allocate_cpumask();
    cpu_set_t chosen;
    CPU_ZERO(&chosen);
    if (!numa_node_to_cpus(domain, cpus))
        for (int cpu = 0; cpu < CPU_SETSIZE && cpu < static_cast<int>(cpus->size); ++cpu)
            if (numa_bitmask_isbitset(cpus, cpu) && CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &chosen);
    numa_bitmask_free(cpus);
    if (CPU_COUNT(&chosen)) sched_setaffinity(0, sizeof chosen, &chosen);
}

DomainMemory::DomainMemory(std::size_t bytes, int domain) : bytes_(bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        throw Error("no room for " + std::to_string(bytes) +
                    " bytes that the network receives into: " + std::strerror(errno));
    data_ = static_cast<std::byte*>(at);
    place_memory(data_, bytes_, domain);
}

DomainMemory::~DomainMemory() {
    if (data_) munmap(data_, bytes_);
}

DomainMemory::DomainMemory(DomainMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

}  // namespace hfreduce
