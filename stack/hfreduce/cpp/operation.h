// What the ranks were asked to do, and its parts that travel.
#pragma once

#include <cstdint>
#include <string>

#include "dtype.h"

namespace hfreduce {

enum class Kind : std::uint8_t { allreduce, reduce, broadcast, barrier };

// What every rank must ask for alike. It lies in shared memory and goes ahead of each message.
struct Signature {
    std::uint64_t sequence = 0;  // operations of the communicator before this one
    std::uint64_t count = 0;     // elements
    std::uint64_t name = 0;      // hash of the caller's name for it, 0 for none
    std::uint32_t root = 0;      // rank, of reduce and broadcast
    Kind kind = Kind::barrier;
    Dtype dtype = Dtype::u8;
    Op op = Op::sum;
    std::uint8_t average = 0;
    std::uint8_t gpu = 0;        // the tensors lie in a GPU's memory

    bool operator==(const Signature& other) const {
        return sequence == other.sequence && count == other.count && name == other.name &&
               root == other.root && kind == other.kind && dtype == other.dtype &&
               op == other.op && average == other.average && gpu == other.gpu;
    }
    bool operator!=(const Signature& other) const { return !(*this == other); }
    bool to_one() const { return kind == Kind::reduce; }
    bool from_one() const { return kind == Kind::broadcast; }
};

// "allreduce(sum, float32, 1000 elements)".
std::string describe(const Signature& signature);

// "rank 5 called A as operation 17, rank 0 called B".
std::string disagreement(int rank, const Signature& theirs, int reference, const Signature& ours);

}  // namespace hfreduce
