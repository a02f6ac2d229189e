// The part of the CUDA driver's interface that hfreduce and its tests call, on processors.
//
// FAKE_CUDA_DEVICES: how many there are; FAKE_CUDA_COPY_US: what a copy takes at least, and
// FAKE_CUDA_QUERY_US a question about a pointer;
// FAKE_CUDA_PEERS=0: GPUs cannot access each other's memory;
// FAKE_CUDA_TRACE: see fake_memory.h; FAKE_CUDA_FAIL, "rank:call:n:code": the n-th of these calls
// of a rank fails; as call `step`, the n-th that a stream does, which the context never forgets.

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "fake_context.h"
#include "fake_memory.h"

namespace fake {

namespace {

thread_local std::vector<Context*> current;
bool initialised = false;

}  // namespace

Context* context() { return current.empty() ? nullptr : current.back(); }
void push(Context* context) { current.push_back(context); }
Context* pop() {
    Context* last = context();
    if (last) current.pop_back();
    return last;
}

int number(const char* name, int otherwise) {
    const char* said = std::getenv(name);
    return said ? std::atoi(said) : otherwise;
}

int failure(const std::string& call) {
    static std::mutex counting;
    static std::map<std::string, int> calls;
    const char* said = std::getenv("FAKE_CUDA_FAIL");
    if (!said) return 0;
    char name[64];
    int rank, nth, code;
    if (std::sscanf(said, "%d:%63[^:]:%d:%d", &rank, name, &nth, &code) != 4) return 0;
    if (rank != number("RANK", 0) || call != name) return 0;
    const std::lock_guard<std::mutex> lock(counting);
    return ++calls[call] == nth ? code : 0;
}

bool initialise() { return initialised = number("FAKE_CUDA_DEVICES", 2) > 0; }

int begin(const char* call) {
    if (!initialised) return 3;
    if (const int code = failure(call)) return code;
    if (Context* now = context()) return now->broken;
    return 0;
}

}  // namespace fake

namespace {

using fake::Context;
using fake::context;
using fake::copy;
using fake::failure;
using fake::number;

std::mutex guard;
std::map<int, Context*> primaries;
std::map<int, int> retained;

struct Handle {
    char data[64];
};
struct Shared {
    int pid, fd, device;
    std::size_t bytes;
};

const std::map<int, std::array<const char*, 2>> kErrors = {
    {1, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
    {2, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
    {100, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
    {201, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
    {218, {"CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"}},
    {400, {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}},
    {217, {"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported"}},
    {801, {"CUDA_ERROR_NOT_SUPPORTED", "operation not supported"}},
    {900, {"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when capturing"}},
    {700, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
    {999, {"CUDA_ERROR_UNKNOWN", "unknown error"}}};

int explain(int code, int which, const char** text) {
    const auto found = kErrors.find(code);
    *text = found == kErrors.end() ? nullptr : found->second[which];
    return *text ? 0 : 1;
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
    return fake::initialise() ? failure("cuInit") : 100;
}
int cuGetErrorName(int code, const char** text) { return explain(code, 0, text); }
int cuGetErrorString(int code, const char** text) { return explain(code, 1, text); }
int cuDeviceGetCount(int* count) {
    BEGIN;
    *count = number("FAKE_CUDA_DEVICES", 2);
    return 0;
}
int cuDeviceGet(int* device, int ordinal) {
    BEGIN;
    *device = ordinal;
    return ordinal < number("FAKE_CUDA_DEVICES", 2) ? 0 : 101;
}
int cuDeviceCanAccessPeer(int* can, int one, int other) {
    BEGIN;
    *can = one != other && number("FAKE_CUDA_PEERS", 1);
    return 0;
}
int cuDevicePrimaryCtxRetain(void** out, int device) {
    BEGIN;
    const std::lock_guard<std::mutex> lock(guard);
    Context*& primary = primaries[device];
    if (!primary) primary = new Context{device, {}, {}};
    ++retained[device];
    *out = primary;
    return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
    const std::lock_guard<std::mutex> lock(guard);
    return retained[device]-- > 0 ? 0 : 201;
}
int cuCtxPushCurrent_v2(void* pushed) {
    if (!pushed) return 201;
    fake::push(static_cast<Context*>(pushed));
    return 0;
}
int cuCtxPopCurrent_v2(void** popped) {
    *popped = fake::pop();
    return *popped ? 0 : 201;
}
int cuCtxSetCurrent(void* now) {
    fake::pop();
    if (now) fake::push(static_cast<Context*>(now));
    return 0;
}
int cuCtxGetCurrent(void** now) {
    *now = context();
    return 0;
}

int cuMemAlloc_v2(std::uint64_t* out, std::size_t bytes) {
    NEED_CONTEXT;
    NOT_WHILE_CAPTURING;
    if (!bytes) return 1;
    *out = fake::allocate(bytes, context(), context()->device);
    return *out ? 0 : 2;
}
// Memory of a pool, and what maps memory piece by piece, belongs to no context.
int cuMemAllocAsync(std::uint64_t* out, std::size_t bytes, void*) {
    NEED_CONTEXT;
    if (!bytes) return 1;
    *out = fake::allocate(bytes, nullptr, context()->device);
    return *out ? 0 : 2;
}
int cuMemFree_v2(std::uint64_t pointer) {
    NEED_CONTEXT;
    return fake::release(pointer) ? 0 : 1;
}
int cuMemHostRegister_v2(void* base, std::size_t bytes, unsigned) {
    NEED_CONTEXT;
    NOT_WHILE_CAPTURING;
    return fake::register_host(base, bytes);
}
int cuMemHostUnregister(void* base) { return fake::unregister_host(base); }

int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
    NEED_CONTEXT;
    const char* real = fake::find(from, bytes).at;
    return real ? copy(stream, "DtoH", to, real, bytes, fake::registered(to, bytes)) : 1;
}
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
    NEED_CONTEXT;
    char* real = fake::find(to, bytes).at;
    return real ? copy(stream, "HtoD", real, from, bytes, fake::registered(from, bytes)) : 1;
}
int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* stream) {
    NEED_CONTEXT;
    char* real = fake::find(to, bytes).at;
    const char* source = fake::find(from, bytes).at;
    return real && source ? copy(stream, "DtoD", real, source, bytes, true) : 1;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
    NEED_CONTEXT;
    fake::stream_of(nullptr)->finish();
    const char* real = fake::find(from, bytes).at;
    if (real) std::memcpy(to, real, bytes);
    return real ? 0 : 1;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
    NEED_CONTEXT;
    fake::stream_of(nullptr)->finish();
    char* real = fake::find(to, bytes).at;
    if (real) std::memcpy(real, from, bytes);
    return real ? 0 : 1;
}
int cuPointerGetAttribute(void* out, int attribute, std::uint64_t pointer) {
    BEGIN;
    const fake::Place place = fake::find(pointer, 1);
    if (const int least_us = number("FAKE_CUDA_QUERY_US", 0)) usleep(least_us);
    if (!place.at) return 1;
    if (attribute == 1 && !place.context) return 1;
    if (attribute == 1) *static_cast<void**>(out) = place.context;
    else if (attribute == 2) *static_cast<unsigned*>(out) = 2;
    else if (attribute == 7) *static_cast<std::uint64_t*>(out) = place.id;
    else if (attribute == 9) *static_cast<int*>(out) = place.device;
    else return 1;
    return 0;
}
int cuPointerSetAttribute(const void*, int attribute, std::uint64_t pointer) {
    BEGIN;
    return attribute == 6 && fake::find(pointer, 1).context ? 0 : 1;
}

int cuIpcGetMemHandle(Handle* handle, std::uint64_t pointer) {
    BEGIN;
    const fake::Place place = fake::find(pointer, 1);
    if (!place.context) return 1;
    const Shared shared{getpid(), place.fd, place.device, place.size};
    std::memcpy(handle->data, &shared, sizeof shared);
    return 0;
}
int cuIpcOpenMemHandle_v2(std::uint64_t* out, Handle handle, unsigned flags) {
    NEED_CONTEXT;
    Shared shared;
    std::memcpy(&shared, handle.data, sizeof shared);
    if (flags != 1 || shared.pid == getpid()) return 201;
    if (shared.device != context()->device && !number("FAKE_CUDA_PEERS", 1)) return 217;
    *out = fake::open_other(shared.pid, shared.fd, shared.bytes, context(), context()->device);
    return *out ? 0 : 1;
}
int cuIpcCloseMemHandle(std::uint64_t pointer) { return fake::release(pointer) ? 0 : 1; }

// Not the driver's: how often a primary context is held.
int fake_retained(int device) {
    const std::lock_guard<std::mutex> lock(guard);
    return retained[device];
}
// Not the driver's, for fake_gdrapi: what a window shows.
void* fake_real(std::uint64_t pointer) { return fake::find(pointer, 1).at; }

}  // extern "C"
