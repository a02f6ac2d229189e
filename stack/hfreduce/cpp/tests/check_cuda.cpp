// Compares what cuda.h declares here with NVIDIA's, where that is found, and prints the kernels.
// The argument names a library that has all of the symbols.

#include "../cuda.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <type_traits>

#include "../add_kernels.h"

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace {

using hfreduce::cuda::Call;
using hfreduce::cuda::Driver;
namespace own = hfreduce::cuda;

template <typename Theirs, typename Ours>
constexpr bool alike() {
    using A = std::remove_cv_t<Theirs>;
    using B = std::remove_cv_t<Ours>;
    constexpr bool numbers = (std::is_integral_v<A> || std::is_enum_v<A>) && std::is_integral_v<B>;
    return sizeof(A) == sizeof(B) && (numbers || (std::is_pointer_v<A> && std::is_pointer_v<B>) ||
                                      (std::is_same_v<A, float> && std::is_same_v<B, float>) ||
                                      (std::is_class_v<A> && std::is_class_v<B>));
}

template <typename... Theirs, typename... Ours>
constexpr bool calls(CUresult (*)(Theirs...), Call<Ours...> Driver::*) {
    if constexpr (sizeof...(Theirs) != sizeof...(Ours))
        return false;
    else
        return (alike<Theirs, Ours>() && ...);
}

int wrong = 0;

#define NAME(function) #function
#define CHECK(member, function)                                                         \
    static_assert(calls(static_cast<decltype(&function)>(nullptr), &Driver::member));   \
    if (std::strcmp(driver.member.symbol(), NAME(function))) {                          \
        std::fprintf(stderr, "%s, not %s\n", driver.member.symbol(), NAME(function));   \
        ++wrong;                                                                        \
    }

static_assert(own::kSuccess == CUDA_SUCCESS && own::kNotReady == CUDA_ERROR_NOT_READY);
static_assert(own::kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(own::kEventDisableTiming == CU_EVENT_DISABLE_TIMING);
static_assert(own::kHostRegisterPortable == CU_MEMHOSTREGISTER_PORTABLE);
static_assert(own::kIpcLazyPeerAccess == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
static_assert(own::kPointerContext == CU_POINTER_ATTRIBUTE_CONTEXT);
static_assert(own::kPointerMemoryType == CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(own::kPointerSyncMemops == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
static_assert(own::kPointerBufferId == CU_POINTER_ATTRIBUTE_BUFFER_ID);
static_assert(own::kPointerDeviceOrdinal == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(own::kCaptureNone == CU_STREAM_CAPTURE_STATUS_NONE);
static_assert(own::kCaptureRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(own::kOperatingSystem == CUDA_ERROR_OPERATING_SYSTEM);
static_assert(own::kAlreadyRegistered == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
static_assert(own::kNotPermitted == CUDA_ERROR_NOT_PERMITTED);
static_assert(own::kNotSupported == CUDA_ERROR_NOT_SUPPORTED);
static_assert(own::kCaptureImplicit == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
static_assert(own::kMemoryTypeDevice == CU_MEMORYTYPE_DEVICE);

void compare(const Driver& driver) {
    CHECK(init, cuInit)
    CHECK(error_name, cuGetErrorName)
    CHECK(error_text, cuGetErrorString)
    CHECK(retain_primary, cuDevicePrimaryCtxRetain)
    CHECK(release_primary, cuDevicePrimaryCtxRelease)
    CHECK(capture_mode, cuThreadExchangeStreamCaptureMode)
    CHECK(is_capturing, cuStreamIsCapturing)
    CHECK(push, cuCtxPushCurrent)
    CHECK(pop, cuCtxPopCurrent)
    CHECK(create_stream, cuStreamCreate)
    CHECK(destroy_stream, cuStreamDestroy)
    CHECK(query_stream, cuStreamQuery)
    CHECK(wait_event, cuStreamWaitEvent)
    CHECK(create_event, cuEventCreate)
    CHECK(destroy_event, cuEventDestroy)
    CHECK(record, cuEventRecord)
    CHECK(query_event, cuEventQuery)
    CHECK(register_host, cuMemHostRegister)
    CHECK(unregister_host, cuMemHostUnregister)
    CHECK(allocate, cuMemAlloc)
    CHECK(release, cuMemFree)
    CHECK(to_host, cuMemcpyDtoHAsync)
    CHECK(to_device, cuMemcpyHtoDAsync)
    CHECK(to_peer, cuMemcpyDtoDAsync)
    CHECK(pointer_attribute, cuPointerGetAttribute)
    CHECK(set_pointer_attribute, cuPointerSetAttribute)
    CHECK(ipc_handle, cuIpcGetMemHandle)
    CHECK(open_ipc, cuIpcOpenMemHandle)
    CHECK(close_ipc, cuIpcCloseMemHandle)
    CHECK(load_module, cuModuleLoadData)
    CHECK(unload_module, cuModuleUnload)
    CHECK(find_function, cuModuleGetFunction)
    CHECK(launch, cuLaunchKernel)
    std::fprintf(stderr, "compared with version %d\n", CUDA_VERSION);
}

}  // namespace

#endif

int main(int, char** arguments) {
    std::fputs(hfreduce::kAddKernels, stdout);
#if __has_include(<cuda.h>)
    compare(Driver(dlopen(arguments[1], RTLD_NOW)));
    return wrong;
#else
    return arguments == nullptr;
#endif
}
