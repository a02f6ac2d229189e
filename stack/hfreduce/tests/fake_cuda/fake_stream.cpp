#include "fake_stream.h"

#include "fake_memory.h"

namespace fake {

void Event::come(std::uint64_t number) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (come_ < number) come_ = number;
    }
    changed_.notify_all();
}

void Event::wait(std::uint64_t number) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return come_ >= number; });
}

Stream::Stream(std::string name, void* context)
    : name_(std::move(name)), context_(context), thread_([this] { run(); }) {}

Stream::~Stream() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Stream::ask(std::string what, std::function<void()> step) {
    ++pending_;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        steps_.push_back({std::move(what), std::move(step), now_s()});
    }
    changed_.notify_all();
}

void Stream::finish() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !pending_; });
}

void Stream::run() {
    for (;;) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return ending_ || !steps_.empty(); });
        if (steps_.empty()) return;
        Step step = std::move(steps_.front());
        steps_.pop_front();
        lock.unlock();
        const double began_s = now_s();
        step.run();
        if (!step.what.empty())
            trace(step.what + ", \"stream\": \"" + name_ + "\", \"asked_s\": " +
                  std::to_string(step.asked_s) + ", \"began_s\": " + std::to_string(began_s) +
                  ", \"ended_s\": " + std::to_string(now_s()));
        lock.lock();
        --pending_;
        lock.unlock();
        changed_.notify_all();
    }
}

}  // namespace fake
