#include "pair.h"

#include <algorithm>
#include <cstring>

#include "add_kernels.h"
#include "reduce.h"

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
    });
    try {
        cuda::IpcHandle handle;
        gpu_->within([&] { cuda::driver().ipc_handle(&handle, own_); });
        std::memcpy(board().handle, handle.data, sizeof handle.data);
        board().there.store(1, std::memory_order_release);
    } catch (const cuda::Failure& failure) {
        refuse(failure);
        board().there.store(kRefused, std::memory_order_release);
    }
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

void Pair::refuse(const cuda::Failure& failure) {
    board().opened.store(kRefused);
    warn(std::string(failure.what()) + "; this pair reduces through the host's memory");
}

Pair::Bridge Pair::bridge() {
    if (bridge_ != Bridge::unknown) return bridge_;
    if (!board().opened) {
        const std::uint32_t there = partner().there.load(std::memory_order_acquire);
        if (!there) return bridge_;
        if (there == kRefused) {
            board().opened = kRefused;
        } else {
            cuda::IpcHandle handle;
            std::memcpy(handle.data, partner().handle, sizeof handle.data);
            try {
                gpu_->within(
                    [&] { cuda::driver().open_ipc(&other_, handle, cuda::kIpcLazyPeerAccess); });
                board().opened = 1;
            } catch (const cuda::Failure& failure) {
                refuse(failure);
            }
        }
    }
    if (board().opened == kRefused || partner().opened == kRefused)
        bridge_ = Bridge::refused;
    else if (partner().opened)
        bridge_ = Bridge::there;
    return bridge_;
}

void Pair::add_on_host(std::byte* shared, Dtype dtype, std::size_t bytes, float scale) const {
    const Half half = mine(bytes);
    const std::byte* theirs =
        shared + (segment_->input(partner_, 0) - segment_->input(segment_->local_rank(), 0));
    const void* inputs[] = {shared + half.offset, theirs + half.offset};
    reduce(dtype, Op::sum, inputs, 2, shared + half.offset, half.bytes / size_of(dtype), scale);
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
    if (pair_->bridge() != Pair::Bridge::unknown) give(chunks_.back());
}

std::uint64_t PairIn::done() {
    for (Chunk& chunk : chunks_) {
        if (chunk.said) continue;
        if (!chunk.given && pair_->bridge() != Pair::Bridge::unknown) give(chunk);
        if (!chunk.given || !chunk.given->came()) break;
        pair_->board().given.store(chunk.number + 1);
        chunk.said = true;
    }
    for (Chunk& chunk : chunks_) {
        if (chunk.summed || chunk.on_host) continue;
        if (!chunk.said || pair_->partner().given.load() <= chunk.number) break;
        sum(chunk);
    }
    while (!chunks_.empty() && (chunks_.front().on_host || (chunks_.front().summed &&
                                                            chunks_.front().summed->came()))) {
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
    if (pair_->bridge() == Pair::Bridge::refused) {  // all of it to the host
        gpu_->within([&] {
            cuda::driver().to_host(chunk.shared, chunk.own, chunk.bytes, gpu_->stream(Side::in));
        });
        chunk.given.emplace(gpu_, gpu_->stream(Side::in));
        return;
    }
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
    if (pair_->bridge() == Pair::Bridge::refused) {
        pair_->add_on_host(chunk.shared, signature_.dtype, chunk.bytes,
                           signature_.average ? 0.5F : 1.0F);
        chunk.on_host = true;
        return;
    }
    if (mine.bytes)
        gpu_->within([&] {
            pair_->add(sum, chunk.own + mine.offset, signature_.dtype, mine.bytes,
                       signature_.average ? 0.5F : 1.0F);
            cuda::driver().to_host(chunk.shared + mine.offset, sum, mine.bytes,
                                   gpu_->stream(Side::in));
        });
    chunk.summed.emplace(gpu_, gpu_->stream(Side::in));
}

PairOut::PairOut(std::shared_ptr<Gpu> gpu, std::shared_ptr<Pair> pair, std::shared_ptr<Mark> start)
    : gpu_(gpu), pair_(std::move(pair)), whole_(std::move(gpu), Side::out, std::move(start)) {}

// All that was given is here by now, so the caller's stream has come to the operation.
void PairOut::start(std::byte* shared, std::byte* own, std::size_t bytes) {
    if (pair_->bridge() == Pair::Bridge::refused) return whole_.start(shared, own, bytes);
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
    if (pair_->bridge() == Pair::Bridge::refused) return whole_.done();
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
