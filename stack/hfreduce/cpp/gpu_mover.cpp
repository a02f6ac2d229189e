#include "gpu_mover.h"

namespace hfreduce {

StreamLane::StreamLane(std::shared_ptr<Gpu> gpu, Side side, std::shared_ptr<Mark> start)
    : gpu_(std::move(gpu)), side_(side), start_(std::move(start)) {}

void StreamLane::start(std::byte* shared, std::byte* own, std::size_t bytes) {
    const cuda::Stream stream = gpu_->stream(side_);
    if (!started_) start_->before(stream);
    started_ = true;
    gpu_->within([&] {
        if (side_ == Side::in)
            cuda::driver().to_host(shared, gpu_pointer(own), bytes, stream);
        else
            cuda::driver().to_device(gpu_pointer(own), shared, bytes, stream);
    });
    copies_.emplace_back(gpu_, stream);
}

std::uint64_t StreamLane::done() {
    while (!copies_.empty() && copies_.front().came()) {
        copies_.pop_front();
        ++done_;
    }
    return done_;
}

WindowLane::WindowLane(std::shared_ptr<Gpu> gpu, std::shared_ptr<Window> window, Side side,
                       std::shared_ptr<Mark> start)
    : gpu_(std::move(gpu)), window_(std::move(window)), side_(side), start_(std::move(start)) {}

void WindowLane::start(std::byte* shared, std::byte* own, std::size_t bytes) {
    copies_.push_back({shared, own, bytes});
}

std::uint64_t WindowLane::done() {
    if (copies_.empty() || !(started_ = started_ || start_->came())) return done_;
    gpu_->within([&] {
        for (; !copies_.empty(); copies_.pop_front(), ++done_) {
            const Copy& copy = copies_.front();
            if (side_ == Side::in)
                window_->read(copy.shared, gpu_pointer(copy.own), copy.bytes);
            else
                window_->write(gpu_pointer(copy.own), copy.shared, copy.bytes);
        }
    });
    return done_;
}

}  // namespace hfreduce
