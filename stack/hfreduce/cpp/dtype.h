// Element types and operations, as they go over the wire and into shared memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hfreduce {

// Values are part of the wire format: append, never renumber.
enum class Dtype : std::uint8_t { f32, f64, f16, bf16, f8e4m3, f8e5m2, i32, i64, u8 };
inline constexpr int kDtypes = 9;

// The average is a sum whose every node's share is scaled by one over the number of ranks.
enum class Op : std::uint8_t { sum, min, max };
inline constexpr int kOps = 3;

constexpr std::size_t size_of(Dtype type) {
    switch (type) {
        case Dtype::f64:
        case Dtype::i64:
            return 8;
        case Dtype::f32:
        case Dtype::i32:
            return 4;
        case Dtype::f16:
        case Dtype::bf16:
            return 2;
        case Dtype::f8e4m3:
        case Dtype::f8e5m2:
        case Dtype::u8:
            return 1;
    }
    return 0;
}

}  // namespace hfreduce
