// What a rank uses of a GPU: streams of its own beside the caller's, one for each direction, so
// that copies run on the copy engines while kernels go on.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda.h"
#include "segment.h"

namespace hfreduce {

// The node's shared memory, made known to the driver so that copies need no staging.
class Registered {
  public:
    // A context is current. Where the driver cannot do it, copies are staged: it is said once.
    Registered(std::shared_ptr<Segment> segment, int rank);
    ~Registered();
    Registered(const Registered&) = delete;
    Registered& operator=(const Registered&) = delete;

  private:
    std::shared_ptr<Segment> segment_;
    bool registered_ = false;
};

// A device's primary context, for memory that belongs to none.
class Primary {
  public:
    explicit Primary(cuda::Device device) : device_(device) {
        cuda::driver().retain_primary(&context_, device);
    }
    ~Primary() { cuda::driver().release_primary.result(device_); }
    Primary(const Primary&) = delete;
    Primary& operator=(const Primary&) = delete;
    cuda::Context context() const { return context_; }

  private:
    cuda::Device device_;
    cuda::Context context_ = nullptr;
};

// Say on the standard error what is done another way than it should be.
void warn(const std::string& text);

// Streams: to the host and from it; to the GPU that this one is bridged with, on the way to the
// host and on the way back.
enum class Side { in, out, give, take };
inline constexpr int kSides = 4;

inline cuda::Pointer gpu_pointer(const void* pointer) {
    return reinterpret_cast<cuda::Pointer>(pointer);
}

class Gpu {
  public:
    // `primary`: what keeps the context, if it is not the memory's.
    Gpu(cuda::Context context, std::shared_ptr<Primary> primary, std::shared_ptr<Registered> shared,
        int rank);
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    cuda::Context context() const { return context_; }
    cuda::Stream stream(Side side) const { return streams_[static_cast<int>(side)]; }

    // Do something within the context; what fails names the rank.
    template <typename Action>
    auto within(Action action) const {
        try {
            const cuda::Within current(context_);
            return action();
        } catch (const cuda::Failure& failure) {
            throw cuda::Failure("rank " + std::to_string(rank_) + ": " + failure.what());
        }
    }

    // An event that comes when the stream has done what it holds now.
    cuda::Event mark(cuda::Stream stream);
    // Whether it has come.
    bool came(cuda::Event event) const;
    void give_back(cuda::Event event);

    // Wait for the copies under way; false if they take too long.
    bool settle() const;

  private:
    cuda::Context context_;
    std::shared_ptr<Primary> primary_;
    std::shared_ptr<Registered> shared_;
    int rank_;
    std::array<cuda::Stream, kSides> streams_{};
    std::mutex mutex_;
    std::vector<cuda::Event> events_;  // unused
};

// An event until it has come, and given back then.
class Mark {
  public:
    Mark(std::shared_ptr<Gpu> gpu, cuda::Stream stream)
        : gpu_(std::move(gpu)), event_(gpu_->mark(stream)) {}
    ~Mark() { gpu_->give_back(event_); }
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;
    bool came() const { return gpu_->came(event_); }
    // Have a stream wait for it.
    void before(cuda::Stream stream) const {
        gpu_->within([&] { cuda::driver().wait_event(stream, event_, 0); });
    }

  private:
    std::shared_ptr<Gpu> gpu_;
    cuda::Event event_;
};

}  // namespace hfreduce
