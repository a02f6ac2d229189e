// Streams, events and kernels of the pretended driver.

#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "fake_context.h"
#include "fake_ptx.h"

namespace {

using fake::context;
using fake::Event;
using fake::Stream;
using fake::stream_of;

std::mutex guard;
std::set<Stream*> streams;
std::map<void*, std::shared_ptr<Event>> events;
std::map<void*, std::map<std::string, std::shared_ptr<fake::Kernel>>> modules;

std::shared_ptr<Event> event_of(void* handle) {
    const std::lock_guard<std::mutex> lock(guard);
    const auto found = events.find(handle);
    return found == events.end() ? nullptr : found->second;
}

}  // namespace

namespace fake {

Stream* stream_of(void* handle) {
    const std::lock_guard<std::mutex> lock(guard);
    if (!handle || handle == reinterpret_cast<void*>(1)) {
        auto& legacy = context()->legacy;
        if (!legacy) legacy = std::make_unique<Stream>("caller", context());
        return legacy.get();
    }
    auto* stream = static_cast<Stream*>(handle);
    return streams.count(stream) && stream->context() == context() ? stream : nullptr;
}

int copy(void* stream, const char* kind, void* to, const void* from, std::size_t bytes,
         bool pinned) {
    Stream* on = stream_of(stream);
    if (!on) return 400;
    Context* within = context();
    const std::string what = std::string("\"step\": \"") + kind + "\", \"bytes\": " +
                             std::to_string(bytes) + ", \"pinned\": " + (pinned ? "true" : "false");
    on->ask(what, [=] {
        static const int least_us = number("FAKE_CUDA_COPY_US", 0);
        std::this_thread::sleep_for(std::chrono::microseconds(least_us));
        if (const int code = failure("step")) within->broken = code;
        if (!within->broken) std::memcpy(to, from, bytes);
    });
    if (!pinned) on->finish();  // as the driver does: it needs the caller's time
    return 0;
}

namespace {

thread_local int capture_mode = 0;  // 0 global, 1 of the thread, 2 relaxed

}  // namespace

bool spoils_a_capture() {
    if (capture_mode == 2) return false;
    const std::lock_guard<std::mutex> lock(guard);
    bool any = false;
    for (Stream* each : streams) {
        if (!each->capture) continue;
        each->capture = 2;
        any = true;
    }
    return any;
}

}  // namespace fake

extern "C" {

int cuThreadExchangeStreamCaptureMode(int* mode) {
    std::swap(*mode, fake::capture_mode);
    return 0;
}
int cuStreamBeginCapture_v2(void* handle, int) {
    NEED_CONTEXT;
    Stream* stream = stream_of(handle);
    if (!handle || !stream) return 400;
    stream->capture = 1;
    return 0;
}
int cuStreamEndCapture(void* handle, void** graph) {
    NEED_CONTEXT;
    Stream* stream = stream_of(handle);
    if (!stream) return 400;
    *graph = nullptr;
    return stream->capture.exchange(0) == 1 ? 0 : 901;
}
int cuStreamIsCapturing(void* handle, int* status) {
    NEED_CONTEXT;
    Stream* stream = stream_of(handle);
    if (!stream) return 400;
    *status = stream->capture;
    return 0;
}

int cuStreamCreate(void** out, unsigned flags) {
    NEED_CONTEXT;
    const std::lock_guard<std::mutex> lock(guard);
    static int made = 0;
    auto* stream = new Stream((flags & 1 ? "side " : "blocking ") + std::to_string(made++), context());
    streams.insert(stream);
    *out = stream;
    return 0;
}
int cuStreamDestroy_v2(void* handle) {
    {
        const std::lock_guard<std::mutex> lock(guard);
        if (!streams.erase(static_cast<Stream*>(handle))) return 400;
    }
    delete static_cast<Stream*>(handle);
    return 0;
}
int cuStreamQuery(void* handle) {
    NEED_CONTEXT;
    NOT_WHILE_CAPTURING;
    Stream* stream = stream_of(handle);
    return !stream ? 400 : stream->idle() ? 0 : 600;
}
int cuStreamSynchronize(void* handle) {
    NEED_CONTEXT;
    Stream* stream = stream_of(handle);
    if (!stream) return 400;
    stream->finish();
    return context()->broken;
}
int cuStreamWaitEvent(void* handle, void* which, unsigned) {
    NEED_CONTEXT;
    Stream* stream = stream_of(handle);
    const auto event = event_of(which);
    if (!stream || !event) return 400;
    if (event->captured) return 907;
    const std::uint64_t number = event->asked();
    stream->ask("", [=] { event->wait(number); });
    return 0;
}
int cuEventCreate(void** out, unsigned) {
    NEED_CONTEXT;
    const std::lock_guard<std::mutex> lock(guard);
    auto event = std::make_shared<Event>();
    events[event.get()] = event;
    *out = event.get();
    return 0;
}
int cuEventDestroy_v2(void* handle) {
    const std::lock_guard<std::mutex> lock(guard);
    return events.erase(handle) ? 0 : 400;
}
int cuEventRecord(void* which, void* handle) {
    NEED_CONTEXT;
    Stream* stream = stream_of(handle);
    const auto event = event_of(which);
    if (!stream || !event) return 400;
    event->captured = stream->capture != 0;
    if (event->captured) return 0;
    const std::uint64_t number = event->ask();
    stream->ask("", [=] { event->come(number); });
    return 0;
}
int cuEventQuery(void* handle) {
    NEED_CONTEXT;
    NOT_WHILE_CAPTURING;
    const auto event = event_of(handle);
    if (event && event->captured) return 907;
    return !event ? 400 : event->came() ? 0 : 600;
}

int cuModuleLoadData(void** out, const void* image) {
    NEED_CONTEXT;
    auto kernels = fake::parse(static_cast<const char*>(image));
    if (kernels.empty()) return 218;
    const std::lock_guard<std::mutex> lock(guard);
    *out = new char;
    modules[*out] = std::move(kernels);
    return 0;
}
int cuModuleUnload(void*) { return 0; }
int cuModuleGetFunction(void** out, void* module, const char* name) {
    NEED_CONTEXT;
    const std::lock_guard<std::mutex> lock(guard);
    const auto found = modules[module].find(name);
    if (found == modules[module].end()) return 500;
    *out = found->second.get();
    return 0;
}
int cuLaunchKernel(void* function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned,
                   unsigned, unsigned, void* handle, void** arguments, void**) {
    NEED_CONTEXT;
    const auto* kernel = static_cast<const fake::Kernel*>(function);
    Stream* stream = stream_of(handle);
    if (!stream) return 400;
    std::vector<std::uint64_t> values;
    for (std::size_t each = 0; each < kernel->parameters.size(); ++each) {
        values.push_back(0);
        std::memcpy(&values.back(), arguments[each], kernel->parameters[each].second);
    }
    auto* within = context();
    stream->ask("\"step\": \"kernel\"", [=] {
        if (!within->broken && !fake::run(*kernel, blocks, threads, values)) within->broken = 700;
    });
    return 0;
}

// Not the driver's: a kernel that does nothing for a while.
int fake_delay(void* handle, unsigned microseconds) {
    NEED_CONTEXT;
    stream_of(handle)->ask("\"step\": \"delay\"", [=] {
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    });
    return 0;
}

}  // extern "C"
