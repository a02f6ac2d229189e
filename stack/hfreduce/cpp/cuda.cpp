#include "cuda.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

namespace hfreduce::cuda {

namespace {

std::atomic<const Driver*> loaded{nullptr};

const char* library_name() {
    const char* named = std::getenv("HFREDUCE_LIBCUDA");
    return named && *named ? named : "libcuda.so.1";
}

const Driver* load() {
    void* library = dlopen(library_name(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
        throw Failure(std::string("a GPU's tensor needs the CUDA driver, and it cannot be loaded: ") +
                      dlerror());
    const auto* found = new Driver(library);  // for the life of the process
    loaded = found;
    found->init(0);
    return found;
}

}  // namespace

const Driver& driver() {
    static const Driver* const found = load();
    return *found;
}

void* symbol_of(void* library, const char* symbol) {
    void* found = dlsym(library, symbol);
    if (!found)
        throw Failure(std::string(library_name()) + " has no " + symbol +
                      "; a driver of CUDA 11 or later is needed");
    return found;
}

void raise(const char* symbol, Result result) {
    const char* name = nullptr;
    const char* text = nullptr;
    if (const Driver* found = loaded) {
        found->error_name.result(result, &name);
        found->error_text.result(result, &text);
    }
    std::string call = symbol;
    if (call.size() > 3 && !call.compare(call.size() - 3, 3, "_v2")) call.resize(call.size() - 3);
    std::string said = name ? name : "error " + std::to_string(result);
    if (text) said += std::string(", ") + text;
    throw Failure(call + ": " + said);
}

}  // namespace hfreduce::cuda
