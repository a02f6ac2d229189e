// Takes this node's sums up the two trees and the results down them (section IV, algorithm 2), by
// one or more channels of two threads each. Even chunks take tree 0, odd ones tree 1: a node that
// has others below it in one tree is a leaf in the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "channel.h"
#include "neighbours.h"

namespace hfreduce {

class Network {
  public:
    // As many channels as the segment's shape says.
    Network(std::shared_ptr<Segment> segment, std::shared_ptr<Engine> engine,
            const std::vector<ChannelOptions>& channels);
    ~Network();

    // UCX addresses, by channel.
    std::vector<std::string> up_addresses() const;
    std::vector<std::string> down_addresses() const;

    // Connect to the neighbours: the addresses of their workers, by channel and node number.
    void start(NetworkOptions options, const std::vector<std::vector<std::string>>& up_addresses,
               const std::vector<std::vector<std::string>>& down_addresses);

    // Whether every chunk that was asked for has been passed on.
    bool idle() const;
    void stop();

    // Payload bytes that were sent.
    std::uint64_t sent_bytes() const { return neighbours_.sent_bytes.load(); }

  private:
    std::shared_ptr<Engine> engine_;
    Neighbours neighbours_;
    std::vector<std::unique_ptr<Channel>> channels_;
};

}  // namespace hfreduce
