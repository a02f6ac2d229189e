// Kernels that add two arrays on a GPU, as text that the driver compiles for the GPU it finds.
#pragma once

namespace hfreduce {

// One for float32, float16, bfloat16: (to, from, count, scale), to = (to + from) * scale in
// float32, rounded once to nearest even. For compute capability 8.0 and later.
inline constexpr const char* kAddNames[] = {"hfreduce_add_f32", "hfreduce_add_f16",
                                            "hfreduce_add_bf16"};
extern const char* const kAddKernels;

}  // namespace hfreduce
