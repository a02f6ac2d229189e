// What the channels of a node have in common: the node's place in the trees, the checks of what
// comes in, and what is known of neighbours that were lost.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine.h"
#include "segment.h"
#include "ucx.h"

namespace hfreduce {

// What a node has to know of a tree; nodes are numbered in the job's order.
struct TreePlace {
    int parent = -1;
    std::vector<int> children;
    std::vector<int> path_to;  // by node: the child that it lies below, -1 where there is none
};

struct NetworkOptions {
    int node = 0;
    std::vector<int> first_ranks;  // by node, and one more: the number of ranks
    TreePlace trees[kTrees];
    std::uint64_t job = 0;  // number of the job, in every message
    double silence_s = 30;  // after which a neighbour is given up
};

// Lies in the kHeaderBytes ahead of a chunk; a message without a payload is this alone.
struct MessageHeader {
    std::uint64_t job;
    std::uint64_t g;
    std::uint64_t elements;  // of the chunk
    Signature signature;
};
static_assert(sizeof(MessageHeader) <= kHeaderBytes);

class Neighbours {
  public:
    // `idle`: whether every chunk that was asked for has been passed on, by all channels.
    Neighbours(std::shared_ptr<Segment> segment, std::shared_ptr<Engine> engine,
               std::function<bool()> idle)
        : segment_(std::move(segment)), engine_(std::move(engine)), idle_(std::move(idle)) {}

    Segment& segment() const { return *segment_; }
    Engine& engine() const { return *engine_; }
    void set_options(NetworkOptions options) { options_ = std::move(options); }
    const NetworkOptions& options() const { return options_; }
    const TreePlace& place(int tree) const { return options_.trees[tree]; }
    std::string rank_of(int node) const {
        return "rank " + std::to_string(options_.first_ranks[node]);
    }
    int node_of(std::uint32_t rank) const;

    // Whether what node `node` sends up has a payload; whether what goes down to `child` has.
    bool rises(const Signature& signature, int tree, int node) const;
    bool falls(const Signature& signature, int tree, int child) const;
    // Raises Error where a header from `node` is not of chunk g as it was asked for here.
    void check(const MessageHeader& header, std::uint64_t g, int node) const;
    std::string foreign() const;

    // Note that a neighbour is lost; the first text is kept.
    void lose(const std::string& text);
    void silent(const std::string& who);
    bool failed(const Message& message, int node);
    // Raises Error a moment after a loss, if there is still something to pass on.
    void look_for_losses();

    std::atomic<std::uint64_t> sent_bytes{0};  // payload
    std::atomic<bool> stopping{false};

  private:
    std::shared_ptr<Segment> segment_;
    std::shared_ptr<Engine> engine_;
    std::function<bool()> idle_;
    NetworkOptions options_;
    std::mutex lost_mutex_;
    std::string lost_text_;
    std::chrono::steady_clock::time_point lost_at_;
};

}  // namespace hfreduce
