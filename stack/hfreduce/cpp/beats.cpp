#include "beats.h"

#include <algorithm>
#include <chrono>

namespace hfreduce {

namespace {

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace

Beats::Beats(UcxWorker& worker, double silence_s)
    : worker_(worker), silence_s_(silence_s), looked_s_(now_s()) {}

void Beats::tell(int connection, std::uint64_t tag) { told_.push_back({connection, tag, {}}); }

void Beats::hear(std::uint64_t tag, const std::string& who) {
    heard_.push_back({tag, who, now_s(), {}});
    worker_.receive(nullptr, 0, tag, heard_.back().message);
}

std::string Beats::step() {
    const double at_s = now_s();
    // Who was stopped itself has heard nothing for a while: it looks again first.
    if (at_s > looked_s_ + silence_s_ / 2)
        for (Heard& each : heard_) each.at_s = std::max(each.at_s, at_s - silence_s_ / 2);
    looked_s_ = at_s;
    if (at_s < next_s_) return {};
    next_s_ = at_s + std::min(1.0, silence_s_ / 5);
    for (Told& each : told_)
        if (!each.message.pending && each.message.status == UCS_OK)
            worker_.send(each.connection, nullptr, 0, each.tag, each.message);
    for (Heard& each : heard_) {
        if (!each.message.pending && each.message.status == UCS_OK) {
            each.at_s = at_s;
            worker_.receive(nullptr, 0, each.tag, each.message);
        }
        if (at_s - each.at_s > silence_s_) return each.who;
    }
    return {};
}

void Beats::stop() {
    for (Told& each : told_) worker_.cancel(each.message);
    for (Heard& each : heard_) worker_.cancel(each.message);
}

}  // namespace hfreduce
