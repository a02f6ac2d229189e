#include "channel.h"

#include <pthread.h>

#include <cstring>

#include "error.h"
#include "pause.h"
#include "reduce.h"

namespace hfreduce {

namespace {

constexpr int kSleepMs = 50;
constexpr std::uint64_t kBeat = (std::uint64_t{1} << 40) - 1;  // in a tag, in place of a chunk

std::uint64_t tag_of(int tree, int node, std::uint64_t g) {
    return static_cast<std::uint64_t>(tree) << 63 | static_cast<std::uint64_t>(node) << 40 |
           (g & ((std::uint64_t{1} << 40) - 1));
}

}  // namespace

Channel::Channel(Neighbours& neighbours, int number, const ChannelOptions& options)
    : neighbours_(neighbours),
      segment_(neighbours.segment()),
      number_(number),
      domain_(options.domain),
      up_(std::make_unique<Side>(options.device)),
      down_(std::make_unique<Side>(options.device)) {
    up_->event = options.up_event;
    down_->event = options.down_event;
}

Channel::~Channel() = default;

void Channel::connect(const std::vector<std::string>& up_addresses,
                      const std::vector<std::string>& down_addresses) {
    const int node = neighbours_.options().node;
    const std::size_t room = kHeaderBytes + segment_.shape().chunk_bytes;
    const int slots = segment_.shape().slots();
    for (Side* side : {up_.get(), down_.get()})
        side->beats = std::make_unique<Beats>(side->worker, neighbours_.options().silence_s);
    const auto lost = [this](int other) {
        return [this, other](const std::string& why) {
            neighbours_.lose("the connection to " + neighbours_.rank_of(other) + " was lost: " + why);
        };
    };
    for (int tree = 0; tree < kTrees; ++tree) {
        const TreePlace& place = neighbours_.place(tree);
        if (place.children.size() > kMostChildren) throw Error("a node has too many below it");
        if (place.parent >= 0) {
            up_->to[tree][0] = up_->worker.connect(up_addresses[place.parent], lost(place.parent));
            up_->beats->tell(up_->to[tree][0], tag_of(tree, node, kBeat));
            down_->beats->hear(tag_of(tree, place.parent, kBeat), neighbours_.rank_of(place.parent));
        }
        UpLane& up = up_lanes_[tree];
        up.children.resize(place.children.size());
        for (std::size_t c = 0; c < place.children.size(); ++c) {
            const int child = place.children[c];
            down_->to[tree][c] = down_->worker.connect(down_addresses[child], lost(child));
            down_->beats->tell(down_->to[tree][c], tag_of(tree, node, kBeat));
            up_->beats->hear(tag_of(tree, child, kBeat), neighbours_.rank_of(child));
            up.children[c].messages.resize(slots);
            for (int slot = 0; slot < slots; ++slot) {
                up.children[c].buffers.emplace_back(room, domain_);
                up_->worker.receive(up.children[c].buffers[slot].data(), room,
                                    tag_of(tree, child, chunk(tree, slot)),
                                    up.children[c].messages[slot]);
            }
        }
        down_lanes_[tree].arriving.resize(slots);
    }
}

void Channel::start() {
    up_->thread = std::thread([this] { run(*up_, kUp, &Channel::step_up); });
    down_->thread = std::thread([this] { run(*down_, kDown, &Channel::step_down); });
    // Here and not in the threads: they have their names once the job stands.
    const std::string number = std::to_string(number_);
    pthread_setname_np(up_->thread.native_handle(), ("hfreduce-up" + number).c_str());
    pthread_setname_np(down_->thread.native_handle(), ("hfreduce-dn" + number).c_str());
}

void Channel::run(Side& side, int thread, bool (Channel::*step)(int tree)) {
    bind_thread(domain_);
    const auto both = [&] {
        const bool first = (this->*step)(0);
        return (this->*step)(1) || first;
    };
    std::atomic<std::uint32_t>& sleeps = segment_.network_sleeps(number_, thread);
    Engine& engine = neighbours_.engine();
    try {
        for (int idle = 0; !neighbours_.stopping && !engine.aborted();) {
            neighbours_.look_for_losses();
            if (const std::string silent = side.beats->step(); !silent.empty())
                neighbours_.silent(silent);
            bool moved = side.worker.progress();
            moved |= both();
            if (moved) {
                idle = 0;
            } else if (++idle < engine.spins()) {
                pause_processor();
            } else {
                sleeps.store(1, std::memory_order_seq_cst);
                if (!both()) side.worker.sleep(side.event, kSleepMs);
                sleeps.store(0, std::memory_order_seq_cst);
                idle = 0;
            }
        }
    } catch (const Error& error) {
        engine.abort(error.what());
    }
}

bool Channel::step_up(int tree) {
    UpLane& up = up_lanes_[tree];
    const TreePlace& place = neighbours_.place(tree);
    bool moved = false;
    while (!up.sends.empty() && !up.sends.front().pending) {
        if (neighbours_.failed(up.sends.front(), place.parent)) return moved;
        up.sends.pop_front();
        ++segment_.sent_up(lane(tree));
        segment_.wake();
        moved = true;
    }
    const int slots = segment_.shape().slots();
    const std::uint64_t m = up.combined;
    const std::uint64_t g = chunk(tree, m);
    const int slot = static_cast<int>(m % slots);
    if (!segment_.added(g)) return moved;
    for (const auto& child : up.children)
        if (child.messages[slot].pending) return moved;
    const bool root = place.parent < 0;
    const auto depth = static_cast<std::uint64_t>(segment_.shape().depth);
    if (root && g >= depth && (!segment_.drained(g - depth) || sent_down_[tree] + slots <= m))
        return moved;

    const Wanted wanted = segment_.wanted(g, 0);
    const Signature& signature = wanted.signature;
    std::byte* const out = root ? segment_.result(g) : segment_.partial(g);
    const std::size_t bytes = wanted.elements * size_of(signature.dtype);
    const int node = neighbours_.options().node;
    const void* inputs[kMostChildren + 1];
    int n = 0;
    if (!signature.from_one() || neighbours_.node_of(signature.root) == node)
        inputs[n++] = segment_.partial(g);
    for (std::size_t c = 0; c < up.children.size(); ++c) {
        const Message& message = up.children[c].messages[slot];
        const std::byte* data = up.children[c].buffers[slot].data();
        if (neighbours_.failed(message, place.children[c])) return moved;
        if (message.bytes < kHeaderBytes) throw Error(neighbours_.foreign());
        neighbours_.check(*reinterpret_cast<const MessageHeader*>(data), g, place.children[c]);
        if (message.bytes == kHeaderBytes + bytes && bytes) inputs[n++] = data + kHeaderBytes;
    }
    if (n == 1 && inputs[0] != out)
        std::memcpy(out, inputs[0], bytes);
    else if (n > 1)
        reduce(signature.dtype, signature.op, inputs, n, out, wanted.elements);
    for (std::size_t c = 0; c < up.children.size(); ++c)
        up_->worker.receive(up.children[c].buffers[slot].data(),
                            kHeaderBytes + segment_.shape().chunk_bytes,
                            tag_of(tree, place.children[c], g + depth),
                            up.children[c].messages[slot]);
    const MessageHeader header{neighbours_.options().job, g, wanted.elements, signature};
    std::memcpy(out - kHeaderBytes, &header, sizeof header);
    ++up.combined;
    if (root) {
        ++segment_.sent_up(lane(tree));
        ++segment_.finished(lane(tree));
        ++rooted_[tree];
        segment_.wake();
        segment_.wake_network(number_, kDown);
    } else {
        const std::size_t payload = neighbours_.rises(signature, tree, node) ? bytes : 0;
        up.sends.emplace_back();
        up_->worker.send(up_->to[tree][0], out - kHeaderBytes, kHeaderBytes + payload,
                         tag_of(tree, node, g), up.sends.back());
        neighbours_.sent_bytes += payload;
    }
    return true;
}

bool Channel::step_down(int tree) {
    DownLane& down = down_lanes_[tree];
    const TreePlace& place = neighbours_.place(tree);
    const int slots = segment_.shape().slots();
    const auto depth = static_cast<std::uint64_t>(segment_.shape().depth);
    bool moved = false;
    while (!down.sends.empty() && !down.sends.front().messages[0].pending &&
           !down.sends.front().messages[1].pending) {
        for (std::size_t c = 0; c < place.children.size(); ++c)
            if (neighbours_.failed(down.sends.front().messages[c], place.children[c])) return moved;
        down.sends.pop_front();
        ++sent_down_[tree];
        segment_.wake_network(number_, kUp);
        moved = true;
    }
    const std::uint64_t m = down.next;
    const std::uint64_t g = chunk(tree, m);
    if (place.parent < 0) {
        if (rooted_[tree] <= m) return moved;
    } else {
        while (down.awaited < m + slots) {
            const std::uint64_t ahead = chunk(tree, down.awaited);
            if (ahead >= depth && (!segment_.drained(ahead - depth) ||
                                   sent_down_[tree] + slots <= down.awaited))
                break;
            down_->worker.receive(segment_.result(ahead) - kHeaderBytes,
                                  kHeaderBytes + segment_.shape().chunk_bytes,
                                  tag_of(tree, place.parent, ahead),
                                  down.arriving[down.awaited % slots]);
            ++down.awaited;
            moved = true;
        }
        if (down.awaited <= m || down.arriving[m % slots].pending) return moved;
        const Message& message = down.arriving[m % slots];
        if (neighbours_.failed(message, place.parent)) return moved;
        if (message.bytes < kHeaderBytes) throw Error(neighbours_.foreign());
        neighbours_.check(
            *reinterpret_cast<const MessageHeader*>(segment_.result(g) - kHeaderBytes), g,
            place.parent);
    }
    const auto header =
        *reinterpret_cast<const MessageHeader*>(segment_.result(g) - kHeaderBytes);
    const Signature signature = header.signature;
    const std::size_t bytes = header.elements * size_of(signature.dtype);
    if (place.parent >= 0) {
        ++segment_.finished(lane(tree));
        segment_.wake();
    }
    down.sends.emplace_back();
    for (std::size_t c = 0; c < place.children.size(); ++c) {
        const std::size_t payload = neighbours_.falls(signature, tree, place.children[c]) ? bytes : 0;
        down_->worker.send(down_->to[tree][c], segment_.result(g) - kHeaderBytes,
                           kHeaderBytes + payload, tag_of(tree, neighbours_.options().node, g),
                           down.sends.back().messages[c]);
        neighbours_.sent_bytes += payload;
    }
    ++down.next;
    return true;
}

bool Channel::idle() const {
    const auto channels = static_cast<std::uint64_t>(segment_.shape().channels);
    for (int tree = 0; tree < kTrees; ++tree) {
        const std::uint64_t mine =
            (neighbours_.engine().chunks(tree) + channels - 1 - number_) / channels;
        if (segment_.sent_up(lane(tree)) < mine || sent_down_[tree] < mine) return false;
    }
    return true;
}

void Channel::join() {
    for (Side* side : {up_.get(), down_.get()})
        if (side->thread.joinable()) side->thread.join();
}

void Channel::close(bool force) {
    for (auto& lane : up_lanes_)
        for (auto& child : lane.children)
            for (auto& message : child.messages) up_->worker.cancel(message);
    for (auto& lane : down_lanes_)
        for (auto& message : lane.arriving) down_->worker.cancel(message);
    for (Side* side : {up_.get(), down_.get()}) side->worker.progress();
    for (Side* side : {up_.get(), down_.get()}) {
        side->worker.close(force);
        side->worker.discard(kBeat, kBeat);
        if (side->beats) side->beats->stop();
    }
}

}  // namespace hfreduce
