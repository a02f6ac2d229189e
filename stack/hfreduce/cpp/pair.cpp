#include "pair.h"

#include <algorithm>
#include <cstring>

#include "add_kernels.h"

namespace hfreduce {

namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kMostBlocks = 1024;

}  // namespace

Pair::Pair(std::shared_ptr<Gpu> gpu, std::shared_ptr<Segment> segment)
    : gpu_(std::move(gpu)),
      segment_(std::move(segment)),
      partner_(segment_->shape().partners[segment_->local_rank()]),
      lower_(segment_->local_rank() < partner_),
      half_bytes_(Shape::lower_half(segment_->shape().chunk_bytes)) {
    gpu_->within([&] {
        const auto& driver = cuda::driver();
        driver.load_module(&module_, kAddKernels);
        for (int type = 0; type < 3; ++type)
            driver.find_function(&add_[type], module_, kAddNames[type]);
        driver.allocate(&own_, 2 * half_bytes_ * segment_->shape().depth);
        cuda::IpcHandle handle;
        driver.ipc_handle(&handle, own_);
        std::memcpy(board().handle, handle.data, sizeof handle.data);
        board().there.store(1, std::memory_order_release);
    });
}

Pair::~Pair() {
    if (!gpu_->settle()) return;
    try {
        gpu_->within([&] {
            if (other_) cuda::driver().close_ipc.result(other_);
            cuda::driver().release.result(own_);
            cuda::driver().unload_module.result(module_);
        });
    } catch (const Error&) {  // the driver is going down with the process
    }
}

bool Pair::met() {
    if (other_) return true;
    if (!partner().there.load(std::memory_order_acquire)) return false;
    cuda::IpcHandle handle;
    std::memcpy(handle.data, partner().handle, sizeof handle.data);
    gpu_->within([&] { cuda::driver().open_ipc(&other_, handle, cuda::kIpcLazyPeerAccess); });
    return true;
}

cuda::Pointer Pair::place(cuda::Pointer memory, Side side, std::uint64_t chunk) const {
    const auto depth = static_cast<std::uint64_t>(segment_->shape().depth);
    return memory + half_bytes_ * (chunk % depth + (side == Side::in ? 0 : depth));
}

Pair::Half Pair::half(std::size_t bytes, bool lower) {
    const std::size_t middle = Shape::lower_half(bytes);
    return lower ? Half{0, middle} : Half{middle, bytes - middle};
}

void Pair::add(cuda::Pointer to, cuda::Pointer from, Dtype dtype, std::size_t bytes,
               float scale) const {
    std::uint64_t count = bytes / size_of(dtype);
    void* arguments[] = {&to, &from, &count, &scale};
    const auto blocks = static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMostBlocks));
    const int type = dtype == Dtype::f32 ? 0 : dtype == Dtype::f16 ? 1 : 2;
    cuda::driver().launch(add_[type], blocks, 1, 1, kThreads, 1, 1, 0, gpu_->stream(Side::in),
                          arguments, nullptr);
}

PairIn::PairIn(std::shared_ptr<Gpu> gpu, std::shared_ptr<Pair> pair, const Signature& signature,
               std::shared_ptr<Mark> start)
    : gpu_(std::move(gpu)), pair_(std::move(pair)), signature_(signature), start_(std::move(start)) {}

void PairIn::start(std::byte* shared, std::byte* own, std::size_t bytes) {
    if (!started_) {
        start_->before(gpu_->stream(Side::give));
        start_->before(gpu_->stream(Side::in));
        first_ = pair_->ins;
        started_ = true;
    }
    chunks_.emplace_back(shared, gpu_pointer(own), bytes, pair_->ins++);
    pair_->board().asked.store(pair_->ins);
    if (pair_->met()) give(chunks_.back());
}

std::uint64_t PairIn::done() {
    for (Chunk& chunk : chunks_) {
        if (chunk.said) continue;
        if (!chunk.given && pair_->met()) give(chunk);
        if (!chunk.given || !chunk.given->came()) break;
        pair_->board().given.store(chunk.number + 1);
        chunk.said = true;
    }
    for (Chunk& chunk : chunks_) {
        if (chunk.summed) continue;
        if (!chunk.said || pair_->partner().given.load() <= chunk.number) break;
        sum(chunk);
    }
    while (!chunks_.empty() && chunks_.front().summed && chunks_.front().summed->came()) {
        chunks_.pop_front();
        ++done_;
    }
    if (alone()) {  // what each asked for is compared when all chunks are there
        done_ += chunks_.size();
        chunks_.clear();
    }
    return done_;
}

// Whether the partner does something else, and will give nothing.
bool PairIn::alone() const {
    return pair_->partner().begun.load() > signature_.sequence &&
           pair_->partner().asked.load() <= first_;
}

void PairIn::give(Chunk& chunk) {
    const Pair::Half theirs = pair_->theirs(chunk.bytes);
    if (theirs.bytes)
        gpu_->within([&] {
            cuda::driver().to_peer(pair_->there(Side::in, chunk.number), chunk.own + theirs.offset,
                                   theirs.bytes, gpu_->stream(Side::give));
        });
    chunk.given.emplace(gpu_, gpu_->stream(Side::give));
}

void PairIn::sum(Chunk& chunk) {
    const Pair::Half mine = pair_->mine(chunk.bytes);
    const cuda::Pointer sum = pair_->here(Side::in, chunk.number);
    // Of an average one half is taken here, so that 16 bits do not overflow.
    if (mine.bytes)
        gpu_->within([&] {
            pair_->add(sum, chunk.own + mine.offset, signature_.dtype, mine.bytes,
                       signature_.average ? 0.5F : 1.0F);
            cuda::driver().to_host(chunk.shared + mine.offset, sum, mine.bytes,
                                   gpu_->stream(Side::in));
        });
    chunk.summed.emplace(gpu_, gpu_->stream(Side::in));
}

PairOut::PairOut(std::shared_ptr<Gpu> gpu, std::shared_ptr<Pair> pair)
    : gpu_(std::move(gpu)), pair_(std::move(pair)) {}

// All that was given is here by now, so the caller's stream has come to the operation.
void PairOut::start(std::byte* shared, std::byte* own, std::size_t bytes) {
    Chunk& chunk = chunks_.emplace_back(gpu_pointer(own), bytes, pair_->outs++);
    const Pair::Half mine = pair_->mine(bytes);
    const cuda::Stream take = gpu_->stream(Side::take);
    if (mine.bytes)
        gpu_->within([&] {
            cuda::driver().to_device(chunk.own + mine.offset, shared + mine.offset, mine.bytes,
                                     gpu_->stream(Side::out));
        });
    Mark(gpu_, gpu_->stream(Side::out)).before(take);
    if (mine.bytes)
        gpu_->within([&] {
            cuda::driver().to_peer(pair_->there(Side::out, chunk.number), chunk.own + mine.offset,
                                   mine.bytes, take);
        });
    chunk.given.emplace(gpu_, take);
}

std::uint64_t PairOut::done() {
    for (Chunk& chunk : chunks_)
        if (!advance(chunk)) break;
    while (!chunks_.empty() && chunks_.front().taken && chunks_.front().taken->came()) {
        chunks_.pop_front();
        ++done_;
    }
    return done_;
}

bool PairOut::advance(Chunk& chunk) {
    if (!chunk.said && chunk.given->came()) {
        pair_->board().returned.store(chunk.number + 1);
        chunk.said = true;
    }
    if (chunk.said && !chunk.taken && pair_->partner().returned.load() > chunk.number) {
        const Pair::Half theirs = pair_->theirs(chunk.bytes);
        const cuda::Stream take = gpu_->stream(Side::take);
        if (theirs.bytes)
            gpu_->within([&] {
                cuda::driver().to_peer(chunk.own + theirs.offset,
                                       pair_->here(Side::out, chunk.number), theirs.bytes, take);
            });
        chunk.taken.emplace(gpu_, take);
    }
    return chunk.said;
}

}  // namespace hfreduce
