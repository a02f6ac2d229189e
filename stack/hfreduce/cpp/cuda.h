// The CUDA driver's calls that are used here. They are looked up in libcuda when the first GPU
// tensor comes: the package is built, and runs, where there is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "error.h"

namespace hfreduce::cuda {

using Result = int;
using Device = int;
using Pointer = unsigned long long;
using Context = struct ContextTag*;
using Stream = struct StreamTag*;  // nullptr is the context's legacy stream
using Event = struct EventTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
struct IpcHandle {
    char data[64];
};

// Numbers of cuda.h; cpp/tests/check_cuda.cpp compares them where there is one.
inline constexpr Result kSuccess = 0;
inline constexpr Result kNotReady = 600;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kHostRegisterPortable = 1;
inline constexpr unsigned kIpcLazyPeerAccess = 1;
inline constexpr int kPointerContext = 1;
inline constexpr int kPointerMemoryType = 2;
inline constexpr int kPointerSyncMemops = 6;
inline constexpr int kPointerBufferId = 7;
inline constexpr int kPointerDeviceOrdinal = 9;
inline constexpr unsigned kMemoryTypeDevice = 2;
inline constexpr int kCaptureNone = 0;     // status of a stream
inline constexpr int kCaptureRelaxed = 2;  // mode of a thread
inline constexpr Result kOperatingSystem = 304;
inline constexpr Result kAlreadyRegistered = 712;
inline constexpr Result kNotPermitted = 800;
inline constexpr Result kNotSupported = 801;
inline constexpr Result kCaptureImplicit = 906;  // asked of the legacy stream while another captures

// A call of the driver failed, or there is no driver.
struct Failure : Error {
    using Error::Error;
};

template <typename... Arguments>
class Call {
  public:
    Call(void* library, const char* symbol)
        : symbol_(symbol),
          address_(reinterpret_cast<Result (*)(Arguments...)>(find(library, symbol))) {}
    // Raises Failure, with the error's name.
    void operator()(Arguments... arguments) const {
        if (const Result result = address_(arguments...)) fail(symbol_, result);
    }
    Result result(Arguments... arguments) const { return address_(arguments...); }
    const char* symbol() const { return symbol_; }

  private:
    const char* symbol_;
    Result (*address_)(Arguments...);

    static void* find(void* library, const char* symbol);
    [[noreturn]] static void fail(const char* symbol, Result result);
};

void* symbol_of(void* library, const char* symbol);
[[noreturn]] void raise(const char* symbol, Result result);

template <typename... Arguments>
void* Call<Arguments...>::find(void* library, const char* symbol) {
    return symbol_of(library, symbol);
}
template <typename... Arguments>
void Call<Arguments...>::fail(const char* symbol, Result result) {
    raise(symbol, result);
}

struct Driver {
    explicit Driver(void* from) : library(from) {}

    void* library;
    Call<unsigned> init{library, "cuInit"};
    Call<Result, const char**> error_name{library, "cuGetErrorName"};
    Call<Result, const char**> error_text{library, "cuGetErrorString"};
    Call<Context*, Device> retain_primary{library, "cuDevicePrimaryCtxRetain"};
    Call<Device> release_primary{library, "cuDevicePrimaryCtxRelease_v2"};
    Call<int*> capture_mode{library, "cuThreadExchangeStreamCaptureMode"};
    Call<Stream, int*> is_capturing{library, "cuStreamIsCapturing"};
    Call<Context> push{library, "cuCtxPushCurrent_v2"};
    Call<Context*> pop{library, "cuCtxPopCurrent_v2"};
    Call<Stream*, unsigned> create_stream{library, "cuStreamCreate"};
    Call<Stream> destroy_stream{library, "cuStreamDestroy_v2"};
    Call<Stream> query_stream{library, "cuStreamQuery"};
    Call<Stream, Event, unsigned> wait_event{library, "cuStreamWaitEvent"};
    Call<Event*, unsigned> create_event{library, "cuEventCreate"};
    Call<Event> destroy_event{library, "cuEventDestroy_v2"};
    Call<Event, Stream> record{library, "cuEventRecord"};
    Call<Event> query_event{library, "cuEventQuery"};
    Call<void*, std::size_t, unsigned> register_host{library, "cuMemHostRegister_v2"};
    Call<void*> unregister_host{library, "cuMemHostUnregister"};
    Call<Pointer*, std::size_t> allocate{library, "cuMemAlloc_v2"};
    Call<Pointer> release{library, "cuMemFree_v2"};
    Call<void*, Pointer, std::size_t, Stream> to_host{library, "cuMemcpyDtoHAsync_v2"};
    Call<Pointer, const void*, std::size_t, Stream> to_device{library, "cuMemcpyHtoDAsync_v2"};
    Call<Pointer, Pointer, std::size_t, Stream> to_peer{library, "cuMemcpyDtoDAsync_v2"};
    Call<void*, int, Pointer> pointer_attribute{library, "cuPointerGetAttribute"};
    Call<const void*, int, Pointer> set_pointer_attribute{library, "cuPointerSetAttribute"};
    Call<IpcHandle*, Pointer> ipc_handle{library, "cuIpcGetMemHandle"};
    Call<Pointer*, IpcHandle, unsigned> open_ipc{library, "cuIpcOpenMemHandle_v2"};
    Call<Pointer> close_ipc{library, "cuIpcCloseMemHandle"};
    Call<Module*, const void*> load_module{library, "cuModuleLoadData"};
    Call<Module> unload_module{library, "cuModuleUnload"};
    Call<Function*, Module, const char*> find_function{library, "cuModuleGetFunction"};
    Call<Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,
         void**, void**>
        launch{library, "cuLaunchKernel"};
};

// The driver, loaded and initialised once. Raises Failure where there is none; HFREDUCE_LIBCUDA
// names another library than libcuda.so.1.
const Driver& driver();

// Make a context the thread's for a while. What is called meanwhile belongs to no graph, so that
// it may be called, and spoils nothing, while another thread or stream captures one.
class Within {
  public:
    explicit Within(Context context) {
        driver().push(context);
        driver().capture_mode.result(&mode_);
    }
    ~Within() {
        driver().capture_mode.result(&mode_);
        Context ours;
        driver().pop.result(&ours);
    }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

  private:
    int mode_ = kCaptureRelaxed;  // the thread's own, meanwhile
};

}  // namespace hfreduce::cuda
