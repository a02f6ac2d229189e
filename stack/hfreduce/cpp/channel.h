// One of a node's channels to the others (section IV, algorithm 2): a thread that adds what the
// nodes below send to this node's sum and sends it up, and one that takes the result from the node
// above and sends it down. Each has a UCX worker of its own; UCX chooses the transport.
//
// Chunk k of a tree is channel k % channels' on every node, so that a channel talks to its like
// only and no channel waits for another. How a chunk is added up does not depend on their number.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "beats.h"
#include "domain.h"
#include "neighbours.h"
#include "ucx.h"

namespace hfreduce {

inline constexpr std::size_t kMostChildren = 2;

struct ChannelOptions {
    int up_event = -1, down_event = -1;  // that wake the two threads
    std::string device;                  // UCX's name of the adapter; empty: as its environment says
    int domain = -1;                     // NUMA domain of the threads and of what they receive
};

class Channel {
  public:
    Channel(Neighbours& neighbours, int number, const ChannelOptions& options);
    ~Channel();

    const std::string& up_address() const { return up_->worker.address(); }
    const std::string& down_address() const { return down_->worker.address(); }

    // Connect to the same channel of the neighbours: addresses by node number.
    void connect(const std::vector<std::string>& up_addresses,
                 const std::vector<std::string>& down_addresses);
    void start();
    bool idle() const;
    // End the threads, once neighbours.stopping is set; then the connections.
    void join();
    void close(bool force);

  private:
    struct Side {
        explicit Side(const std::string& device) : worker(device) {}
        std::unique_ptr<Beats> beats;  // outlives the worker
        UcxWorker worker;
        int event = -1;
        int to[kTrees][kMostChildren] = {{-1, -1}, {-1, -1}};  // connections, by tree, neighbour
        std::thread thread;
    };
    // The m-th chunk of a lane uses its slot m % slots.
    struct UpLane {
        struct Child {
            std::vector<DomainMemory> buffers;
            std::vector<Message> messages;
        };
        std::vector<Child> children;
        std::uint64_t combined = 0;
        std::deque<Message> sends;  // a deque: UCX keeps their addresses
    };
    struct DownLane {
        std::vector<Message> arriving;
        std::uint64_t awaited = 0;  // receives that were posted
        std::uint64_t next = 0;
        struct Forward {
            Message messages[kMostChildren];
        };
        std::deque<Forward> sends;
    };

    Neighbours& neighbours_;
    Segment& segment_;
    int number_;
    int domain_;
    UpLane up_lanes_[kTrees];  // ahead of the sides: UCX points to them
    DownLane down_lanes_[kTrees];
    std::unique_ptr<Side> up_, down_;
    std::atomic<std::uint64_t> rooted_[kTrees] = {};  // results made here, for the down thread
    std::atomic<std::uint64_t> sent_down_[kTrees] = {};

    int lane(int tree) const { return segment_.shape().lane(tree, number_); }
    // The m-th chunk of a tree here.
    std::uint64_t chunk(int tree, std::uint64_t m) const {
        return m * segment_.shape().lanes() + lane(tree);
    }
    void run(Side& side, int thread, bool (Channel::*step)(int tree));
    bool step_up(int tree);
    bool step_down(int tree);
};

}  // namespace hfreduce
