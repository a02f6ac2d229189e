#include "add_kernels.h"

namespace hfreduce {

// One loop, whose elements are SIZE bytes long: LOAD brings one from [%rd] to %f, STORE back.
#define HFREDUCE_ADD(NAME, SHIFT, LOAD, STORE)                                                    \
    ".visible .entry " NAME                                                                       \
    "(.param .u64 to, .param .u64 from, .param .u64 count, .param .f32 scale)\n"                  \
    "{\n"                                                                                         \
    ".reg .pred %p; .reg .b16 %h; .reg .b32 %b; .reg .u32 %r<4>; .reg .u64 %d<8>;\n"              \
    ".reg .f32 %f<4>;\n"                                                                          \
    "ld.param.u64 %d0, [to]; cvta.to.global.u64 %d0, %d0;\n"                                      \
    "ld.param.u64 %d1, [from]; cvta.to.global.u64 %d1, %d1;\n"                                    \
    "ld.param.u64 %d2, [count]; ld.param.f32 %f2, [scale];\n"                                     \
    "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %nctaid.x;\n" \
    "mul.wide.u32 %d3, %r0, %r1; cvt.u64.u32 %d4, %r2; add.u64 %d3, %d3, %d4;\n"                  \
    "mul.wide.u32 %d4, %r3, %r1;\n"                                                               \
    "next: setp.ge.u64 %p, %d3, %d2; @%p bra done;\n"                                             \
    "shl.b64 %d5, %d3, " SHIFT "; add.u64 %d6, %d0, %d5; add.u64 %d7, %d1, %d5;\n"                \
    LOAD("%d6", "%f0") LOAD("%d7", "%f1")                                                         \
    "add.rn.f32 %f0, %f0, %f1; mul.rn.f32 %f0, %f0, %f2;\n"                                       \
    STORE                                                                                         \
    "add.u64 %d3, %d3, %d4; bra next;\n"                                                          \
    "done: ret;\n"                                                                                \
    "}\n"

#define HFREDUCE_LOAD_F32(FROM, TO) "ld.global.f32 " TO ", [" FROM "];\n"
#define HFREDUCE_LOAD_F16(FROM, TO) "ld.global.b16 %h, [" FROM "]; cvt.f32.f16 " TO ", %h;\n"
#define HFREDUCE_LOAD_BF16(FROM, TO)                                                              \
    "ld.global.b16 %h, [" FROM "]; cvt.u32.u16 %b, %h; shl.b32 %b, %b, 16; mov.b32 " TO ", %b;\n"

const char* const kAddKernels =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    HFREDUCE_ADD("hfreduce_add_f32", "2", HFREDUCE_LOAD_F32, "st.global.f32 [%d6], %f0;\n")
    HFREDUCE_ADD("hfreduce_add_f16", "1", HFREDUCE_LOAD_F16,
                 "cvt.rn.f16.f32 %h, %f0; st.global.b16 [%d6], %h;\n")
    HFREDUCE_ADD("hfreduce_add_bf16", "1", HFREDUCE_LOAD_BF16,
                 "cvt.rn.bf16.f32 %h, %f0; st.global.b16 [%d6], %h;\n");

}  // namespace hfreduce
