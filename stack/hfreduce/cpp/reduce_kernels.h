// What the instruction sets' files share: one pass over all the inputs.
//
// The walk is in an unnamed namespace, since each file that includes it is compiled with flags of
// its own: the linker must never take one file's copy for another's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dtype.h"

namespace hfreduce {

using Kernel = void (*)(const void* const* inputs, int n, void* out, std::size_t count,
                        double scale);

struct Kernels {
    Kernel at[kDtypes][kOps];  // in the order of Dtype and Op
};

// Null where the compiler had no such instruction set to build for.
const Kernels* kernels_avx512();
const Kernels* kernels_avx2();
const Kernels* kernels_portable();

namespace {

// What is combined in one step: N registers. The order of the elements in them is the type's own.
template <class Lane, int N>
struct Group {
    typename Lane::V v[N];
};

template <Op op, class Lane>
inline typename Lane::V combine(typename Lane::V a, typename Lane::V b) {
    if constexpr (op == Op::sum) {
        return Lane::add(a, b);
    } else if constexpr (op == Op::min) {
        return Lane::min(a, b);
    } else {
        return Lane::max(a, b);
    }
}

// So far ahead do the types that take longer to convert than to read have their inputs fetched: the
// processor, with fewer loads under way, does not get that far by itself. The others only lose.
inline constexpr std::size_t kAhead = 1024;

// A type has Element, Lane, N (registers in a group), lanes (elements in a group), load and store,
// and ahead, the bytes to fetch ahead, or 0.
template <class Type, Op op, class Source>
inline void step(const Source& source, int n, char* out, double scale) {
    auto total = Type::load(source(0));
    for (int k = 1; k < n; k++) {
        const auto next = Type::load(source(k));
        for (int i = 0; i < Type::N; i++) {
            total.v[i] = combine<op, typename Type::Lane>(total.v[i], next.v[i]);
        }
    }
    Type::store(out, total, scale);
}

template <class Type, Op op>
void kernel(const void* const* inputs, int n, void* out, std::size_t count, double scale) {
    constexpr std::size_t group = Type::lanes * sizeof(typename Type::Element);
    const std::size_t bytes = count * sizeof(typename Type::Element);
    const auto to = static_cast<char*>(out);
    std::size_t at = 0;
    for (; bytes - at >= group; at += group) {
        const auto source = [&](int k) {
            const char* const from = static_cast<const char*>(inputs[k]) + at;
            for (std::size_t line = 0; Type::ahead && line < group; line += 64) {
                __builtin_prefetch(from + Type::ahead + line);
            }
            return from;
        };
        step<Type, op>(source, n, to + at, scale);
    }
    if (const std::size_t rest = bytes - at) {
        alignas(64) char padded[group] = {};
        const auto source = [&](int k) {
            __builtin_memcpy(padded, static_cast<const char*>(inputs[k]) + at, rest);
            return static_cast<const char*>(padded);
        };
        alignas(64) char result[group];
        step<Type, op>(source, n, result, scale);
        __builtin_memcpy(to + at, result, rest);
    }
}

// The types are in the order of Dtype.
template <class... Types>
constexpr Kernels table() {
    static_assert(sizeof...(Types) == kDtypes);
    return {{{kernel<Types, Op::sum>, kernel<Types, Op::min>, kernel<Types, Op::max>}...}};
}

// fp16's exponents, as fp32's bits.
struct HalfExponents {
    static constexpr int least = 113 << 23;
    static constexpr int most = 142 << 23;
};

// Added to the bits of two to some power, makes fp32's number whose last bit is the last that the
// power would have in a mantissa that short. It is halfway to the next power, which leaves room to
// add a number of either sign.
constexpr int rounding_offset(int mantissa) { return ((23 - mantissa) << 23) | (1 << 22); }

// Which NaN an addition gives depends on the order that the compiler put its operands in, so every
// NaN is written as this one.
inline constexpr std::uint32_t kNan32 = 0x7fc00000;
inline constexpr std::uint64_t kNan64 = 0x7ff8000000000000;

// e4m3's code for what is too large: NaN, as in torch before 2.12. From there on torch has the
// largest number, 0x7e, which would hide that a sum of gradients overflowed.
inline constexpr int kE4m3Over = 0x7f;

}  // namespace
}  // namespace hfreduce
