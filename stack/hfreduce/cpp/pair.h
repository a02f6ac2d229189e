// Two GPUs of a node with a bridge between them reduce first, before anything goes to the host
// (section IV-C of the paper): each sums one half of a chunk, and takes that half of the result
// back; the bridge carries the other half.
//
// Each rank has GPU memory that its partner writes to. A rank says in shared memory how many
// halves it has given, and the partner goes on from there: nothing waits on the GPU for another
// process.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "gpu_mover.h"

namespace hfreduce {

class Pair {
  public:
    Pair(std::shared_ptr<Gpu> gpu, std::shared_ptr<Segment> segment);
    ~Pair();
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;

    // Whether each can write to the other's memory, which is opened when it is there. Where peer
    // access or the exchange of handles is refused, the pair reduces in the host's memory.
    enum class Bridge { unknown, there, refused };
    Bridge bridge();
    // Where a chunk's half lies: here, or at the partner. `side` is that of the way it is on.
    cuda::Pointer here(Side side, std::uint64_t chunk) const { return place(own_, side, chunk); }
    cuda::Pointer there(Side side, std::uint64_t chunk) const { return place(other_, side, chunk); }
    // Add the partner's half of a chunk in the host's memory to the own; both lie there.
    void add_on_host(std::byte* shared, Dtype dtype, std::size_t bytes, float scale) const;
    // to = (to + from) * scale, rounded once.
    void add(cuda::Pointer to, cuda::Pointer from, Dtype dtype, std::size_t bytes, float scale) const;

    // The halves of a chunk: the one that this rank takes to the host, and the partner's.
    struct Half {
        std::size_t offset, bytes;
    };
    Half mine(std::size_t bytes) const { return half(bytes, lower_); }
    Half theirs(std::size_t bytes) const { return half(bytes, !lower_); }

    PairBoard& board() const { return segment_->board(segment_->local_rank()); }
    const PairBoard& partner() const { return segment_->board(partner_); }

    std::uint64_t ins = 0, outs = 0;  // chunks that have gone each way

  private:
    std::shared_ptr<Gpu> gpu_;
    std::shared_ptr<Segment> segment_;
    int partner_;
    bool lower_;
    std::size_t half_bytes_;
    cuda::Pointer own_ = 0;
    cuda::Pointer other_ = 0;
    Bridge bridge_ = Bridge::unknown;
    cuda::Module module_ = nullptr;
    cuda::Function add_[3] = {};

    void refuse(const cuda::Failure& failure);
    cuda::Pointer place(cuda::Pointer memory, Side side, std::uint64_t chunk) const;
    static Half half(std::size_t bytes, bool lower);
};

// To the host: the partner's half over the bridge, the sum of the own half.
class PairIn final : public Lane {
  public:
    PairIn(std::shared_ptr<Gpu> gpu, std::shared_ptr<Pair> pair, const Signature& signature,
           std::shared_ptr<Mark> start);
    void start(std::byte* shared, std::byte* own, std::size_t bytes) override;
    std::uint64_t done() override;
    bool queued() const override { return false; }

  private:
    struct Chunk {
        std::byte* shared;
        cuda::Pointer own;
        std::size_t bytes;
        std::uint64_t number;
        std::optional<Mark> given, summed;
        bool said = false;
        bool on_host = false;  // the sum is there already
        Chunk(std::byte* to, cuda::Pointer from, std::size_t size, std::uint64_t which)
            : shared(to), own(from), bytes(size), number(which) {}
    };
    std::shared_ptr<Gpu> gpu_;
    std::shared_ptr<Pair> pair_;
    Signature signature_;
    std::shared_ptr<Mark> start_;
    std::uint64_t first_ = 0;  // of its chunks
    bool started_ = false;
    std::deque<Chunk> chunks_;
    std::uint64_t done_ = 0;

    void give(Chunk& chunk);
    void sum(Chunk& chunk);
    bool alone() const;
};

// Back: the own half of the result, which the partner gets over the bridge.
class PairOut final : public Lane {
  public:
    PairOut(std::shared_ptr<Gpu> gpu, std::shared_ptr<Pair> pair, std::shared_ptr<Mark> start);
    void start(std::byte* shared, std::byte* own, std::size_t bytes) override;
    std::uint64_t done() override;
    bool queued() const override { return false; }

  private:
    struct Chunk {
        cuda::Pointer own;
        std::size_t bytes;
        std::uint64_t number;
        std::optional<Mark> given, taken;
        bool said = false;
        Chunk(cuda::Pointer to, std::size_t size, std::uint64_t which)
            : own(to), bytes(size), number(which) {}
    };
    std::shared_ptr<Gpu> gpu_;
    std::shared_ptr<Pair> pair_;
    StreamLane whole_;  // without a bridge
    std::deque<Chunk> chunks_;
    std::uint64_t done_ = 0;

    bool advance(Chunk& chunk);
};

}  // namespace hfreduce
