// AVX-512, as far as F, BW, VL and DQ go. Compiled with flags of its own: call nothing inline from
// outside.
#include "reduce_kernels.h"

#if defined(__x86_64__) && defined(__AVX512F__) && defined(__AVX512BW__) && \
    defined(__AVX512VL__) && defined(__AVX512DQ__)
// GCC 12 takes the intrinsics' own undefined values for mistakes here.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

namespace hfreduce {
namespace {

inline __m512i load512(const char* from) { return _mm512_loadu_si512(from); }

struct Float32 {
    using V = __m512;
    static V add(V a, V b) { return _mm512_add_ps(a, b); }
    static V min(V a, V b) {
        return _mm512_mask_min_ps(b, _mm512_cmp_ps_mask(b, b, _CMP_ORD_Q), b, a);
    }
    static V max(V a, V b) {
        return _mm512_mask_max_ps(b, _mm512_cmp_ps_mask(b, b, _CMP_ORD_Q), b, a);
    }
    static V scaled(V value, double scale) {
        value = _mm512_mul_ps(value, _mm512_set1_ps(static_cast<float>(scale)));
        const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(kNan32));
        return _mm512_mask_mov_ps(nan, _mm512_cmp_ps_mask(value, value, _CMP_ORD_Q), value);
    }
};

struct Float64 {
    using V = __m512d;
    static V add(V a, V b) { return _mm512_add_pd(a, b); }
    static V min(V a, V b) {
        return _mm512_mask_min_pd(b, _mm512_cmp_pd_mask(b, b, _CMP_ORD_Q), b, a);
    }
    static V max(V a, V b) {
        return _mm512_mask_max_pd(b, _mm512_cmp_pd_mask(b, b, _CMP_ORD_Q), b, a);
    }
    static V scaled(V value, double scale) {
        value = _mm512_mul_pd(value, _mm512_set1_pd(scale));
        const __m512d nan = _mm512_castsi512_pd(_mm512_set1_epi64(kNan64));
        return _mm512_mask_mov_pd(nan, _mm512_cmp_pd_mask(value, value, _CMP_ORD_Q), value);
    }
};

struct Int32 {
    using V = __m512i;
    static V add(V a, V b) { return _mm512_add_epi32(a, b); }
    static V min(V a, V b) { return _mm512_min_epi32(a, b); }
    static V max(V a, V b) { return _mm512_max_epi32(a, b); }
};

struct Int64 {
    using V = __m512i;
    static V add(V a, V b) { return _mm512_add_epi64(a, b); }
    static V min(V a, V b) { return _mm512_min_epi64(a, b); }
    static V max(V a, V b) { return _mm512_max_epi64(a, b); }
};

struct Uint8 {
    using V = __m512i;
    static V add(V a, V b) { return _mm512_add_epi8(a, b); }
    static V min(V a, V b) { return _mm512_min_epu8(a, b); }
    static V max(V a, V b) { return _mm512_max_epu8(a, b); }
};

struct F32 {
    using Element = float;
    using Lane = Float32;
    static constexpr int N = 4;
    static constexpr int lanes = 64;
    static constexpr std::size_t ahead = 0;
    static Group<Lane, N> load(const char* p) {
        return {{_mm512_loadu_ps(p), _mm512_loadu_ps(p + 64), _mm512_loadu_ps(p + 128),
                 _mm512_loadu_ps(p + 192)}};
    }
    static void store(char* p, Group<Lane, N> group, double scale) {
        for (int i = 0; i < N; i++) {
            _mm512_storeu_ps(p + 64 * i, Lane::scaled(group.v[i], scale));
        }
    }
};

struct F64 {
    using Element = double;
    using Lane = Float64;
    static constexpr int N = 4;
    static constexpr int lanes = 32;
    static constexpr std::size_t ahead = 0;
    static Group<Lane, N> load(const char* p) {
        return {{_mm512_loadu_pd(p), _mm512_loadu_pd(p + 64), _mm512_loadu_pd(p + 128),
                 _mm512_loadu_pd(p + 192)}};
    }
    static void store(char* p, Group<Lane, N> group, double scale) {
        for (int i = 0; i < N; i++) {
            _mm512_storeu_pd(p + 64 * i, Lane::scaled(group.v[i], scale));
        }
    }
};

template <class E, class L>
struct Integers {
    using Element = E;
    using Lane = L;
    static constexpr int N = 4;
    static constexpr int lanes = 256 / sizeof(E);
    static constexpr std::size_t ahead = 0;
    static Group<Lane, N> load(const char* p) {
        return {{load512(p), load512(p + 64), load512(p + 128), load512(p + 192)}};
    }
    static void store(char* p, Group<Lane, N> group, double) {
        for (int i = 0; i < N; i++) {
            _mm512_storeu_si512(p + 64 * i, group.v[i]);
        }
    }
};

struct F16 {
    using Element = std::uint16_t;
    using Lane = Float32;
    static constexpr int N = 4;
    static constexpr int lanes = 64;
    static constexpr std::size_t ahead = kAhead;
    static __m512 widen(const char* p) {
        return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    }
    static Group<Lane, N> load(const char* p) {
        return {{widen(p), widen(p + 32), widen(p + 64), widen(p + 96)}};
    }
    static void store(char* p, Group<Lane, N> group, double scale) {
        for (int i = 0; i < N; i++) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 32 * i),
                                _mm512_cvtps_ph(Lane::scaled(group.v[i], scale),
                                                _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
        }
    }
};

// A register of bf16 is two of fp32: the even elements shifted up, the odd ones where they are.
struct Bf16 {
    using Element = std::uint16_t;
    using Lane = Float32;
    static constexpr int N = 4;
    static constexpr int lanes = 64;
    static constexpr std::size_t ahead = kAhead;
    static __m512 even(__m512i pairs) { return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)); }
    static __m512 odd(__m512i pairs) {
        return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(-65536)));
    }
    static Group<Lane, N> load(const char* p) {
        const __m512i a = load512(p);
        const __m512i b = load512(p + 64);
        return {{even(a), odd(a), even(b), odd(b)}};
    }
    // Rounded in the upper half.
    static __m512i rounded(__m512 value, double scale) {
        const __m512i bits = _mm512_castps_si512(Lane::scaled(value, scale));
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
        return _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    }
    static void store(char* p, Group<Lane, N> group, double scale) {
        for (int i = 0; i < N; i += 2) {
            const __m512i low = _mm512_srli_epi32(rounded(group.v[i], scale), 16);
            const __m512i high = rounded(group.v[i + 1], scale);
            _mm512_storeu_si512(p + 32 * i, _mm512_mask_blend_epi16(0xaaaaaaaa, low, high));
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
    static constexpr int lanes = 64;
    static constexpr std::size_t ahead = kAhead;
    static Group<Lane, N> load(const char* p) {
        const __m512i bytes = load512(p);
        const __m512i even = Codec::half(_mm512_slli_epi16(bytes, 8));
        const __m512i odd = Codec::half(bytes);
        return {{_mm512_cvtph_ps(_mm512_castsi512_si256(even)),
                 _mm512_cvtph_ps(_mm512_extracti64x4_epi64(even, 1)),
                 _mm512_cvtph_ps(_mm512_castsi512_si256(odd)),
                 _mm512_cvtph_ps(_mm512_extracti64x4_epi64(odd, 1))}};
    }
    // Adding a number so large that the last bit it has is the last that fp8 would have rounds.
    static __m256i rounded(__m512 value) {
        const __m512i least = _mm512_set1_epi32(HalfExponents::least);
        const __m512i most = _mm512_set1_epi32(HalfExponents::most);
        __m512i exponent =
            _mm512_and_si512(_mm512_castps_si512(value), _mm512_set1_epi32(0x7f800000));
        exponent = _mm512_min_epi32(_mm512_max_epi32(exponent, least), most);
        const __m512 large = _mm512_castsi512_ps(
            _mm512_add_epi32(exponent, _mm512_set1_epi32(rounding_offset(Codec::mantissa))));
        const __m512i near =
            _mm512_castps_si512(_mm512_sub_ps(_mm512_add_ps(value, large), large));
        // A negative number rounded to zero is a negative zero: near | (value & sign).
        const __m512i exact = _mm512_ternarylogic_epi32(near, _mm512_castps_si512(value),
                                                        _mm512_set1_epi32(INT32_MIN), 0xf8);
        return _mm512_cvtps_ph(_mm512_castsi512_ps(exact),
                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    }
    // In the upper byte of a word.
    static __m512i codes(__m512 a, __m512 b, __m512 scale) {
        const __m512i halves =
            _mm512_inserti64x4(_mm512_castsi256_si512(rounded(_mm512_mul_ps(a, scale))),
                               rounded(_mm512_mul_ps(b, scale)), 1);
        const __m512i magnitude = _mm512_and_si512(halves, _mm512_set1_epi16(0x7fff));
        const __mmask32 nan = _mm512_cmpgt_epi16_mask(magnitude, _mm512_set1_epi16(0x7c00));
        return _mm512_mask_mov_epi16(Codec::code(halves, magnitude), nan,
                                     _mm512_set1_epi16(0x7f00));
    }
    static void store(char* p, Group<Lane, N> group, double factor) {
        const __m512 scale = _mm512_set1_ps(static_cast<float>(factor));
        const __m512i even = codes(group.v[0], group.v[1], scale);
        const __m512i odd = codes(group.v[2], group.v[3], scale);
        _mm512_storeu_si512(p, _mm512_or_si512(_mm512_srli_epi16(even, 8), odd));
    }
};

// half() takes a code in the upper byte of a word, and the lower byte may hold anything; code()
// gives one there, and zero below.
struct E4m3 {
    static constexpr int mantissa = 3;
    // fp16's bias is greater by 8: the value is 256 times too small all the way, which is exact.
    static __m512i half(__m512i word) {
        const __m512i code =
            _mm512_and_si512(_mm512_srai_epi16(word, 1), _mm512_set1_epi16(short(0xbf80)));
        // NaN is all ones, and only then does adding one reach the bit that makes fp16's NaN:
        // code | (carry & that bit).
        const __m512i carry = _mm512_add_epi16(code, _mm512_set1_epi16(0x80));
        return _mm512_ternarylogic_epi32(code, carry, _mm512_set1_epi16(0x4000), 0xf8);
    }
    // code | (half & sign)
    static __m512i code(__m512i half, __m512i magnitude) {
        const __m512i most = _mm512_set1_epi16(kE4m3Over << 7);
        const __m512i code = _mm512_slli_epi16(_mm512_min_epi16(magnitude, most), 1);
        return _mm512_ternarylogic_epi32(code, half, _mm512_set1_epi16(INT16_MIN), 0xf8);
    }
};
struct E5m2 {
    static constexpr int mantissa = 2;
    static __m512i half(__m512i word) {
        return _mm512_and_si512(word, _mm512_set1_epi16(short(0xff00)));
    }
    static __m512i code(__m512i half, __m512i) { return half; }
};

constexpr Kernels kKernels =
    table<F32, F64, F16, Bf16, Float8<E4m3>, Float8<E5m2>, Integers<std::int32_t, Int32>,
          Integers<std::int64_t, Int64>, Integers<std::uint8_t, Uint8>>();

}  // namespace

const Kernels* kernels_avx512() { return &kKernels; }

}  // namespace hfreduce
#else
namespace hfreduce {
const Kernels* kernels_avx512() { return nullptr; }
}  // namespace hfreduce
#endif
