// Runs a rank's operations, in the order in which they were asked for, chunk by chunk.
//
// An operation's chunks take the two trees in turn, the first of each tree 0, so that the same
// operation is added up in the same order each time. Chunk g = 2 k + tree is the k-th of a tree.
// A chunk is filled by every rank of the node, added by all of them, a share each, taken through
// the trees by the node's network threads where there are other nodes (see channel.h), and drained
// by every rank.
// Chunks of several operations are under way at once. Whoever waits for an operation drives it; a
// thread of the engine's drives those that no one waits for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "mover.h"
#include "operation.h"
#include "segment.h"

namespace hfreduce {

struct EngineOptions {
    int rank = 0;
    int world_size = 1;
    int first_rank = 0;  // of this node
    double timeout_s = 300;
    int spins = 0;  // looks before a wait sleeps
};

class Engine {
  public:
    Engine(std::shared_ptr<Segment> segment, const EngineOptions& options);
    ~Engine();

    // Ask for an operation; returns its number. `in` and `out` stay the caller's, untouched by
    // others, until it has ended. `mover` copies them; nullptr is the processor.
    std::uint64_t submit(Signature signature, const void* in, void* out,
                         std::shared_ptr<Mover> mover, bool someone_waits);

    // Drive until operation `number` has ended. Raises Error if the job was aborted, or after
    // `timeout_s`, by default the communicator's, which ends the job.
    void wait(std::uint64_t number, double timeout_s = 0) { wait(number, completed_, timeout_s); }
    // The same, until its last copy has been started, where a stream can wait for the rest.
    void wait_started(std::uint64_t number, double timeout_s = 0) {
        wait(number, started_, timeout_s);
    }
    bool done(std::uint64_t number) const { return number < completed_.load(); }

    std::uint64_t submitted() const { return sequence_.load(); }
    // Chunks of all operations that were submitted, of a tree.
    std::uint64_t chunks(int tree) const { return tree_chunks_[tree].load(); }

    // Have every wait, here and on this node, end with the text.
    void abort(const std::string& text);
    bool aborted() const;
    std::string abort_text() const;
    // The rank, and the operation it should have entered, that a wait ran out of time for.
    void set_laggard(int rank, std::uint64_t entered);

    int spins() const { return options_.spins; }

    // Let what was asked for end, then stop the threads. Raises what wait() does.
    void drain();
    void stop();

  private:
    struct Running {
        Signature signature;
        const std::byte* in;
        std::byte* out;
        std::shared_ptr<Mover> mover;
        std::uint64_t first;          // place of its first chunk among all that this rank has
        std::uint64_t chunks;
        std::uint64_t trees[kTrees];  // number of its first chunk in each tree
        std::size_t each;      // elements of a chunk
        bool direct;           // small: every rank adds it all, into its own memory
        std::uint64_t ins = 0, outs = 0;              // copies asked for
        std::uint64_t ins_seen = 0, outs_seen = 0;    // chunks counted as filled, drained
    };
    struct Part {  // one chunk of an operation
        Running* running = nullptr;
        std::uint64_t g = 0;
        std::size_t offset = 0, count = 0;  // elements
        bool last = false;
    };

    std::shared_ptr<Segment> segment_;
    EngineOptions options_;
    std::atomic<std::uint64_t> sequence_{0};
    std::uint64_t chunks_ = 0;
    std::atomic<std::uint64_t> tree_chunks_[kTrees] = {};
    std::atomic<std::uint64_t> completed_{0};
    std::atomic<std::uint64_t> started_{0};  // operations all of whose copies are under way

    mutable std::mutex queue_mutex_;
    std::deque<std::shared_ptr<Running>> queue_;     // asked for, not ended
    std::condition_variable asked_, ended_;
    std::mutex drive_mutex_;                          // one thread drives at a time
    std::vector<std::shared_ptr<Running>> window_;    // the driver's view of the queue
    bool starved_ = false;  // the next chunk finds its slot taken
    // Places of the next chunk to copy in, count as filled, add, copy out, count as drained.
    std::uint64_t filling_ = 0, fills_ = 0, adding_ = 0, draining_ = 0, drains_ = 0;

    bool napped_ = false;  // nothing has moved since
    static constexpr int kLeastShy = 16, kMostShy = 1024;
    int shy_ = 0;              // sleeps before turns are given again
    int shyness_ = kLeastShy;  // such sleeps, once a turn took long

    std::atomic<bool> resting_{false};
    std::atomic<bool> stopping_{false};
    std::atomic<bool> aborted_{false};
    mutable std::mutex abort_mutex_;
    std::string abort_text_;
    std::atomic<std::int64_t> laggard_rank_{-1};
    std::atomic<std::uint64_t> laggard_entered_{0};
    std::thread background_;
    std::vector<std::thread> adders_;

    // The chunk at a place among all; none if it was not asked for yet.
    Part find(std::uint64_t at) const;
    std::uint64_t chunks_of(const Signature& signature) const;
    bool gives(const Signature& signature) const;
    bool takes(const Signature& signature) const;
    bool step();
    bool fill();
    bool add();
    bool empty();
    void add_share(const Wanted& wanted, std::uint64_t g, int thread) const;
    void agree(std::uint64_t g) const;
    void count(std::uint64_t g);
    double scale(const Signature& signature) const;
    void rest(std::uint32_t epoch, std::uint64_t sequence);
    bool advance();
    bool give_way();
    void background();
    void adder(int thread);
    void wait(std::uint64_t number, const std::atomic<std::uint64_t>& passed, double timeout_s);
    void check() const;
    [[noreturn]] void late(std::uint64_t number, double timeout_s);
    bool moving() const;
    std::size_t chunk_elements(const Signature& signature) const;
    bool is_direct(const Signature& signature) const;
};

}  // namespace hfreduce
