#include "monitor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace hfreduce {

namespace {

enum Type : std::uint32_t { kBeat = 1, kAbort = 2, kLeave = 3 };
constexpr std::uint32_t kMark = 0x68660001;
constexpr std::size_t kMostText = 1024;
constexpr std::size_t kMostUnsent = 1 << 20;

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace

struct Monitor::Frame {
    std::uint32_t mark, type;
    std::int32_t rank;
    std::uint32_t length;  // of the text that follows
    std::uint64_t value;
};

Monitor::Monitor(std::shared_ptr<Segment> segment, std::shared_ptr<Engine> engine, int rank,
                 int first_rank, double silence_s, std::vector<Link> links)
    : segment_(std::move(segment)),
      engine_(std::move(engine)),
      rank_(rank),
      first_rank_(first_rank),
      silence_s_(silence_s) {
    for (const Link& link : links) {
        Peer peer;
        peer.link = link;
        peer.heard_s = now_s();
        fcntl(link.fd, F_SETFL, fcntl(link.fd, F_GETFL) | O_NONBLOCK);
        peers_.push_back(std::move(peer));
    }
    wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    thread_ = std::thread([this] { run(); });
}

Monitor::~Monitor() {
    leave();
    for (Peer& peer : peers_)
        if (peer.link.fd >= 0) close(peer.link.fd);
    close(wake_);
}

void Monitor::abort(const std::string& text) {
    engine_->abort(text);
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto done = write(wake_, &one, sizeof one);
}

void Monitor::leave() {
    leaving_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto done = write(wake_, &one, sizeof one);
    if (thread_.joinable()) thread_.join();
}

void Monitor::forget() {
    for (Peer& peer : peers_)
        if (peer.link.fd >= 0) close(peer.link.fd);
    close(wake_);
}

std::string Monitor::who(const Peer& peer) const {
    if (peer.link.ranks == 1) return "rank " + std::to_string(peer.link.first_rank);
    return "rank " + std::to_string(peer.link.first_rank) + " (of the node with ranks " +
           std::to_string(peer.link.first_rank) + " to " +
           std::to_string(peer.link.first_rank + peer.link.ranks - 1) + ")";
}

void Monitor::run() {
    const double beat_s = std::min(1.0, silence_s_ / 5);
    double next_s = 0;
    for (;;) {
        std::vector<pollfd> polled{{wake_, POLLIN, 0}};
        for (const Peer& peer : peers_)
            polled.push_back({peer.link.fd,
                              static_cast<short>(POLLIN | (peer.unsent.empty() ? 0 : POLLOUT)), 0});
        const double rest_s = std::clamp(next_s - now_s(), 0.0, 0.1);
        poll(polled.data(), polled.size(), static_cast<int>(rest_s * 1000));
        std::uint64_t count;
        if (polled[0].revents) [[maybe_unused]] const auto done = ::read(wake_, &count, sizeof count);
        for (std::size_t at = 0; at < peers_.size(); ++at) {
            if (peers_[at].link.fd < 0) continue;
            if (polled[at + 1].revents & POLLOUT) flush(peers_[at]);
            if (polled[at + 1].revents & (POLLIN | POLLHUP | POLLERR)) read(peers_[at]);
        }
        const double at_s = now_s();
        // A rank that was stopped itself has heard nothing for a while: it looks again first.
        if (at_s > next_s + silence_s_ / 2 && next_s > 0)
            for (Peer& peer : peers_) peer.heard_s = std::max(peer.heard_s, at_s - silence_s_ / 2);
        if (at_s >= next_s) {
            beat();
            next_s = at_s + beat_s;
        }
        for (Peer& peer : peers_)
            if (peer.link.fd >= 0 && !peer.left && !engine_->aborted() &&
                at_s - peer.heard_s > silence_s_)
                gone(peer, " has not been heard for " +
                               std::to_string(static_cast<int>(silence_s_)) + " s");
        look_for_left();
        if (engine_->aborted() && !told_) {
            spread(engine_->abort_text(), nullptr);
            told_ = true;
        }
        if (leaving_) break;
    }
    const std::uint64_t operations = engine_->submitted();
    for (Peer& peer : peers_) {
        if (peer.link.fd < 0) continue;
        if (!engine_->aborted()) send(peer, kLeave, rank_, operations, "");
        flush(peer);
    }
}

void Monitor::read(Peer& peer) {
    char buffer[4096];
    bool ended = false;
    for (;;) {
        const ssize_t got = recv(peer.link.fd, buffer, sizeof buffer, 0);
        if (got > 0) {
            peer.received.append(buffer, static_cast<std::size_t>(got));
            peer.heard_s = now_s();
            if (got == sizeof buffer) continue;
            break;
        }
        ended = got == 0 || (errno != EAGAIN && errno != EINTR);
        break;
    }
    std::size_t at = 0;
    Frame frame;
    while (peer.received.size() - at >= sizeof frame) {
        std::memcpy(&frame, peer.received.data() + at, sizeof frame);
        if (frame.mark != kMark || frame.length > kMostText) {
            gone(peer, " sent what is no message of hfreduce");
            return;
        }
        if (peer.received.size() - at < sizeof frame + frame.length) break;
        take(peer, frame, peer.received.substr(at + sizeof frame, frame.length));
        if (peer.link.fd < 0) return;
        at += sizeof frame + frame.length;
    }
    peer.received.erase(0, at);
    if (ended) gone(peer, " ended without closing its communicator");
}

void Monitor::take(Peer& peer, const Frame& frame, const std::string& text) {
    if (frame.type == kAbort) {
        engine_->abort(text);
        spread(text, &peer);
        told_ = true;
    } else if (frame.type == kBeat) {
        if (peer.link.above)
            engine_->set_laggard(frame.rank, frame.value);
        else
            entered_[frame.rank] = frame.value;
    } else if (frame.type == kLeave) {
        left_[frame.rank] = frame.value;
        for (Peer& other : peers_)  // a node's first rank speaks for the node, rank 0 for all
            if (&other != &peer && other.link.fd >= 0) send(other, kLeave, frame.rank, frame.value, "");
        if (frame.rank == peer.link.first_rank) peer.left = true;
    }
}

void Monitor::send(Peer& peer, int type, int rank, std::uint64_t value, const std::string& text) {
    if (peer.unsent.size() > kMostUnsent) return;  // it does not read: silence will end it
    Frame frame{kMark, static_cast<std::uint32_t>(type), rank,
                static_cast<std::uint32_t>(std::min(text.size(), kMostText)), value};
    peer.unsent.append(reinterpret_cast<const char*>(&frame), sizeof frame);
    peer.unsent.append(text, 0, frame.length);
    flush(peer);
}

void Monitor::flush(Peer& peer) {
    while (!peer.unsent.empty()) {
        const ssize_t done =
            ::send(peer.link.fd, peer.unsent.data(), peer.unsent.size(), MSG_NOSIGNAL);
        if (done <= 0) return;  // full, or gone: reading says which
        peer.unsent.erase(0, static_cast<std::size_t>(done));
    }
}

void Monitor::beat() {
    const int n = segment_->shape().local_size;
    const bool speaks = rank_ == first_rank_;
    if (speaks)
        for (int local = 0; local < n; ++local)
            entered_[first_rank_ + local] = segment_->entered(local).load();
    int last = -1;
    for (const auto& [rank, entered] : entered_)
        if (last < 0 || entered < entered_[last]) last = rank;
    for (Peer& peer : peers_) {
        if (peer.link.fd < 0) continue;
        if (peer.link.above && speaks)
            for (int local = 0; local < n; ++local)
                send(peer, kBeat, first_rank_ + local, entered_[first_rank_ + local], "");
        else if (peer.link.above)
            send(peer, kBeat, rank_, engine_->submitted(), "");
        else
            send(peer, kBeat, last, last < 0 ? 0 : entered_[last], "");
    }
    if (last >= 0 && !std::any_of(peers_.begin(), peers_.end(),
                                  [](const Peer& peer) { return peer.link.above; }))
        engine_->set_laggard(last, entered_[last]);
}

void Monitor::spread(const std::string& text, const Peer* except) {
    for (Peer& peer : peers_)
        if (&peer != except && peer.link.fd >= 0) send(peer, kAbort, rank_, 0, text);
}

void Monitor::gone(Peer& peer, const std::string& how) {
    close(peer.link.fd);
    peer.link.fd = -1;
    if (peer.left || leaving_) return;
    engine_->abort(who(peer) + how);
}

// An operation that a rank which has left took no part in can never end.
void Monitor::look_for_left() {
    if (engine_->aborted()) return;
    const std::uint64_t here = engine_->submitted();
    for (const auto& [rank, operations] : left_)
        if (here > operations)
            engine_->abort("rank " + std::to_string(rank) + " closed its communicator after " +
                           std::to_string(operations) + " operations, this rank has entered " +
                           std::to_string(here));
}

}  // namespace hfreduce
