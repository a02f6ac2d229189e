// Bytes read and written each second by one core, beside memcpy's over the same memory.
//   bench_reduce [KiB of each array] [number of inputs]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../reduce.h"

namespace {

using namespace hfreduce;

// In GB/s, the best of several tries: other programs can only make it slower.
template <class Work>
double speed(double bytes, const Work& work) {
    using Clock = std::chrono::steady_clock;
    work();
    const int repeats = 1 + static_cast<int>(2e8 / bytes);
    double best = 0;
    for (int attempt = 0; attempt < 7; attempt++) {
        const auto start = Clock::now();
        for (int i = 0; i < repeats; i++) {
            work();
        }
        const std::chrono::duration<double> taken = Clock::now() - start;
        const double now = bytes * repeats / taken.count() / 1e9;
        best = now > best ? now : best;
    }
    return best;
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t size = (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 128) << 10;
    const int n = argc > 2 ? std::atoi(argv[2]) : 8;
    if (n < 1 || size == 0) {
        return 1;
    }
    const std::size_t all = (n + 1) * size;
    // One in fp16 and bf16, or near it, is 0x3c3c, and in fp8 0x3c: no NaN, nothing subnormal.
    std::vector<char> memory(all + 64, 0x3c);
    char* const base = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64);
    std::vector<const void*> inputs;
    for (int k = 0; k < n; k++) {
        inputs.push_back(base + k * size);
    }
    std::printf("%d inputs of %zu KiB, GB/s: memcpy %.1f\n", n, size >> 10,
                speed(static_cast<double>(all), [&] {
                    std::memcpy(base + all / 2, base, all / 2);
                    asm volatile("" ::: "memory");
                }));
    const struct {
        const char* name;
        Dtype type;
    } types[] = {{"fp32", Dtype::f32},     {"fp64", Dtype::f64},    {"fp16", Dtype::f16},
                 {"bf16", Dtype::bf16},    {"e4m3", Dtype::f8e4m3}, {"e5m2", Dtype::f8e5m2},
                 {"int32", Dtype::i32},    {"int64", Dtype::i64},   {"uint8", Dtype::u8}};
    for (const char* set : {"avx512", "avx2", "portable"}) {
        if (!use_instruction_set(set)) {
            continue;
        }
        for (const auto& each : types) {
            std::printf("%-8s  %-5s", set, each.name);
            for (const Op op : {Op::sum, Op::max}) {
                const double found = speed(static_cast<double>(all), [&] {
                    reduce(each.type, op, inputs.data(), n, base + n * size,
                           size / size_of(each.type));
                });
                std::printf("  %s %5.1f", op == Op::sum ? "sum" : "max", found);
            }
            std::printf("\n");
        }
    }
}
