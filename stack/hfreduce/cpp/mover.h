// Takes a rank's chunks into shared memory and out again: by the processor, or a GPU's engines.
// One serves one operation.
#pragma once

#include <cstdint>
#include <cstring>

namespace hfreduce {

class Mover {
  public:
    virtual ~Mover() = default;
    // Start a copy; copies of one direction end in the order in which they were started.
    virtual void in(void* shared, const void* own, std::size_t bytes) = 0;
    virtual void out(void* own, const void* shared, std::size_t bytes) = 0;
    // Copies that have ended, since the mover was made.
    virtual std::uint64_t in_done() = 0;
    virtual std::uint64_t out_done() = 0;
    // Whether copies out that were started end by themselves, in the order of a stream.
    virtual bool queued() const { return false; }
    // Whether the caller's memory can be read and written by the processor.
    virtual bool host() const = 0;
};

class HostMover final : public Mover {
  public:
    void in(void* shared, const void* own, std::size_t bytes) override {
        std::memcpy(shared, own, bytes);
        ++in_;
    }
    void out(void* own, const void* shared, std::size_t bytes) override {
        std::memcpy(own, shared, bytes);
        ++out_;
    }
    std::uint64_t in_done() override { return in_; }
    std::uint64_t out_done() override { return out_; }
    bool host() const override { return true; }

  private:
    std::uint64_t in_ = 0;
    std::uint64_t out_ = 0;
};

}  // namespace hfreduce
