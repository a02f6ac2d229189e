// Plain C++, for any processor, and what the other instruction sets are compared with.
#include <cstring>

#include "reduce_kernels.h"

namespace hfreduce {
namespace {

template <class To, class From>
inline To as(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

template <class T>
struct Float {
    using V = T;
    static V add(V a, V b) { return a + b; }
    static V min(V a, V b) { return b < a || b != b ? b : a; }
    static V max(V a, V b) { return b > a || b != b ? b : a; }
};

template <class T, class Unsigned>
struct Integer {
    using V = T;
    static V add(V a, V b) { return static_cast<V>(Unsigned(a) + Unsigned(b)); }
    static V min(V a, V b) { return b < a ? b : a; }
    static V max(V a, V b) { return b > a ? b : a; }
};

// A type has its array's Element and the Value computed with.
struct F32 {
    using Element = float;
    using Value = float;
    static Value widen(Element code) { return code; }
    static Element narrow(Value value) { return value != value ? as<float>(kNan32) : value; }
};
struct F64 {
    using Element = double;
    using Value = double;
    static Value widen(Element code) { return code; }
    static Element narrow(Value value) { return value != value ? as<double>(kNan64) : value; }
};

struct Bf16 {
    using Element = std::uint16_t;
    using Value = float;
    static Value widen(Element code) { return as<float>(std::uint32_t(code) << 16); }
    static Element narrow(Value value) {
        const auto bits = as<std::uint32_t>(value != value ? as<float>(kNan32) : value);
        return static_cast<Element>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
    }
};

// A float of few bits, whose codes from SPECIAL up are infinity or NaN. What is too large becomes
// OVER. The conversions choose by masks, since a compiler that sees a choice of two additions makes
// a branch of it.
template <class E, int MANTISSA, int BIAS, std::int32_t SPECIAL, std::int32_t OVER,
          std::int32_t NOT_A_NUMBER>
struct Small {
    using Element = E;
    using Value = float;
    static constexpr int bits = 8 * int(sizeof(E));
    static constexpr int shift = 23 - MANTISSA;
    static constexpr std::int32_t sign = 1 << (bits - 1);
    static constexpr std::int32_t least_normal = (128 - BIAS) << 23;
    static constexpr std::int32_t rebias = (127 - BIAS) << 23;
    // The fp32 number whose last bit is worth the least subnormal: adding it rounds to one.
    static constexpr std::int32_t subnormals = (151 - BIAS - MANTISSA) << 23;

    static std::int32_t choose(bool first, std::int32_t a, std::int32_t b) {
        const std::int32_t mask = -std::int32_t(first);
        return (a & mask) | (b & ~mask);
    }
    static Value widen(Element code) {
        const std::int32_t magnitude = code & (sign - 1);
        const std::int32_t moved = magnitude << shift;
        const auto subnormal =
            as<std::int32_t>(as<float>(moved | least_normal) - as<float>(least_normal));
        std::int32_t wide = choose(moved < (1 << 23), subnormal, moved + rebias);
        wide = choose(magnitude >= SPECIAL, moved | 0x7f800000, wide);
        return as<float>(std::uint32_t(wide) | (std::uint32_t(code & sign) << (32 - bits)));
    }
    static Element narrow(Value value) {
        const auto wide = as<std::int32_t>(value);
        const std::int32_t magnitude = wide & 0x7fffffff;
        const std::int32_t odd = (magnitude >> shift) & 1;
        const std::int32_t half = (1 << (shift - 1)) - 1;
        const std::int32_t normal = (magnitude - rebias + half + odd) >> shift;
        const std::int32_t subnormal =
            as<std::int32_t>(as<float>(magnitude) + as<float>(subnormals)) - subnormals;
        std::int32_t code = choose(magnitude < least_normal, subnormal, normal);
        code = choose(code < OVER, code, OVER);
        code |= (wide >> (32 - bits)) & sign;
        return static_cast<Element>(choose(magnitude > 0x7f800000, NOT_A_NUMBER, code));
    }
};
using F16 = Small<std::uint16_t, 10, 15, 0x7c00, 0x7c00, 0x7e00>;
using F8e4m3 = Small<std::uint8_t, 3, 7, 0x7f, kE4m3Over, 0x7f>;
using F8e5m2 = Small<std::uint8_t, 2, 15, 0x7c, 0x7c, 0x7f>;

template <class Format>
struct Floats {
    using Element = typename Format::Element;
    using Value = typename Format::Value;
    using Lane = Float<Value>;
    static constexpr int N = 32;
    static constexpr int lanes = N;
    static constexpr std::size_t ahead = 0;
    static Group<Lane, N> load(const char* from) {
        Element codes[N];
        std::memcpy(codes, from, sizeof codes);
        Group<Lane, N> group;
        for (int i = 0; i < N; i++) {
            group.v[i] = Format::widen(codes[i]);
        }
        return group;
    }
    static void store(char* to, const Group<Lane, N>& group, double scale) {
        Element codes[N];
        for (int i = 0; i < N; i++) {
            codes[i] = Format::narrow(group.v[i] * static_cast<Value>(scale));
        }
        std::memcpy(to, codes, sizeof codes);
    }
};

template <class E, class Unsigned>
struct Integers {
    using Element = E;
    using Lane = Integer<E, Unsigned>;
    static constexpr int N = 64 / sizeof(E);
    static constexpr int lanes = N;
    static constexpr std::size_t ahead = 0;
    static Group<Lane, N> load(const char* from) {
        Group<Lane, N> group;
        std::memcpy(group.v, from, sizeof group.v);
        return group;
    }
    static void store(char* to, const Group<Lane, N>& group, double) {
        std::memcpy(to, group.v, sizeof group.v);
    }
};

constexpr Kernels kKernels =
    table<Floats<F32>, Floats<F64>, Floats<F16>, Floats<Bf16>, Floats<F8e4m3>, Floats<F8e5m2>,
          Integers<std::int32_t, std::uint32_t>, Integers<std::int64_t, std::uint64_t>,
          Integers<std::uint8_t, std::uint8_t>>();

}  // namespace

const Kernels* kernels_portable() { return &kKernels; }

}  // namespace hfreduce
