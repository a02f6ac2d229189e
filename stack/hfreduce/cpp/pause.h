// A rest between two looks at memory that another processor writes.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hfreduce {

inline void pause_processor() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace hfreduce
