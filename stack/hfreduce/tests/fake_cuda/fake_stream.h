// Pretended streams: a thread each, that does what it is asked in that order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace fake {

class Event {
  public:
    std::uint64_t ask() { return ++asked_; }
    std::uint64_t asked() const { return asked_; }
    void come(std::uint64_t number);
    bool came() const { return come_ >= asked_; }
    std::atomic<bool> captured{false};  // it is of a graph, and never comes
    void wait(std::uint64_t number);

  private:
    std::atomic<std::uint64_t> asked_{0}, come_{0};
    std::mutex mutex_;
    std::condition_variable changed_;
};

class Stream {
  public:
    Stream(std::string name, void* context);
    ~Stream();
    void* context() const { return context_; }
    // `step` says how it went, for the trace; an empty text leaves none.
    void ask(std::string what, std::function<void()> step);
    bool idle() const { return !pending_; }
    std::atomic<int> capture{0};  // 1: under way, 2: spoilt
    void finish();

  private:
    struct Step {
        std::string what;
        std::function<void()> run;
        double asked_s;
    };
    std::string name_;
    void* context_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Step> steps_;
    std::atomic<int> pending_{0};
    bool ending_ = false;
    std::thread thread_;

    void run();
};

}  // namespace fake
