// Finds the GPU that a tensor lies on, and the way to move it.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "gdrcopy.h"
#include "gpu.h"
#include "mover.h"
#include "pair.h"

namespace hfreduce {

// For several threads at a time: one asks for operations while others have streams wait.
class Gpus {
  public:
    // `windows`: whether small tensors go by GDRCopy, where it is installed.
    Gpus(std::shared_ptr<Segment> segment, int rank, bool windows)
        : segment_(std::move(segment)), rank_(rank), windowed_(windows) {}

    // What moves an operation's tensors, once `stream` has come to it. Raises cuda::Failure, or
    // Error where the tensors are not a GPU's or the stream is capturing a graph.
    std::shared_ptr<Mover> mover(const Signature& signature, const void* in, const void* out,
                                 cuda::Stream stream);
    // Have a stream wait for the copies out that were started.
    void follow(const void* out, cuda::Stream stream);
    // Wait for the copies under way.
    void settle() const;

  private:
    std::shared_ptr<Segment> segment_;
    int rank_;
    bool windowed_;
    mutable std::mutex mutex_;  // of all below
    std::weak_ptr<Registered> registered_;  // the GPUs', so that it ends within a context
    std::map<cuda::Device, std::shared_ptr<Primary>> primaries_;
    std::map<cuda::Context, std::shared_ptr<Gpu>> gpus_;
    Windows windows_;
    std::shared_ptr<Pair> pair_;
    std::shared_ptr<Gpu> paired_;

    cuda::Context context_of(const void* pointer);
    std::shared_ptr<Gpu> gpu_of(const void* pointer);
    std::unique_ptr<Lane> lane(const std::shared_ptr<Gpu>& gpu, Side side, const void* pointer,
                               std::size_t bytes, const std::shared_ptr<Mark>& start);
    const std::shared_ptr<Pair>& pair(const std::shared_ptr<Gpu>& gpu);
};

}  // namespace hfreduce
