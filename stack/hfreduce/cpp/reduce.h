// Adds, or takes the least or the greatest of, several arrays in one pass.
#pragma once

#include <string_view>

#include "dtype.h"

namespace hfreduce {

// out[i] = scale * (inputs[0][i] op inputs[1][i] op ...), taken in that order, so that the same
// inputs give the same bits each time, on every instruction set.
//
// fp16, bf16 and both fp8 types are widened to fp32, combined and scaled there and rounded once, to
// nearest even: past the largest, e4m3 becomes NaN and the others infinity. `min` and `max` give
// NaN where an input is NaN, and the first of two zeros. Whatever NaN comes out is always the same
// one, positive and quiet, though an e4m3 overflow keeps its sign. `out` may be one of the inputs;
// otherwise nothing overlaps. Pointers are aligned to the element. Integers wrap, and are not
// scaled. n >= 1; count may be 0.
void reduce(Dtype type, Op op, const void* const* inputs, int n, void* out, std::size_t count,
            double scale = 1.0);

// The instruction set in use: "avx512", "avx2" or "portable".
std::string_view instruction_set();

// Use another one, for tests: false if this processor lacks it.
bool use_instruction_set(std::string_view name);

}  // namespace hfreduce
