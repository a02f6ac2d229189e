// GDRCopy's calls over the pretended GPU's memory; HFREDUCE_LIBCUDA names the pretended driver.

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "fake_memory.h"

namespace {

using Real = void* (*)(std::uint64_t);
struct Session {
    Real real;
};
struct Handle {
    unsigned long pinned;
};

}  // namespace

extern "C" {

Session* gdr_open() {
    void* driver = dlopen(std::getenv("HFREDUCE_LIBCUDA"), RTLD_NOW);
    return driver ? new Session{reinterpret_cast<Real>(dlsym(driver, "fake_real"))} : nullptr;
}
int gdr_pin_buffer(Session* session, unsigned long address, std::size_t size, std::uint64_t,
                   std::uint32_t, Handle* handle) {
    if (address % 65536 || size % 65536 || !session->real(address)) return 22;
    handle->pinned = address;
    return 0;
}
int gdr_unpin_buffer(Session*, Handle) { return 0; }
int gdr_map(Session* session, Handle handle, void** view, std::size_t) {
    *view = session->real(handle.pinned);
    return *view ? 0 : 12;
}
int gdr_unmap(Session*, Handle, void*, std::size_t) { return 0; }
int gdr_copy_to_mapping(Handle, void* to, const void* from, std::size_t size) {
    std::memcpy(to, from, size);
    fake::trace("\"step\": \"write window\", \"bytes\": " + std::to_string(size));
    return 0;
}
int gdr_copy_from_mapping(Handle, void* to, const void* from, std::size_t size) {
    std::memcpy(to, from, size);
    fake::trace("\"step\": \"read window\", \"bytes\": " + std::to_string(size));
    return 0;
}

}  // extern "C"
