#include "engine.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <sstream>

#include "error.h"
#include "pause.h"
#include "reduce.h"

namespace hfreduce {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kSleepMs = 50;  // a wait looks for an abort this often
constexpr std::size_t kDirectBytes = 32 << 10;
constexpr std::size_t kLeastChunk = 128 << 10;
constexpr std::size_t kLine = 64;
constexpr auto kNap = std::chrono::microseconds(50);
constexpr int kTurns = 16;  // given to others before a sleep
constexpr auto kTurn = std::chrono::milliseconds(1);  // that another rank's may take

}  // namespace

Engine::Engine(std::shared_ptr<Segment> segment, const EngineOptions& options)
    : segment_(std::move(segment)), options_(options) {
    background_ = std::thread([this] { background(); });
    for (int thread = 1; thread < segment_->shape().threads; ++thread)
        adders_.emplace_back([this, thread] { adder(thread); });
}

Engine::~Engine() { stop(); }

// All ranks must come to the same number: it depends on what they agree on only.
std::size_t Engine::chunk_elements(const Signature& signature) const {
    const std::size_t most = segment_->shape().chunk_bytes;
    const std::size_t bytes = signature.count * size_of(signature.dtype);
    const std::size_t wanted = std::clamp(bytes / 4, std::min(kLeastChunk, most), most);
    return wanted / kLine * kLine / size_of(signature.dtype);
}

bool Engine::is_direct(const Signature& signature) const {
    const Shape& shape = segment_->shape();
    return !shape.networked && !signature.gpu && !signature.to_one() && !signature.from_one() &&
           signature.count * size_of(signature.dtype) <= std::min(kDirectBytes, shape.chunk_bytes);
}

std::uint64_t Engine::chunks_of(const Signature& signature) const {
    const std::uint64_t each = chunk_elements(signature);
    if (is_direct(signature)) return 1;
    return std::max<std::uint64_t>(1, (signature.count + each - 1) / each);
}

std::uint64_t Engine::submit(Signature signature, const void* in, void* out,
                             std::shared_ptr<Mover> mover, bool someone_waits) {
    check();
    auto running = std::make_shared<Running>();
    {
        std::lock_guard<std::mutex> lock(queue_mutex_);
        signature.sequence = sequence_.load();
        running->mover = mover ? std::move(mover) : std::make_shared<HostMover>();
        signature.gpu = !running->mover->host();
        running->signature = signature;
        running->in = static_cast<const std::byte*>(in);
        running->out = static_cast<std::byte*>(out);
        running->first = chunks_;
        running->each = chunk_elements(signature);
        running->direct = is_direct(signature);
        running->chunks = chunks_of(signature);
        for (int tree = 0; tree < kTrees; ++tree) {
            running->trees[tree] = tree_chunks_[tree];
            tree_chunks_[tree] += (running->chunks + kTrees - 1 - tree) / kTrees;
        }
        queue_.push_back(running);
        chunks_ += running->chunks;
        ++sequence_;
        segment_->entered(segment_->local_rank()).store(sequence_.load());
    }
    if (resting_) segment_->wake();
    if (!someone_waits) asked_.notify_one();
    return signature.sequence;
}

void Engine::wait(std::uint64_t number, const std::atomic<std::uint64_t>& passed,
                  double timeout_s) {
    const auto ended = [&] { return number < passed.load(); };
    if (timeout_s <= 0) timeout_s = options_.timeout_s;
    const auto limit = Clock::now() + std::chrono::duration<double>(timeout_s);
    while (!ended()) {
        check();
        if (Clock::now() > limit) late(number, timeout_s);
        std::unique_lock<std::mutex> driving(drive_mutex_, std::try_to_lock);
        if (driving.owns_lock()) {
            const std::uint64_t asked = sequence_;
            const std::uint32_t seen = segment_->epoch();
            try {
                if (!advance() && !ended()) rest(seen, asked);
            } catch (const Error& error) {
                abort(error.what());
                throw;
            }
        } else {
            std::unique_lock<std::mutex> lock(queue_mutex_);
            ended_.wait_for(lock, std::chrono::milliseconds(1), ended);
        }
    }
    if (completed_ < sequence_) asked_.notify_one();
}

void Engine::background() {
    std::unique_lock<std::mutex> lock(queue_mutex_);
    while (!stopping_) {
        asked_.wait(lock, [&] { return stopping_ || (!queue_.empty() && !aborted()); });
        while (!stopping_ && !queue_.empty() && !aborted()) {
            std::unique_lock<std::mutex> driving(drive_mutex_, std::try_to_lock);
            if (!driving.owns_lock()) {  // a waiting caller drives
                ended_.wait_for(lock, std::chrono::milliseconds(1));
                continue;
            }
            lock.unlock();
            const std::uint64_t asked = sequence_;
            const std::uint32_t seen = segment_->epoch();
            try {
                if (!advance()) rest(seen, asked);
            } catch (const Error& error) {
                abort(error.what());
            }
            driving.unlock();
            lock.lock();
        }
    }
}

bool Engine::advance() {
    bool moved = step();
    for (int spin = 0; !moved && !napped_ && spin < options_.spins; ++spin) {
        pause_processor();
        moved = step();
    }
    if (!moved && !napped_ && !options_.spins) moved = give_way();
    if (moved) napped_ = false;
    return moved;
}

// Where ranks share processors, let the others have a turn a few times before a sleep: they bring
// what is waited for, and to be woken costs more. Other work would keep such turns for
// milliseconds; who meets that sleeps at once for a while, each time longer.
bool Engine::give_way() {
    if (shy_ > 0) {
        --shy_;
        return false;
    }
    for (int turn = 0; turn < kTurns; ++turn) {
        const auto before = Clock::now();
        sched_yield();
        if (Clock::now() - before > kTurn) {
            shy_ = shyness_;
            shyness_ = std::min(2 * shyness_, kMostShy);
            return step();
        }
        if (step()) {
            shyness_ = kLeastShy;
            return true;
        }
    }
    return false;
}

// Sleep until the node, or a caller, has something new.
void Engine::rest(std::uint32_t epoch, std::uint64_t sequence) {
    if (moving()) {  // a copy engine tells no one when it is done
        std::this_thread::sleep_for(kNap);
        napped_ = true;
        return;
    }
    const bool starved = starved_;
    resting_ = true;
    if (starved) {
        ++segment_->starving();
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    if (sequence_ == sequence && !(starved && segment_->free(find(filling_).g)))
        segment_->wait(epoch, kSleepMs);
    if (starved) --segment_->starving();
    resting_ = false;
}

bool Engine::moving() const { return fills_ < filling_ || drains_ < draining_; }

bool Engine::step() {
    {
        std::lock_guard<std::mutex> lock(queue_mutex_);
        if (window_.size() != queue_.size()) window_.assign(queue_.begin(), queue_.end());
    }
    bool moved = empty();
    moved |= add();
    moved |= fill();
    return moved;
}

Engine::Part Engine::find(std::uint64_t at) const {
    for (const auto& each : window_) {
        Running& running = *each;
        if (at < running.first || at >= running.first + running.chunks) continue;
        const std::uint64_t index = at - running.first;
        const std::uint64_t tree = index % kTrees;
        const std::size_t offset = index * running.each;
        const std::size_t left = running.signature.count - offset;
        return {&running, (running.trees[tree] + index / kTrees) * kTrees + tree, offset,
                running.direct ? left : std::min(left, running.each), index + 1 == running.chunks};
    }
    return {};
}

bool Engine::gives(const Signature& signature) const {
    return !signature.from_one() || static_cast<int>(signature.root) == options_.rank;
}

bool Engine::takes(const Signature& signature) const {
    if (signature.to_one()) return static_cast<int>(signature.root) == options_.rank;
    return !signature.from_one() || static_cast<int>(signature.root) != options_.rank;
}

bool Engine::fill() {
    bool moved = false;
    const int own = segment_->local_rank();
    const Part next = find(filling_);
    starved_ = next.running && !segment_->free(next.g);
    if (next.running && !starved_) {
        Running& running = *next.running;
        segment_->wanted(next.g, own) = {running.signature, next.count};
        if (gives(running.signature) && next.count) {
            const std::size_t size = size_of(running.signature.dtype);
            running.mover->in(segment_->input(own, next.g), running.in + next.offset * size,
                              next.count * size);
            ++running.ins;
        }
        if (filling_ == running.first && !segment_->shape().partners.empty())
            segment_->board(own).begun.store(running.signature.sequence + 1);
        ++filling_;
        moved = true;
    }
    while (fills_ < filling_) {
        const Part filled = find(fills_);
        Running& running = *filled.running;
        if (running.ins_seen < running.ins) {
            if (running.mover->in_done() <= running.ins_seen) break;  // the copy goes on
            ++running.ins_seen;
        }
        ++fills_;
        if (segment_->fill(filled.g)) segment_->wake();
        moved = true;
    }
    return moved;
}

void Engine::agree(std::uint64_t g) const {
    const int n = segment_->shape().local_size;
    const Signature& first = segment_->wanted(g, 0).signature;
    for (int other = 1; other < n; ++other) {
        const Signature& theirs = segment_->wanted(g, other).signature;
        if (theirs == first) continue;
        // Whom most agree with is taken to be right.
        int with_first = 0;
        int with_other = 0;
        for (int each = 0; each < n; ++each) {
            with_first += segment_->wanted(g, each).signature == first;
            with_other += segment_->wanted(g, each).signature == theirs;
        }
        const bool blame_first = with_other > with_first;
        throw Error(disagreement(options_.first_rank + (blame_first ? 0 : other),
                                 blame_first ? first : theirs,
                                 options_.first_rank + (blame_first ? other : 0),
                                 blame_first ? theirs : first));
    }
}

bool Engine::add() {
    if (adding_ >= fills_) return false;
    const std::uint64_t g = find(adding_).g;
    if (!segment_->filled(g)) return false;
    agree(g);
    add_share(segment_->wanted(g, segment_->local_rank()), g, 0);
    count(g);
    ++adding_;
    return true;
}

// One thread's share of a chunk.
void Engine::add_share(const Wanted& wanted, std::uint64_t g, int thread) const {
    const Shape& shape = segment_->shape();
    const Signature& signature = wanted.signature;
    if (is_direct(signature)) return;
    const std::size_t size = size_of(signature.dtype);
    const auto shares = static_cast<std::size_t>(shape.local_size) * shape.threads;
    const std::size_t line = kLine / size;
    const std::size_t each = ((wanted.elements + shares - 1) / shares + line - 1) / line * line;
    const std::size_t share = segment_->local_rank() * shape.threads + thread;
    const std::size_t from = std::min<std::size_t>(wanted.elements, each * share);
    const std::size_t to = std::min<std::size_t>(wanted.elements, from + each);
    if (from == to) return;
    std::array<const void*, kMaxLocal> inputs{};
    if (shape.pairs(signature)) {  // each rank has one half of its pair's sum
        const std::size_t middle = Shape::lower_half(wanted.elements * size) / size;
        for (const bool lower : {true, false}) {
            const std::size_t begin = lower ? from : std::max(from, middle);
            const std::size_t end = lower ? std::min(to, middle) : to;
            if (begin >= end) continue;
            int pairs = 0;
            for (int rank = 0; rank < shape.local_size; ++rank)
                if ((rank < shape.partners[rank]) == lower)
                    inputs[pairs++] = segment_->input(rank, g) + begin * size;
            reduce(signature.dtype, signature.op, inputs.data(), pairs,
                   segment_->partial(g) + begin * size, end - begin, scale(signature));
        }
        return;
    }
    int n = 0;
    if (signature.from_one()) {
        const int root = static_cast<int>(signature.root) - options_.first_rank;
        if (root < 0 || root >= shape.local_size) return;  // another node's
        // Copied: a reduction, though of one input, would write every NaN as the same one.
        std::memcpy(segment_->partial(g) + from * size, segment_->input(root, g) + from * size,
                    (to - from) * size);
        return;
    }
    for (; n < shape.local_size; ++n) inputs[n] = segment_->input(n, g) + from * size;
    reduce(signature.dtype, signature.op, inputs.data(), n, segment_->partial(g) + from * size,
           to - from, scale(signature));
}

double Engine::scale(const Signature& signature) const {
    if (!signature.average) return 1.0;
    return (segment_->shape().pairs(signature) ? 2.0 : 1.0) / options_.world_size;  // see PairIn
}

void Engine::count(std::uint64_t g) {
    const bool direct = is_direct(segment_->wanted(g, segment_->local_rank()).signature);
    if (!segment_->add(g)) return;
    if (segment_->shape().networked)
        segment_->wake_network_of(g, kUp);
    else if (segment_->shape().threads > 1 || !direct)
        segment_->wake();  // a small chunk's result waits for no one's sum
}

bool Engine::empty() {
    bool moved = false;
    const Part next = draining_ < adding_ ? find(draining_) : Part{};
    if (next.running && (next.running->direct || segment_->ready(next.g))) {
        Running& running = *next.running;
        const std::size_t size = size_of(running.signature.dtype);
        if (running.direct && next.count) {
            std::array<const void*, kMaxLocal> inputs{};
            const int n = segment_->shape().local_size;
            for (int each = 0; each < n; ++each) inputs[each] = segment_->input(each, next.g);
            reduce(running.signature.dtype, running.signature.op, inputs.data(), n, running.out,
                   next.count, scale(running.signature));
        } else if (takes(running.signature) && next.count) {
            running.mover->out(running.out + next.offset * size, segment_->result(next.g),
                               next.count * size);
            ++running.outs;
        }
        ++draining_;
        moved = true;
        if (next.last && running.mover->queued() && started_ == running.signature.sequence)
            ++started_;
    }
    while (drains_ < draining_) {
        const Part drained = find(drains_);
        Running& running = *drained.running;
        if (running.outs_seen < running.outs) {
            if (running.mover->out_done() <= running.outs_seen) break;
            ++running.outs_seen;
        }
        ++drains_;
        if (segment_->drain(drained.g)) {
            segment_->wake_starving();
            segment_->wake_network_of(drained.g, kUp);
            segment_->wake_network_of(drained.g, kDown);
        }
        moved = true;
        if (drained.last) {
            std::lock_guard<std::mutex> lock(queue_mutex_);
            queue_.pop_front();
            window_.erase(window_.begin());
            ++completed_;
            if (started_ < completed_) started_ = completed_.load();
            ended_.notify_all();
        }
    }
    return moved;
}

// Adds beside the driver; shared memory says what there is to do.
void Engine::adder(int thread) {
    std::uint64_t trees[kTrees] = {};
    while (!stopping_ && !aborted()) {
        std::uint64_t chunks = 1;
        for (std::uint64_t index = 0; index < chunks; ++index) {
            const std::uint64_t g = trees[index % kTrees]++ * kTrees + index % kTrees;
            for (;;) {
                const std::uint32_t seen = segment_->epoch();
                if (segment_->filled(g)) break;
                if (stopping_ || aborted()) return;
                segment_->wait(seen, kSleepMs);
            }
            try {
                agree(g);
            } catch (const Error&) {
                return;  // the driver says so
            }
            const Wanted& wanted = segment_->wanted(g, segment_->local_rank());
            chunks = chunks_of(wanted.signature);
            add_share(wanted, g, thread);
            count(g);
        }
    }
}

void Engine::check() const {
    if (aborted()) throw Error(abort_text());
}

void Engine::abort(const std::string& text) {
    {
        std::lock_guard<std::mutex> lock(abort_mutex_);
        if (!aborted_) abort_text_ = segment_->aborted() ? segment_->abort_text() : text;
        aborted_ = true;
    }
    segment_->abort(text);
    asked_.notify_all();
    ended_.notify_all();
}

bool Engine::aborted() const { return aborted_ || segment_->aborted(); }

std::string Engine::abort_text() const {
    if (segment_->aborted()) return segment_->abort_text();
    std::lock_guard<std::mutex> lock(abort_mutex_);
    return abort_text_;
}

void Engine::set_laggard(int rank, std::uint64_t entered) {
    laggard_rank_ = rank;
    laggard_entered_ = entered;
}

void Engine::late(std::uint64_t number, double timeout_s) {
    std::ostringstream limit;
    limit << timeout_s;
    std::string text =
        "operation " + std::to_string(number) + " did not end within the timeout of " + limit.str() +
        " s: ";
    const int n = segment_->shape().local_size;
    int least = 0;
    for (int each = 1; each < n; ++each)
        if (segment_->entered(each) < segment_->entered(least)) least = each;
    int rank = options_.first_rank + least;
    std::uint64_t entered = segment_->entered(least);
    if (laggard_rank_ >= 0 && laggard_entered_ < entered) {
        rank = static_cast<int>(laggard_rank_);
        entered = laggard_entered_;
    }
    text += entered <= number ? "rank " + std::to_string(rank) + " has not entered it, it is at " +
                                    std::to_string(entered)
                              : "every rank has entered it";
    abort(text);
    throw Error(text);
}

void Engine::drain() {
    if (sequence_) wait(sequence_ - 1);
}

void Engine::stop() {
    {
        std::lock_guard<std::mutex> lock(queue_mutex_);
        stopping_ = true;
    }
    asked_.notify_all();
    segment_->wake();
    if (background_.joinable()) background_.join();
    for (auto& adder : adders_)
        if (adder.joinable()) adder.join();
}

}  // namespace hfreduce
