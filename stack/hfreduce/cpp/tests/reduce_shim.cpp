// reduce.h for ctypes.
#include <string>

#include "../reduce.h"

extern "C" {

void shim_reduce(int type, int op, const void* const* inputs, int n, void* out, std::size_t count,
                 double scale) {
    hfreduce::reduce(static_cast<hfreduce::Dtype>(type), static_cast<hfreduce::Op>(op), inputs, n,
                     out, count, scale);
}

int shim_use(const char* name) { return hfreduce::use_instruction_set(name); }

const char* shim_instruction_set() {
    static std::string name;
    name = hfreduce::instruction_set();
    return name.c_str();
}

}  // extern "C"
