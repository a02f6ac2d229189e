#include "neighbours.h"

#include <algorithm>

#include "error.h"

namespace hfreduce {

namespace {

constexpr auto kLossPatience = std::chrono::seconds(1);

}  // namespace

int Neighbours::node_of(std::uint32_t rank) const {
    const auto& firsts = options_.first_ranks;
    return static_cast<int>(std::upper_bound(firsts.begin(), firsts.end(), static_cast<int>(rank)) -
                            firsts.begin()) -
           1;
}

bool Neighbours::rises(const Signature& signature, int tree, int node) const {
    if (!signature.from_one()) return true;
    const int root = node_of(signature.root);
    return root == node || options_.trees[tree].path_to[root] >= 0;
}

bool Neighbours::falls(const Signature& signature, int tree, int child) const {
    return !signature.to_one() || options_.trees[tree].path_to[node_of(signature.root)] == child;
}

void Neighbours::check(const MessageHeader& header, std::uint64_t g, int node) const {
    if (header.job != options_.job || header.g != g) throw Error(foreign());
    const Signature& own = segment_->wanted(g, 0).signature;
    if (header.signature == own && header.elements == segment_->wanted(g, 0).elements) return;
    throw Error(disagreement(options_.first_ranks[node], header.signature,
                             options_.first_ranks[options_.node], own));
}

std::string Neighbours::foreign() const {
    return "a message of another job came to " + rank_of(options_.node);
}

// A node that ends the job ends its connections too. The monitor says why, and is a moment later.
void Neighbours::lose(const std::string& text) {
    std::lock_guard<std::mutex> lock(lost_mutex_);
    if (!lost_text_.empty() || stopping) return;
    lost_text_ = text;
    lost_at_ = std::chrono::steady_clock::now();
}

void Neighbours::silent(const std::string& who) {
    if (!idle_())
        lose(who + " has not been heard for " +
             std::to_string(static_cast<int>(options_.silence_s)) + " s by " +
             rank_of(options_.node) + ", next to it in a tree");
}

bool Neighbours::failed(const Message& message, int node) {
    if (message.status == UCS_OK) return false;
    lose("a message to or from " + rank_of(node) +
         " failed: " + ucs_status_string(message.status));
    return true;
}

void Neighbours::look_for_losses() {
    std::lock_guard<std::mutex> lock(lost_mutex_);
    if (lost_text_.empty()) return;
    const auto now = std::chrono::steady_clock::now();
    if (idle_())
        lost_at_ = now;  // it may have left
    else if (now - lost_at_ > kLossPatience)
        throw Error(lost_text_);
}

}  // namespace hfreduce
