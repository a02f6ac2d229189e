#include "reduce.h"

#include <atomic>

#include "reduce_kernels.h"

namespace hfreduce {
namespace {

struct InstructionSet {
    std::string_view name;
    const Kernels* kernels;  // null where it was not built, or this processor lacks it
};

bool has_avx512() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
    return false;
#endif
}

bool has_avx2() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
#else
    return false;
#endif
}

const InstructionSet* find(std::string_view name) {
    static const InstructionSet sets[] = {
        {"avx512", has_avx512() ? kernels_avx512() : nullptr},
        {"avx2", has_avx2() ? kernels_avx2() : nullptr},
        {"portable", kernels_portable()},
    };
    for (const InstructionSet& set : sets) {  // the best first
        if (set.kernels && (name.empty() || name == set.name)) {
            return &set;
        }
    }
    return nullptr;
}

std::atomic<const InstructionSet*>& current() {
    static std::atomic<const InstructionSet*> set{find({})};
    return set;
}

}  // namespace

void reduce(Dtype type, Op op, const void* const* inputs, int n, void* out, std::size_t count,
            double scale) {
    const Kernels& kernels = *current().load(std::memory_order_relaxed)->kernels;
    kernels.at[static_cast<int>(type)][static_cast<int>(op)](inputs, n, out, count, scale);
}

std::string_view instruction_set() { return current().load(std::memory_order_relaxed)->name; }

bool use_instruction_set(std::string_view name) {
    const InstructionSet* set = name.empty() ? nullptr : find(name);
    if (set) {
        current().store(set, std::memory_order_relaxed);
    }
    return set != nullptr;
}

}  // namespace hfreduce
