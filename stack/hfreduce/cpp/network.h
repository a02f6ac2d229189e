// Takes this node's sums up the two trees and the results down them (section IV, algorithm 2).
//
// One thread adds what the nodes below send to this node's sum and sends it up; another takes
// the result from the node above and sends it down. Even chunks take tree 0, odd ones tree 1: a
// node that has others below it in one tree is a leaf in the other. Each thread has a UCX worker
// of its own; UCX chooses the transport.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine.h"
#include "segment.h"

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

struct Message;

class Network {
  public:
    // `events` wake the two threads.
    Network(std::shared_ptr<Segment> segment, std::shared_ptr<Engine> engine, int up_event,
            int down_event);
    ~Network();

    std::string up_address() const;
    std::string down_address() const;

    // Connect to the neighbours, by node number: the addresses of their down and up workers.
    void start(NetworkOptions options, const std::vector<std::string>& up_addresses,
               const std::vector<std::string>& down_addresses);

    // Whether every chunk that was asked for has been passed on.
    bool idle() const;
    void stop();

    // Payload bytes that were sent.
    std::uint64_t sent_bytes() const { return sent_bytes_.load(); }

  private:
    struct Header;
    struct Side;
    struct UpTree;
    struct DownTree;
    std::shared_ptr<Segment> segment_;
    std::shared_ptr<Engine> engine_;
    NetworkOptions options_;
    std::unique_ptr<Side> up_, down_;
    std::vector<std::unique_ptr<UpTree>> up_trees_;
    std::vector<std::unique_ptr<DownTree>> down_trees_;
    std::atomic<std::uint64_t> rooted_[kTrees] = {};   // results made here, for the down thread
    std::atomic<std::uint64_t> sent_down_[kTrees] = {};
    std::atomic<std::uint64_t> sent_bytes_{0};
    std::atomic<bool> stopping_{false};
    std::mutex lost_mutex_;
    std::string lost_text_;
    std::chrono::steady_clock::time_point lost_at_;

    void run(Side& side, int thread, const std::function<bool()>& step);
    bool step_up();
    bool step_up(int tree);
    bool step_down();
    bool step_down(int tree);
    void check(const Header& header, std::uint64_t g, int node) const;
    Header header_of(std::uint64_t g, bool payload) const;
    bool rises(const Signature& signature, int tree, int node) const;
    bool falls(const Signature& signature, int tree, int child) const;
    int node_of(std::uint32_t rank) const;
    void lose(const std::string& text);
    void look_for_losses();
    void beat(Side& side);
    bool failed(const Message& message, int node);
    std::string foreign() const;
};

}  // namespace hfreduce
