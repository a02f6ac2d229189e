#include "gpu.h"

#include <chrono>
#include <cstdio>
#include <thread>

namespace hfreduce {

namespace {

constexpr auto kSettle = std::chrono::seconds(5);

}  // namespace

void warn(const std::string& text) { std::fprintf(stderr, "hfreduce: %s\n", text.c_str()); }

Registered::Registered(std::shared_ptr<Segment> segment, int rank) : segment_(std::move(segment)) {
    const auto& call = cuda::driver().register_host;
    const cuda::Result result =
        call.result(segment_->base(), segment_->bytes(), cuda::kHostRegisterPortable);
    registered_ = result == cuda::kSuccess;
    if (registered_ || result == cuda::kAlreadyRegistered) return;
    try {
        cuda::raise(call.symbol(), result);
    } catch (const cuda::Failure& failure) {
        if (result != cuda::kOperatingSystem && result != cuda::kNotPermitted &&
            result != cuda::kNotSupported)
            throw;
        warn("rank " + std::to_string(rank) + ": " + failure.what() +
             "; copies of GPUs' tensors take longer");
    }
}

Registered::~Registered() {
    if (registered_) cuda::driver().unregister_host.result(segment_->base());
}

Gpu::Gpu(cuda::Context context, std::shared_ptr<Primary> primary,
         std::shared_ptr<Registered> shared, int rank)
    : context_(context), primary_(std::move(primary)), shared_(std::move(shared)), rank_(rank) {
    within([&] {
        for (cuda::Stream& stream : streams_)
            cuda::driver().create_stream(&stream, cuda::kStreamNonBlocking);
    });
}

Gpu::~Gpu() {
    if (!settle()) {  // a copy may still write: what it writes to stays
        new std::shared_ptr<Registered>(shared_);
        return;
    }
    try {
        const cuda::Within current(context_);
        for (const cuda::Event event : events_) cuda::driver().destroy_event.result(event);
        for (const cuda::Stream stream : streams_) cuda::driver().destroy_stream.result(stream);
        shared_.reset();
    } catch (const Error&) {  // the driver is going down with the process
    }
}

cuda::Event Gpu::mark(cuda::Stream stream) {
    return within([&] {
        cuda::Event event = nullptr;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!events_.empty()) {
                event = events_.back();
                events_.pop_back();
            }
        }
        if (!event) cuda::driver().create_event(&event, cuda::kEventDisableTiming);
        cuda::driver().record(event, stream);
        return event;
    });
}

bool Gpu::came(cuda::Event event) const {
    return within([&] {
        const auto& query = cuda::driver().query_event;
        const cuda::Result result = query.result(event);
        if (result != cuda::kSuccess && result != cuda::kNotReady) cuda::raise(query.symbol(), result);
        return result == cuda::kSuccess;
    });
}

void Gpu::give_back(cuda::Event event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    events_.push_back(event);
}

bool Gpu::settle() const {
    const auto limit = std::chrono::steady_clock::now() + kSettle;
    try {
        const cuda::Within current(context_);
        for (const cuda::Stream stream : streams_)
            while (cuda::driver().query_stream.result(stream) == cuda::kNotReady) {
                if (std::chrono::steady_clock::now() > limit) return false;
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            }
    } catch (const Error&) {  // no context, no copies
    }
    return true;
}

}  // namespace hfreduce
