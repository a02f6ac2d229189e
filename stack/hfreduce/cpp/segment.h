// The memory that the ranks of one node share: chunks, and counters that say how far each is.
//
// It is an anonymous file (memfd_create): the kernel takes it back when the last rank ends,
// however that came about. Nothing in it is a lock, so a rank that dies holds none.
//
// Every chunk of every operation has a number g, from 0 for the life of the communicator, and
// lies in slot g % depth. A slot's counters only grow: in its k-th use, all n ranks have done a
// step when its counter stands at (k + 1) * n.
//
// Between nodes a chunk belongs to a lane: a tree, and one of the node's network channels. Lanes
// take the chunks in turn and each has its own slots, so that none waits for another.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "operation.h"

namespace hfreduce {

inline constexpr int kTrees = 2;
inline constexpr std::size_t kHeaderBytes = 128;  // a message's header, just ahead of its chunk
inline constexpr std::size_t kPage = 4096;
inline constexpr int kMaxLocal = 64;
inline constexpr int kMaxChannels = 16;
inline constexpr int kUp = 0;  // a channel's threads
inline constexpr int kDown = 1;

struct Shape {
    int local_size = 1;
    int threads = 1;  // that add, of each rank
    int depth = 8;    // slots; a multiple of lanes(), so that a slot stays with one lane
    std::size_t chunk_bytes = 1 << 20;
    bool networked = false;  // there are other nodes
    int channels = 1;        // to them
    // By local rank: whose GPU its own is bridged with. Empty where pairs do not reduce first.
    std::vector<int> partners;

    int lanes() const { return kTrees * channels; }
    int lane(int tree, int channel) const { return kTrees * channel + tree; }
    int lane(std::uint64_t g) const { return static_cast<int>(g % lanes()); }
    // Which chunk of its lane g is, from 0.
    std::uint64_t turn(std::uint64_t g) const { return g / lanes(); }
    int slots() const { return depth / lanes(); }  // of a lane

    // Whether the pairs reduce what an operation brings before it comes to the host.
    bool pairs(const Signature& signature) const;
    // Bytes of a chunk that a pair's lower rank takes to the host and back; the other the rest.
    static std::size_t lower_half(std::size_t bytes);
};

inline constexpr std::uint32_t kRefused = 2;

// Where a rank tells its partner how far it is.
struct PairBoard {
    std::atomic<std::uint64_t> begun;     // operations
    std::atomic<std::uint64_t> asked;     // chunks that are to be reduced in pairs
    std::atomic<std::uint64_t> given;     // halves of such that the partner has
    std::atomic<std::uint64_t> returned;  // halves of results that the partner has
    std::atomic<std::uint32_t> there;     // the handle is; kRefused: it could not be made
    std::atomic<std::uint32_t> opened;    // the partner's handle is; kRefused: it could not be
    char handle[64];                      // of the GPU memory that the partner writes to
};

// What a rank wants of a chunk.
struct Wanted {
    Signature signature;
    std::uint64_t elements = 0;  // of the chunk
};

class Segment {
  public:
    // `fd` is of a file that create() made for the same shape.
    Segment(int fd, const Shape& shape, int local_rank);
    ~Segment();
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;

    // Make the file. Raises Error where the kernel has no room.
    static int create(const Shape& shape);

    // Bind what the network sends and receives to NUMA domains, one a channel, -1 where none is
    // known, and spread the rest, as in section IV-D1.
    void place(const std::vector<int>& domains);

    void* base() const { return base_; }
    std::size_t bytes() const { return bytes_; }
    const Shape& shape() const { return shape_; }
    int local_rank() const { return local_rank_; }
    int slot(std::uint64_t g) const { return static_cast<int>(g % shape_.depth); }

    std::byte* input(int local_rank, std::uint64_t g) const;
    std::byte* partial(std::uint64_t g) const;  // this node's sum; kHeaderBytes lie ahead of it
    std::byte* result(std::uint64_t g) const;   // everyone's sum; the same, on one node

    // Written before the rank's input is counted as filled.
    Wanted& wanted(std::uint64_t g, int local_rank) const;

    bool filled(std::uint64_t g) const;   // every rank's input is there
    bool added(std::uint64_t g) const;    // this node's sum is there
    bool drained(std::uint64_t g) const;  // every rank has taken the result
    bool ready(std::uint64_t g) const;    // the result is there
    bool free(std::uint64_t g) const;     // chunk g may move into its slot
    // How far the network is with each lane's chunks.
    std::atomic<std::uint64_t>& finished(int lane) const;  // results that are there
    std::atomic<std::uint64_t>& sent_up(int lane) const;   // partial sums no longer needed

    // Count one rank's, or one thread's, step; true if it was the last.
    bool fill(std::uint64_t g);
    bool add(std::uint64_t g);
    bool drain(std::uint64_t g);

    PairBoard& board(int local_rank) const;

    // Operations that a rank has entered, for who asks whom everyone waits for.
    std::atomic<std::uint64_t>& entered(int local_rank) const;

    // Sleep until something changed since epoch() gave `seen`, or the time has passed.
    std::uint32_t epoch() const;
    void wait(std::uint32_t seen, int milliseconds) const;
    void wake() const;
    // Ranks that sleep for want of a slot: who frees one wakes them, and otherwise no one.
    std::atomic<std::uint32_t>& starving() const;
    void wake_starving() const;

    // Wake a thread that sleeps on the network: kUp or kDown of a channel. There is an event for
    // each: channel 0's two, channel 1's, and so on; they are the segment's to close.
    void set_network_events(const std::vector<int>& events);
    void wake_network(int channel, int thread) const;
    std::atomic<std::uint32_t>& network_sleeps(int channel, int thread) const;
    // The same for the channel that chunk g takes.
    void wake_network_of(std::uint64_t g, int thread) const {
        wake_network(shape_.lane(g) / kTrees, thread);
    }

    // End everything: the first text is kept, and every wait on this node sees it.
    void abort(const std::string& text) const;
    bool aborted() const;
    std::string abort_text() const;

  private:
    struct Header;
    struct Slot;
    Shape shape_;
    int local_rank_;
    std::byte* base_ = nullptr;
    std::size_t bytes_ = 0;
    Header* header_ = nullptr;
    Slot* slots_ = nullptr;
    Wanted* wanted_ = nullptr;
    std::byte* inputs_ = nullptr;
    std::byte* partials_ = nullptr;
    std::byte* results_ = nullptr;
    std::vector<int> events_;

    std::size_t stride() const;
    bool counted(const std::atomic<std::uint64_t>& counter, std::uint64_t g, int of_each) const;
};

}  // namespace hfreduce
