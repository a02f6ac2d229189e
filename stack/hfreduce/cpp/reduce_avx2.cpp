// AVX2 and F16C. Compiled with flags of its own: call nothing inline from outside.
#include "reduce_kernels.h"

#if defined(__x86_64__) && defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>

namespace hfreduce {
namespace {

inline __m256i load256(const char* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline void store256(char* p, __m256i value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), value);
}
inline __m256i ints(int value) { return _mm256_set1_epi32(value); }
inline __m256i words(int value) { return _mm256_set1_epi16(static_cast<short>(value)); }

struct Float32 {
    using V = __m256;
    static V add(V a, V b) { return _mm256_add_ps(a, b); }
    // The instruction gives its second operand if either is NaN: that leaves b's to be put in, and
    // all ones are a NaN.
    static V min(V a, V b) { return or_nan(_mm256_min_ps(b, a), b); }
    static V max(V a, V b) { return or_nan(_mm256_max_ps(b, a), b); }
    static V or_nan(V value, V b) {
        return _mm256_or_ps(value, _mm256_cmp_ps(b, b, _CMP_UNORD_Q));
    }
    static V scaled(V value, double scale) {
        value = _mm256_mul_ps(value, _mm256_set1_ps(static_cast<float>(scale)));
        return _mm256_blendv_ps(value, _mm256_castsi256_ps(ints(kNan32)),
                                _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    }
};

struct Float64 {
    using V = __m256d;
    static V add(V a, V b) { return _mm256_add_pd(a, b); }
    static V min(V a, V b) { return or_nan(_mm256_min_pd(b, a), b); }
    static V max(V a, V b) { return or_nan(_mm256_max_pd(b, a), b); }
    static V or_nan(V value, V b) {
        return _mm256_or_pd(value, _mm256_cmp_pd(b, b, _CMP_UNORD_Q));
    }
    static V scaled(V value, double scale) {
        value = _mm256_mul_pd(value, _mm256_set1_pd(scale));
        return _mm256_blendv_pd(value, _mm256_castsi256_pd(_mm256_set1_epi64x(kNan64)),
                                _mm256_cmp_pd(value, value, _CMP_UNORD_Q));
    }
};

struct Int32 {
    using V = __m256i;
    static V add(V a, V b) { return _mm256_add_epi32(a, b); }
    static V min(V a, V b) { return _mm256_min_epi32(a, b); }
    static V max(V a, V b) { return _mm256_max_epi32(a, b); }
};

struct Int64 {
    using V = __m256i;
    static V add(V a, V b) { return _mm256_add_epi64(a, b); }
    static V min(V a, V b) { return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b)); }
    static V max(V a, V b) { return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(b, a)); }
};

struct Uint8 {
    using V = __m256i;
    static V add(V a, V b) { return _mm256_add_epi8(a, b); }
    static V min(V a, V b) { return _mm256_min_epu8(a, b); }
    static V max(V a, V b) { return _mm256_max_epu8(a, b); }
};

struct F32 {
    using Element = float;
    using Lane = Float32;
    static constexpr int N = 4;
    static constexpr int lanes = 32;
    static constexpr std::size_t ahead = 0;
    static __m256 part(const char* p) { return _mm256_castsi256_ps(load256(p)); }
    static Group<Lane, N> load(const char* p) {
        return {{part(p), part(p + 32), part(p + 64), part(p + 96)}};
    }
    static void store(char* p, Group<Lane, N> group, double scale) {
        for (int i = 0; i < N; i++) {
            store256(p + 32 * i, _mm256_castps_si256(Lane::scaled(group.v[i], scale)));
        }
    }
};

struct F64 {
    using Element = double;
    using Lane = Float64;
    static constexpr int N = 4;
    static constexpr int lanes = 16;
    static constexpr std::size_t ahead = 0;
    static __m256d part(const char* p) { return _mm256_castsi256_pd(load256(p)); }
    static Group<Lane, N> load(const char* p) {
        return {{part(p), part(p + 32), part(p + 64), part(p + 96)}};
    }
    static void store(char* p, Group<Lane, N> group, double scale) {
        for (int i = 0; i < N; i++) {
            store256(p + 32 * i, _mm256_castpd_si256(Lane::scaled(group.v[i], scale)));
        }
    }
};

template <class E, class L>
struct Integers {
    using Element = E;
    using Lane = L;
    static constexpr int N = 4;
    static constexpr int lanes = 128 / sizeof(E);
    static constexpr std::size_t ahead = 0;
    static Group<Lane, N> load(const char* p) {
        return {{load256(p), load256(p + 32), load256(p + 64), load256(p + 96)}};
    }
    static void store(char* p, Group<Lane, N> group, double) {
        for (int i = 0; i < N; i++) {
            store256(p + 32 * i, group.v[i]);
        }
    }
};

struct F16 {
    using Element = std::uint16_t;
    using Lane = Float32;
    static constexpr int N = 4;
    static constexpr int lanes = 32;
    static constexpr std::size_t ahead = kAhead;
    static __m256 widen(const char* p) {
        return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    }
    static Group<Lane, N> load(const char* p) {
        return {{widen(p), widen(p + 16), widen(p + 32), widen(p + 48)}};
    }
    static void store(char* p, Group<Lane, N> group, double scale) {
        for (int i = 0; i < N; i++) {
            _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 16 * i),
                             _mm256_cvtps_ph(Lane::scaled(group.v[i], scale),
                                             _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
        }
    }
};

// A register of bf16 is two of fp32: the even elements shifted up, the odd ones where they are.
struct Bf16 {
    using Element = std::uint16_t;
    using Lane = Float32;
    static constexpr int N = 4;
    static constexpr int lanes = 32;
    static constexpr std::size_t ahead = kAhead;
    static __m256 even(__m256i pairs) { return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)); }
    static __m256 odd(__m256i pairs) {
        return _mm256_castsi256_ps(_mm256_and_si256(pairs, ints(-65536)));
    }
    static Group<Lane, N> load(const char* p) {
        const __m256i a = load256(p);
        const __m256i b = load256(p + 32);
        return {{even(a), odd(a), even(b), odd(b)}};
    }
    // Rounded in the upper half.
    static __m256i rounded(__m256 value, double scale) {
        const __m256i bits = _mm256_castps_si256(Lane::scaled(value, scale));
        const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), ints(1));
        return _mm256_add_epi32(_mm256_add_epi32(bits, ints(0x7fff)), odd);
    }
    static void store(char* p, Group<Lane, N> group, double scale) {
        for (int i = 0; i < N; i += 2) {
            const __m256i low = _mm256_srli_epi32(rounded(group.v[i], scale), 16);
            const __m256i high = rounded(group.v[i + 1], scale);
            store256(p + 16 * i, _mm256_blend_epi16(low, high, 0xaa));
        }
    }
};

// fp8's bytes become fp16 in words, the even bytes and the odd ones, and those become fp32. On the
// way back fp32 is rounded as far as fp8 goes, so that nothing after that rounds again.
template <class Codec>
struct Float8 {
    using Element = std::uint8_t;
    using Lane = Float32;
    static constexpr int N = 4;
    static constexpr int lanes = 32;
    static constexpr std::size_t ahead = kAhead;
    static Group<Lane, N> load(const char* p) {
        const __m256i bytes = load256(p);
        const __m256i even = Codec::half(_mm256_slli_epi16(bytes, 8));
        const __m256i odd = Codec::half(bytes);
        return {{_mm256_cvtph_ps(_mm256_castsi256_si128(even)),
                 _mm256_cvtph_ps(_mm256_extracti128_si256(even, 1)),
                 _mm256_cvtph_ps(_mm256_castsi256_si128(odd)),
                 _mm256_cvtph_ps(_mm256_extracti128_si256(odd, 1))}};
    }
    // Adding a number so large that the last bit it has is the last that fp8 would have rounds.
    static __m128i rounded(__m256 value) {
        __m256i exponent = _mm256_and_si256(_mm256_castps_si256(value), ints(0x7f800000));
        exponent = _mm256_min_epi32(_mm256_max_epi32(exponent, ints(HalfExponents::least)),
                                    ints(HalfExponents::most));
        const __m256 large = _mm256_castsi256_ps(
            _mm256_add_epi32(exponent, ints(rounding_offset(Codec::mantissa))));
        const __m256 near = _mm256_sub_ps(_mm256_add_ps(value, large), large);
        // A negative number rounded to zero is a negative zero.
        const __m256 sign = _mm256_and_ps(value, _mm256_castsi256_ps(ints(INT32_MIN)));
        return _mm256_cvtps_ph(_mm256_or_ps(near, sign),
                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    }
    // In the upper byte of a word.
    static __m256i codes(__m256 a, __m256 b, __m256 scale) {
        const __m256i halves =
            _mm256_inserti128_si256(_mm256_castsi128_si256(rounded(_mm256_mul_ps(a, scale))),
                                    rounded(_mm256_mul_ps(b, scale)), 1);
        const __m256i magnitude = _mm256_and_si256(halves, words(0x7fff));
        const __m256i nan = _mm256_cmpgt_epi16(magnitude, words(0x7c00));
        return _mm256_blendv_epi8(Codec::code(halves, magnitude), words(0x7f00), nan);
    }
    static void store(char* p, Group<Lane, N> group, double factor) {
        const __m256 scale = _mm256_set1_ps(static_cast<float>(factor));
        const __m256i even = codes(group.v[0], group.v[1], scale);
        const __m256i odd = codes(group.v[2], group.v[3], scale);
        store256(p, _mm256_or_si256(_mm256_srli_epi16(even, 8), odd));
    }
};

// half() takes a code in the upper byte of a word, and the lower byte may hold anything; code()
// gives one there, and zero below.
struct E4m3 {
    static constexpr int mantissa = 3;
    // fp16's bias is greater by 8: the value is 256 times too small all the way, which is exact.
    static __m256i half(__m256i word) {
        const __m256i code = _mm256_and_si256(_mm256_srai_epi16(word, 1), words(0xbf80));
        // NaN is all ones, and only then does adding one reach the bit that makes fp16's NaN.
        const __m256i carry = _mm256_add_epi16(code, words(0x80));
        return _mm256_or_si256(code, _mm256_and_si256(carry, words(0x4000)));
    }
    // The sign is put back.
    static __m256i code(__m256i half, __m256i magnitude) {
        const __m256i most = words(kE4m3Over << 7);
        const __m256i code = _mm256_slli_epi16(_mm256_min_epi16(magnitude, most), 1);
        return _mm256_or_si256(code, _mm256_and_si256(half, words(0x8000)));
    }
};
struct E5m2 {
    static constexpr int mantissa = 2;
    static __m256i half(__m256i word) { return _mm256_and_si256(word, words(0xff00)); }
    static __m256i code(__m256i half, __m256i) { return half; }
};

constexpr Kernels kKernels =
    table<F32, F64, F16, Bf16, Float8<E4m3>, Float8<E5m2>, Integers<std::int32_t, Int32>,
          Integers<std::int64_t, Int64>, Integers<std::uint8_t, Uint8>>();

}  // namespace

const Kernels* kernels_avx2() { return &kKernels; }

}  // namespace hfreduce
#else
namespace hfreduce {
const Kernels* kernels_avx2() { return nullptr; }
}  // namespace hfreduce
#endif
