// Moves an operation's chunks between a GPU's memory and the shared one.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "gdrcopy.h"
#include "gpu.h"
#include "mover.h"

namespace hfreduce {

// One direction of one operation. Raises cuda::Failure, which names the rank.
class Lane {
  public:
    virtual ~Lane() = default;
    virtual void start(std::byte* shared, std::byte* own, std::size_t bytes) = 0;
    // Copies that have ended; it also does what the next ones wait for.
    virtual std::uint64_t done() = 0;
    // Whether what was started ends without this process: a stream can wait for it.
    virtual bool queued() const = 0;
};

// By a copy engine.
class StreamLane final : public Lane {
  public:
    // Its copies wait for `start`, that the caller's stream has come to the operation.
    StreamLane(std::shared_ptr<Gpu> gpu, Side side, std::shared_ptr<Mark> start);
    void start(std::byte* shared, std::byte* own, std::size_t bytes) override;
    std::uint64_t done() override;
    bool queued() const override { return true; }

  private:
    std::shared_ptr<Gpu> gpu_;
    Side side_;
    std::shared_ptr<Mark> start_;
    bool started_ = false;
    std::deque<Mark> copies_;
    std::uint64_t done_ = 0;
};

// By the processor, through a window on the GPU's memory.
class WindowLane final : public Lane {
  public:
    WindowLane(std::shared_ptr<Gpu> gpu, std::shared_ptr<Window> window, Side side,
               std::shared_ptr<Mark> start);
    void start(std::byte* shared, std::byte* own, std::size_t bytes) override;
    std::uint64_t done() override;
    bool queued() const override { return false; }

  private:
    struct Copy {
        std::byte* shared;
        std::byte* own;
        std::size_t bytes;
    };
    std::shared_ptr<Gpu> gpu_;
    std::shared_ptr<Window> window_;
    Side side_;
    std::shared_ptr<Mark> start_;
    bool started_ = false;
    std::deque<Copy> copies_;
    std::uint64_t done_ = 0;
};

class GpuMover final : public Mover {
  public:
    GpuMover(std::unique_ptr<Lane> in, std::unique_ptr<Lane> out)
        : in_(std::move(in)), out_(std::move(out)) {}
    void in(void* shared, const void* own, std::size_t bytes) override {
        in_->start(static_cast<std::byte*>(shared),
                   const_cast<std::byte*>(static_cast<const std::byte*>(own)), bytes);
    }
    void out(void* own, const void* shared, std::size_t bytes) override {
        out_->start(const_cast<std::byte*>(static_cast<const std::byte*>(shared)),
                    static_cast<std::byte*>(own), bytes);
    }
    std::uint64_t in_done() override { return in_->done(); }
    std::uint64_t out_done() override { return out_->done(); }
    bool host() const override { return false; }
    bool queued() const override { return out_->queued(); }

  private:
    std::unique_ptr<Lane> in_, out_;
};

}  // namespace hfreduce
