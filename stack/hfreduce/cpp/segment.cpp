#include "segment.h"

#include <linux/futex.h>
#include <linux/memfd.h>
#include <numa.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>

#include "domain.h"
#include "error.h"

namespace hfreduce {

namespace {

constexpr std::uint32_t kMagic = 0x68667202;  // "hfr", layout 2
constexpr std::size_t kTextBytes = 1024;

std::size_t rounded(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

struct Segment::Header {
    std::atomic<std::uint32_t> magic;
    alignas(64) std::atomic<std::uint32_t> epoch;
    alignas(64) std::atomic<std::uint32_t> waiters;
    std::atomic<std::uint32_t> starving;
    std::atomic<std::uint32_t> network_sleeps[2 * kMaxChannels];
    alignas(64) std::atomic<std::uint32_t> abort_state;  // 0 no, 1 being written, 2 there
    char abort_text[kTextBytes];
    struct alignas(64) Counter {
        std::atomic<std::uint64_t> value;
    };
    Counter finished[kTrees * kMaxChannels];
    Counter sent_up[kTrees * kMaxChannels];
    Counter entered[kMaxLocal];
    struct alignas(64) Board {
        PairBoard value;
    };
    Board boards[kMaxLocal];
};

struct Segment::Slot {
    alignas(64) std::atomic<std::uint64_t> filled;
    alignas(64) std::atomic<std::uint64_t> added;
    alignas(64) std::atomic<std::uint64_t> drained;
};

namespace {

struct Layout {
    std::size_t slots, wanted, inputs, partials, results, bytes;
};

Layout layout(const Shape& shape, std::size_t header, std::size_t slot) {
    const std::size_t chunk = rounded(kHeaderBytes + shape.chunk_bytes, kPage);
    Layout at{};
    at.slots = rounded(header, kPage);
    at.wanted = at.slots + rounded(shape.depth * slot, kPage);
    at.inputs = at.wanted + rounded(sizeof(Wanted) * shape.depth * shape.local_size, kPage);
    at.partials = at.inputs + chunk * shape.depth * shape.local_size;
    at.results = at.partials + (shape.networked ? chunk * shape.depth : 0);
    at.bytes = at.results + chunk * shape.depth;
    return at;
}

}  // namespace

int Segment::create(const Shape& shape) {
    if (shape.local_size < 1 || shape.local_size > kMaxLocal)
        throw Error("a node has 1 to " + std::to_string(kMaxLocal) + " ranks, not " +
                    std::to_string(shape.local_size));
    if (shape.channels < 1 || shape.channels > kMaxChannels)
        throw Error("network_threads is 1 to " + std::to_string(kMaxChannels) + ", not " +
                    std::to_string(shape.channels));
    if (shape.depth < shape.lanes() || shape.depth % shape.lanes())
        throw Error("depth is " + std::to_string(shape.depth) + "; with " +
                    std::to_string(shape.channels) + " network threads it is a multiple of " +
                    std::to_string(shape.lanes()));
    const int fd = static_cast<int>(
        syscall(SYS_memfd_create, "hfreduce", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (fd < 0) throw Error(std::string("memfd_create: ") + std::strerror(errno));
    const Layout at = layout(shape, sizeof(Header), sizeof(Slot));
    if (ftruncate(fd, static_cast<off_t>(at.bytes))) {
        const int code = errno;
        close(fd);
        throw Error(std::string("no room for shared memory: ") + std::strerror(code));
    }
    return fd;
}

Segment::Segment(int fd, const Shape& shape, int local_rank)
    : shape_(shape), local_rank_(local_rank) {
    const Layout at = layout(shape, sizeof(Header), sizeof(Slot));
    bytes_ = at.bytes;
    void* base = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        throw Error(std::string("shared memory cannot be mapped: ") + std::strerror(errno));
    base_ = static_cast<std::byte*>(base);
    header_ = reinterpret_cast<Header*>(base_);
    slots_ = reinterpret_cast<Slot*>(base_ + at.slots);
    wanted_ = reinterpret_cast<Wanted*>(base_ + at.wanted);
    inputs_ = base_ + at.inputs;
    partials_ = base_ + at.partials;
    results_ = base_ + at.results;
    std::uint32_t none = 0;
    if (!header_->magic.compare_exchange_strong(none, kMagic) && none != kMagic) {
        munmap(base_, bytes_);
        throw Error("the shared memory is another version's");
    }
}

Segment::~Segment() {
    munmap(base_, bytes_);
    for (const int event : events_) close(event);
}

bool Shape::pairs(const Signature& signature) const {
    return !partners.empty() && signature.gpu && signature.op == Op::sum &&
           (signature.kind == Kind::allreduce || signature.kind == Kind::reduce) &&
           (signature.dtype == Dtype::f32 || signature.dtype == Dtype::f16 ||
            signature.dtype == Dtype::bf16);
}

std::size_t Shape::lower_half(std::size_t bytes) { return std::min(bytes, rounded(bytes / 2, 64)); }

PairBoard& Segment::board(int local_rank) const { return header_->boards[local_rank].value; }

void Segment::place(const std::vector<int>& domains) {
    if (numa_available() < 0 || numa_max_node() < 1) return;
    numa_interleave_memory(inputs_, static_cast<std::size_t>(partials_ - inputs_), numa_all_nodes_ptr);
    for (std::uint64_t g = 0; g < static_cast<std::uint64_t>(shape_.depth); ++g) {
        const int domain = domains.at(shape_.lane(g) / kTrees);
        for (std::byte* chunk : {partial(g), result(g)})
            place_memory(chunk - kHeaderBytes, stride(), domain);
    }
}

std::size_t Segment::stride() const { return rounded(kHeaderBytes + shape_.chunk_bytes, kPage); }

std::byte* Segment::input(int local_rank, std::uint64_t g) const {
    return inputs_ + stride() * (static_cast<std::size_t>(local_rank) * shape_.depth + slot(g)) +
           kHeaderBytes;
}

std::byte* Segment::partial(std::uint64_t g) const {
    return (shape_.networked ? partials_ : results_) + stride() * slot(g) + kHeaderBytes;
}

std::byte* Segment::result(std::uint64_t g) const {
    return results_ + stride() * slot(g) + kHeaderBytes;
}

Wanted& Segment::wanted(std::uint64_t g, int local_rank) const {
    return wanted_[slot(g) * shape_.local_size + local_rank];
}

bool Segment::counted(const std::atomic<std::uint64_t>& counter, std::uint64_t g,
                      int of_each) const {
    return counter.load(std::memory_order_acquire) >=
           (g / shape_.depth + 1) * static_cast<std::uint64_t>(shape_.local_size) * of_each;
}

bool Segment::filled(std::uint64_t g) const { return counted(slots_[slot(g)].filled, g, 1); }
bool Segment::added(std::uint64_t g) const {
    return counted(slots_[slot(g)].added, g, shape_.threads);
}
bool Segment::drained(std::uint64_t g) const { return counted(slots_[slot(g)].drained, g, 1); }

bool Segment::ready(std::uint64_t g) const {
    if (!shape_.networked) return added(g);
    return finished(shape_.lane(g)).load(std::memory_order_acquire) > shape_.turn(g);
}

bool Segment::free(std::uint64_t g) const {
    if (g < static_cast<std::uint64_t>(shape_.depth)) return true;
    const std::uint64_t former = g - shape_.depth;
    if (!drained(former) || !added(former)) return false;
    return !shape_.networked ||
           sent_up(shape_.lane(former)).load(std::memory_order_acquire) > shape_.turn(former);
}

std::atomic<std::uint64_t>& Segment::finished(int lane) const {
    return header_->finished[lane].value;
}
std::atomic<std::uint64_t>& Segment::sent_up(int lane) const { return header_->sent_up[lane].value; }
std::atomic<std::uint64_t>& Segment::entered(int local_rank) const {
    return header_->entered[local_rank].value;
}

bool Segment::fill(std::uint64_t g) {
    slots_[slot(g)].filled.fetch_add(1, std::memory_order_acq_rel);
    return filled(g);
}
bool Segment::add(std::uint64_t g) {
    slots_[slot(g)].added.fetch_add(1, std::memory_order_acq_rel);
    return added(g);
}
bool Segment::drain(std::uint64_t g) {
    slots_[slot(g)].drained.fetch_add(1, std::memory_order_acq_rel);
    return drained(g);
}

std::uint32_t Segment::epoch() const { return header_->epoch.load(std::memory_order_seq_cst); }

void Segment::wait(std::uint32_t seen, int milliseconds) const {
    header_->waiters.fetch_add(1, std::memory_order_seq_cst);
    const timespec limit{milliseconds / 1000, (milliseconds % 1000) * 1000000L};
    if (header_->epoch.load(std::memory_order_seq_cst) == seen)
        syscall(SYS_futex, &header_->epoch, FUTEX_WAIT, seen, &limit, nullptr, 0);
    header_->waiters.fetch_sub(1, std::memory_order_seq_cst);
}

void Segment::wake() const {
    header_->epoch.fetch_add(1, std::memory_order_seq_cst);
    if (header_->waiters.load(std::memory_order_seq_cst))
        syscall(SYS_futex, &header_->epoch, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::atomic<std::uint32_t>& Segment::starving() const { return header_->starving; }

void Segment::wake_starving() const {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (header_->starving.load(std::memory_order_seq_cst)) wake();
}

void Segment::set_network_events(const std::vector<int>& events) { events_ = events; }

std::atomic<std::uint32_t>& Segment::network_sleeps(int channel, int thread) const {
    return header_->network_sleeps[2 * channel + thread];
}

void Segment::wake_network(int channel, int thread) const {
    const std::size_t event = 2 * channel + thread;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (event >= events_.size() ||
        !network_sleeps(channel, thread).load(std::memory_order_seq_cst))
        return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto done = write(events_[event], &one, sizeof one);
}

void Segment::abort(const std::string& text) const {
    std::uint32_t none = 0;
    if (header_->abort_state.compare_exchange_strong(none, 1)) {
        const std::size_t length = std::min(text.size(), kTextBytes - 1);
        std::memcpy(header_->abort_text, text.data(), length);
        header_->abort_text[length] = 0;
        header_->abort_state.store(2, std::memory_order_release);
    }
    wake();
    for (const int event : events_) {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto done = write(event, &one, sizeof one);
    }
}

bool Segment::aborted() const {
    return header_->abort_state.load(std::memory_order_acquire) == 2;
}

std::string Segment::abort_text() const {
    return aborted() ? std::string(header_->abort_text) : std::string();
}

}  // namespace hfreduce
