// For the sanitizers: arrays that end where their memory does, on every instruction set this
// processor has, whose results must be the portable ones bit for bit.
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "../reduce.h"

using namespace hfreduce;

namespace {

// Starts one element after what malloc aligns, and ends with the memory.
struct Array {
    Array(std::size_t element, std::size_t count)
        : memory(new unsigned char[element * (count + 1)]),
          data(memory.get() + element),
          bytes(element * count) {}
    std::unique_ptr<unsigned char[]> memory;
    unsigned char* data;
    std::size_t bytes;
};

bool same(Dtype type, Op op, int n, std::size_t count, const char* set, std::mt19937& random) {
    std::vector<Array> arrays;
    std::vector<const void*> inputs;
    for (int k = 0; k < n; k++) {
        arrays.emplace_back(size_of(type), count);
        for (std::size_t i = 0; i < arrays[k].bytes; i++) {
            arrays[k].data[i] = static_cast<unsigned char>(random());
        }
        inputs.push_back(arrays[k].data);
    }
    Array expected(size_of(type), count);
    const double scale = type < Dtype::i32 && n > 1 ? 1.0 / n : 1.0;
    use_instruction_set("portable");
    reduce(type, op, inputs.data(), n, expected.data, count, scale);
    use_instruction_set(set);
    Array& out = arrays[n / 2];
    reduce(type, op, inputs.data(), n, out.data, count, scale);
    return out.bytes == 0 || std::memcmp(out.data, expected.data, out.bytes) == 0;
}

}  // namespace

int main() {
    std::mt19937 random(1);
    for (const char* set : {"avx512", "avx2", "portable"}) {
        if (!use_instruction_set(set)) {
            continue;
        }
        for (int type = 0; type < kDtypes; type++) {
            for (int op = 0; op < kOps; op++) {
                for (const int n : {1, 2, 3, 8, 17}) {
                    for (const std::size_t count : {0, 1, 15, 31, 64, 255, 256, 257, 777}) {
                        if (!same(Dtype(type), Op(op), n, count, set, random)) {
                            std::printf("%s: type %d, op %d, %d inputs of %zu\n", set, type, op, n,
                                        count);
                            return 1;
                        }
                    }
                }
            }
        }
        std::printf("%s\n", set);
    }
}
