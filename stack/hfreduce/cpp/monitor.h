// Watches the other ranks, and tells them when the job cannot go on.
//
// A rank has a connection to its node's first rank, and that one to rank 0. An end that was not
// announced, silence, or a rank that left before an operation that others entered ends the job
// on every rank, with a text that names the rank.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine.h"

namespace hfreduce {

struct Link {
    int fd = -1;
    int first_rank = 0;  // at the other end
    int ranks = 1;       // that are heard of through it
    bool above = false;  // it leads to the node's first rank, or to rank 0
};

class Monitor {
  public:
    // Takes the descriptors.
    Monitor(std::shared_ptr<Segment> segment, std::shared_ptr<Engine> engine, int rank,
            int first_rank, double silence_s, std::vector<Link> links);
    ~Monitor();

    // End the job everywhere.
    void abort(const std::string& text);
    // Say that this rank leaves after its operations so far, and stop.
    void leave();
    // In a forked child: close the connections, say nothing. The thread is the parent's.
    void forget();

  private:
    struct Frame;
    struct Peer {
        Link link;
        double heard_s = 0;
        std::string received;
        std::string unsent;
        bool left = false;
    };
    std::shared_ptr<Segment> segment_;
    std::shared_ptr<Engine> engine_;
    int rank_;
    int first_rank_;
    double silence_s_;
    std::vector<Peer> peers_;
    std::map<int, std::uint64_t> entered_;  // by rank, as last heard
    std::map<int, std::uint64_t> left_;     // operations of ranks that are gone
    std::atomic<bool> leaving_{false};
    bool told_ = false;
    int wake_ = -1;
    std::thread thread_;

    void run();
    void read(Peer& peer);
    void take(Peer& peer, const Frame& frame, const std::string& text);
    void send(Peer& peer, int type, int rank, std::uint64_t value, const std::string& text);
    void flush(Peer& peer);
    void beat();
    void spread(const std::string& text, const Peer* except);
    void gone(Peer& peer, const std::string& how);
    void look_for_left();
    std::string who(const Peer& peer) const;
};

}  // namespace hfreduce
