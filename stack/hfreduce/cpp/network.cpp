#include "network.h"

#include "pause.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>

#include "beats.h"
#include "error.h"
#include "reduce.h"
#include "ucx.h"

namespace hfreduce {

namespace {

constexpr int kSleepMs = 50;
constexpr auto kLossPatience = std::chrono::seconds(1);
constexpr std::size_t kMostChildren = 2;
constexpr int kUp = 0;
constexpr int kDown = 1;
constexpr std::uint64_t kBeat = (std::uint64_t{1} << 40) - 1;  // in a tag, in place of a chunk

std::uint64_t tag_of(int tree, int node, std::uint64_t g) {
    return static_cast<std::uint64_t>(tree) << 63 | static_cast<std::uint64_t>(node) << 40 |
           (g & ((std::uint64_t{1} << 40) - 1));
}

}  // namespace

// Lies in the kHeaderBytes ahead of a chunk; a message without a payload is this alone.
struct Network::Header {
    std::uint64_t job;
    std::uint64_t g;
    std::uint64_t elements;  // of the chunk
    Signature signature;
};

struct Network::Side {
    std::unique_ptr<Beats> beats;  // outlives the worker
    UcxWorker worker;
    int event = -1;
    int to[kTrees][kMostChildren] = {{-1, -1}, {-1, -1}};  // connections, by tree and neighbour
    std::thread thread;
};

// Slot s of a tree is slot 2 s + tree of the node: chunk k of the tree is chunk 2 k + tree.
struct Network::UpTree {
    struct Child {
        std::vector<std::vector<std::byte>> buffers;
        std::vector<Message> messages;
    };
    std::vector<Child> children;
    std::uint64_t combined = 0;
    std::deque<Message> sends;  // a deque: UCX keeps their addresses
};

struct Network::DownTree {
    std::vector<Message> arriving;
    std::uint64_t awaited = 0;  // receives that were posted
    std::uint64_t next = 0;
    struct Forward {
        Message messages[kMostChildren];
    };
    std::deque<Forward> sends;
};

Network::Network(std::shared_ptr<Segment> segment, std::shared_ptr<Engine> engine, int up_event,
                 int down_event)
    : segment_(std::move(segment)),
      engine_(std::move(engine)),
      up_(std::make_unique<Side>()),
      down_(std::make_unique<Side>()) {
    static_assert(sizeof(Header) <= kHeaderBytes);
    up_->event = up_event;
    down_->event = down_event;
}

Network::~Network() {
    stop();
    up_.reset();  // before what UCX may still point to
    down_.reset();
}

std::string Network::up_address() const { return up_->worker.address(); }
std::string Network::down_address() const { return down_->worker.address(); }

void Network::start(NetworkOptions options, const std::vector<std::string>& up_addresses,
                    const std::vector<std::string>& down_addresses) {
    options_ = std::move(options);
    const std::size_t room = kHeaderBytes + segment_->shape().chunk_bytes;
    const int slots = segment_->shape().depth / kTrees;
    for (Side* side : {up_.get(), down_.get()})
        side->beats = std::make_unique<Beats>(side->worker, options_.silence_s);
    const auto rank_of = [this](int node) {
        return "rank " + std::to_string(options_.first_ranks[node]);
    };
    for (int tree = 0; tree < kTrees; ++tree) {
        const TreePlace& place = options_.trees[tree];
        if (place.children.size() > kMostChildren) throw Error("a node has too many below it");
        const auto lost = [this](int node) {
            return [this, node](const std::string& why) {
                lose("the connection to rank " + std::to_string(options_.first_ranks[node]) +
                     " was lost: " + why);
            };
        };
        if (place.parent >= 0) {
            up_->to[tree][0] = up_->worker.connect(up_addresses[place.parent], lost(place.parent));
            up_->beats->tell(up_->to[tree][0], tag_of(tree, options_.node, kBeat));
            down_->beats->hear(tag_of(tree, place.parent, kBeat), rank_of(place.parent));
        }
        auto up = std::make_unique<UpTree>();
        up->children.resize(place.children.size());
        for (std::size_t c = 0; c < place.children.size(); ++c) {
            const int child = place.children[c];
            down_->to[tree][c] = down_->worker.connect(down_addresses[child], lost(child));
            down_->beats->tell(down_->to[tree][c], tag_of(tree, options_.node, kBeat));
            up_->beats->hear(tag_of(tree, child, kBeat), rank_of(child));
            up->children[c].messages.resize(slots);
            for (int slot = 0; slot < slots; ++slot) {
                up->children[c].buffers.emplace_back(room);
                up_->worker.receive(up->children[c].buffers[slot].data(), room,
                                    tag_of(tree, child, slot * kTrees + tree),
                                    up->children[c].messages[slot]);
            }
        }
        up_trees_.push_back(std::move(up));
        auto down = std::make_unique<DownTree>();
        down->arriving.resize(slots);
        down_trees_.push_back(std::move(down));
    }
    up_->thread = std::thread([this] { run(*up_, kUp, [this] { return step_up(); }); });
    down_->thread = std::thread([this] { run(*down_, kDown, [this] { return step_down(); }); });
}

void Network::run(Side& side, int thread, const std::function<bool()>& step) {
    std::atomic<std::uint32_t>& sleeps = segment_->network_sleeps(thread);
    try {
        for (int idle = 0; !stopping_ && !engine_->aborted();) {
            look_for_losses();
            beat(side);
            bool moved = side.worker.progress();
            moved |= step();
            if (moved) {
                idle = 0;
            } else if (++idle < engine_->spins()) {
                pause_processor();
            } else {
                sleeps.store(1, std::memory_order_seq_cst);
                if (!step()) side.worker.sleep(side.event, kSleepMs);
                sleeps.store(0, std::memory_order_seq_cst);
                idle = 0;
            }
        }
    } catch (const Error& error) {
        engine_->abort(error.what());
    }
}

// A node that ends the job ends its connections too. The monitor says why, and is a moment later.
void Network::lose(const std::string& text) {
    std::lock_guard<std::mutex> lock(lost_mutex_);
    if (!lost_text_.empty() || stopping_) return;
    lost_text_ = text;
    lost_at_ = std::chrono::steady_clock::now();
}

void Network::look_for_losses() {
    std::lock_guard<std::mutex> lock(lost_mutex_);
    if (lost_text_.empty()) return;
    const auto now = std::chrono::steady_clock::now();
    if (idle())
        lost_at_ = now;  // it may have left
    else if (now - lost_at_ > kLossPatience)
        throw Error(lost_text_);
}

void Network::beat(Side& side) {
    const std::string silent = side.beats->step();
    if (!silent.empty() && !idle())
        lose(silent + " has not been heard for " +
             std::to_string(static_cast<int>(options_.silence_s)) + " s by rank " +
             std::to_string(options_.first_ranks[options_.node]) + ", next to it in a tree");
}

bool Network::failed(const Message& message, int node) {
    if (message.status == UCS_OK) return false;
    lose("a message to or from rank " + std::to_string(options_.first_ranks[node]) +
         " failed: " + ucs_status_string(message.status));
    return true;
}

std::string Network::foreign() const {
    return "a message of another job came to rank " +
           std::to_string(options_.first_ranks[options_.node]);
}

int Network::node_of(std::uint32_t rank) const {
    const auto& firsts = options_.first_ranks;
    return static_cast<int>(std::upper_bound(firsts.begin(), firsts.end(), static_cast<int>(rank)) -
                            firsts.begin()) -
           1;
}

// Whether what node `node` sends up has a payload.
bool Network::rises(const Signature& signature, int tree, int node) const {
    if (!signature.from_one()) return true;
    const int root = node_of(signature.root);
    return root == node || options_.trees[tree].path_to[root] >= 0;
}

bool Network::falls(const Signature& signature, int tree, int child) const {
    return !signature.to_one() || options_.trees[tree].path_to[node_of(signature.root)] == child;
}

void Network::check(const Header& header, std::uint64_t g, int node) const {
    if (header.job != options_.job || header.g != g) throw Error(foreign());
    const Signature& own = segment_->wanted(g, 0).signature;
    if (header.signature == own && header.elements == segment_->wanted(g, 0).elements) return;
    throw Error(disagreement(options_.first_ranks[node], header.signature,
                             options_.first_ranks[options_.node], own));
}

bool Network::step_up() {
    const bool first = step_up(0);
    return step_up(1) || first;
}

bool Network::step_up(int tree) {
    UpTree& up = *up_trees_[tree];
    const TreePlace& place = options_.trees[tree];
    bool moved = false;
    while (!up.sends.empty() && !up.sends.front().pending) {
        if (failed(up.sends.front(), place.parent)) return moved;
        up.sends.pop_front();
        ++segment_->sent_up(tree);
        segment_->wake();
        moved = true;
    }
    const int slots = segment_->shape().depth / kTrees;
    const std::uint64_t k = up.combined;
    const std::uint64_t g = k * kTrees + tree;
    const int slot = static_cast<int>(k % slots);
    if (!segment_->added(g)) return moved;
    for (const auto& child : up.children)
        if (child.messages[slot].pending) return moved;
    const bool root = place.parent < 0;
    const auto depth = static_cast<std::uint64_t>(segment_->shape().depth);
    if (root && g >= depth && (!segment_->drained(g - depth) || sent_down_[tree] + slots <= k))
        return moved;

    const Wanted wanted = segment_->wanted(g, 0);
    const Signature& signature = wanted.signature;
    std::byte* const out = root ? segment_->result(g) : segment_->partial(g);
    const std::size_t bytes = wanted.elements * size_of(signature.dtype);
    const void* inputs[kMostChildren + 1];
    int n = 0;
    if (!signature.from_one() || node_of(signature.root) == options_.node)
        inputs[n++] = segment_->partial(g);
    for (std::size_t c = 0; c < up.children.size(); ++c) {
        const Message& message = up.children[c].messages[slot];
        const std::byte* data = up.children[c].buffers[slot].data();
        if (failed(message, place.children[c])) return moved;
        if (message.bytes < kHeaderBytes) throw Error(foreign());
        check(*reinterpret_cast<const Header*>(data), g, place.children[c]);
        if (message.bytes == kHeaderBytes + bytes && bytes) inputs[n++] = data + kHeaderBytes;
    }
    if (n == 1 && inputs[0] != out)
        std::memcpy(out, inputs[0], bytes);
    else if (n > 1)
        reduce(signature.dtype, signature.op, inputs, n, out, wanted.elements);
    for (std::size_t c = 0; c < up.children.size(); ++c)
        up_->worker.receive(up.children[c].buffers[slot].data(), up.children[c].buffers[slot].size(),
                            tag_of(tree, place.children[c], g + depth),
                            up.children[c].messages[slot]);
    const Header header{options_.job, g, wanted.elements, signature};
    std::memcpy(out - kHeaderBytes, &header, sizeof header);
    ++up.combined;
    if (root) {
        ++segment_->sent_up(tree);
        ++segment_->finished(tree);
        ++rooted_[tree];
        segment_->wake();
        segment_->wake_network(kDown);
    } else {
        const std::size_t payload = rises(signature, tree, options_.node) ? bytes : 0;
        up.sends.emplace_back();
        up_->worker.send(up_->to[tree][0], out - kHeaderBytes, kHeaderBytes + payload,
                         tag_of(tree, options_.node, g), up.sends.back());
        sent_bytes_ += payload;
    }
    return true;
}

bool Network::step_down() {
    const bool first = step_down(0);
    return step_down(1) || first;
}

bool Network::step_down(int tree) {
    DownTree& down = *down_trees_[tree];
    const TreePlace& place = options_.trees[tree];
    const int slots = segment_->shape().depth / kTrees;
    const auto depth = static_cast<std::uint64_t>(segment_->shape().depth);
    bool moved = false;
    while (!down.sends.empty() && !down.sends.front().messages[0].pending &&
           !down.sends.front().messages[1].pending) {
        for (std::size_t c = 0; c < place.children.size(); ++c)
            if (failed(down.sends.front().messages[c], place.children[c])) return moved;
        down.sends.pop_front();
        ++sent_down_[tree];
        segment_->wake_network(kUp);
        moved = true;
    }
    const std::uint64_t k = down.next;
    const std::uint64_t g = k * kTrees + tree;
    if (place.parent < 0) {
        if (rooted_[tree] <= k) return moved;
    } else {
        while (down.awaited < k + slots) {
            const std::uint64_t ahead = down.awaited * kTrees + tree;
            if (ahead >= depth && (!segment_->drained(ahead - depth) ||
                                   sent_down_[tree] + slots <= down.awaited))
                break;
            down_->worker.receive(segment_->result(ahead) - kHeaderBytes,
                                  kHeaderBytes + segment_->shape().chunk_bytes,
                                  tag_of(tree, place.parent, ahead),
                                  down.arriving[down.awaited % slots]);
            ++down.awaited;
            moved = true;
        }
        if (down.awaited <= k || down.arriving[k % slots].pending) return moved;
        const Message& message = down.arriving[k % slots];
        if (failed(message, place.parent)) return moved;
        if (message.bytes < kHeaderBytes) throw Error(foreign());
        check(*reinterpret_cast<const Header*>(segment_->result(g) - kHeaderBytes), g, place.parent);
    }
    const Header header = *reinterpret_cast<const Header*>(segment_->result(g) - kHeaderBytes);
    const Signature signature = header.signature;
    const std::size_t bytes = header.elements * size_of(signature.dtype);
    if (place.parent >= 0) {
        ++segment_->finished(tree);
        segment_->wake();
    }
    down.sends.emplace_back();
    for (std::size_t c = 0; c < place.children.size(); ++c) {
        const std::size_t payload = falls(signature, tree, place.children[c]) ? bytes : 0;
        down_->worker.send(down_->to[tree][c], segment_->result(g) - kHeaderBytes,
                           kHeaderBytes + payload, tag_of(tree, options_.node, g),
                           down.sends.back().messages[c]);
        sent_bytes_ += payload;
    }
    ++down.next;
    return true;
}

bool Network::idle() const {
    for (int tree = 0; tree < kTrees; ++tree) {
        const std::uint64_t chunks = engine_->chunks(tree);
        if (segment_->sent_up(tree) < chunks || sent_down_[tree] < chunks) return false;
    }
    return true;
}

void Network::stop() {
    stopping_ = true;
    for (Side* side : {up_.get(), down_.get()})
        if (side->thread.joinable()) side->thread.join();
    for (auto& tree : up_trees_)
        for (auto& child : tree->children)
            for (auto& message : child.messages) up_->worker.cancel(message);
    for (auto& tree : down_trees_)
        for (auto& message : tree->arriving) down_->worker.cancel(message);
    up_->worker.progress();
    down_->worker.progress();
    const bool force = engine_->aborted();
    up_->worker.close(force);
    down_->worker.close(force);
    for (Side* side : {up_.get(), down_.get()}) {
        side->worker.discard(kBeat, kBeat);
        if (side->beats) side->beats->stop();
    }
}

}  // namespace hfreduce
