#include "network.h"

#include <algorithm>

namespace hfreduce {

Network::Network(std::shared_ptr<Segment> segment, std::shared_ptr<Engine> engine,
                 const std::vector<ChannelOptions>& channels)
    : engine_(engine), neighbours_(std::move(segment), std::move(engine), [this] { return idle(); }) {
    for (const ChannelOptions& each : channels)
        channels_.push_back(
            std::make_unique<Channel>(neighbours_, static_cast<int>(channels_.size()), each));
}

Network::~Network() { stop(); }

std::vector<std::string> Network::up_addresses() const {
    std::vector<std::string> all;
    for (const auto& channel : channels_) all.push_back(channel->up_address());
    return all;
}

std::vector<std::string> Network::down_addresses() const {
    std::vector<std::string> all;
    for (const auto& channel : channels_) all.push_back(channel->down_address());
    return all;
}

void Network::start(NetworkOptions options,
                    const std::vector<std::vector<std::string>>& up_addresses,
                    const std::vector<std::vector<std::string>>& down_addresses) {
    neighbours_.set_options(std::move(options));
    for (std::size_t each = 0; each < channels_.size(); ++each)
        channels_[each]->connect(up_addresses.at(each), down_addresses.at(each));
    for (const auto& channel : channels_) channel->start();
}

bool Network::idle() const {
    return std::all_of(channels_.begin(), channels_.end(),
                       [](const auto& channel) { return channel->idle(); });
}

void Network::stop() {
    neighbours_.stopping = true;
    for (const auto& channel : channels_) channel->join();
    for (const auto& channel : channels_) channel->close(engine_->aborted());
}

}  // namespace hfreduce
