#include "gpus.h"

#include "gpu_mover.h"

namespace hfreduce {

namespace {

// GDRCopy reads a GPU's memory slowly and writes it fast: up to these sizes it is taken to beat a
// copy engine's latency.
constexpr std::size_t kMostRead = 16 << 10;
constexpr std::size_t kMostWritten = 64 << 10;

// Part of an operation is the processors', and would not be done when a graph is launched.
void refuse_capture(cuda::Context context, cuda::Stream stream) {
    const cuda::Within current(context);
    const auto& ask = cuda::driver().is_capturing;
    int status = cuda::kCaptureNone;
    const cuda::Result result = ask.result(stream, &status);
    if (result == cuda::kCaptureImplicit || (!result && status != cuda::kCaptureNone))
        throw Error(
            "the stream is capturing a CUDA graph, and HFReduce's part on the processors cannot be"
            " captured; call it outside of the capture");
    if (result) cuda::raise(ask.symbol(), result);
}

}  // namespace

cuda::Context Gpus::context_of(const void* pointer) {
    const auto& driver = cuda::driver();
    const cuda::Pointer at = gpu_pointer(pointer);
    unsigned type = 0;
    if (driver.pointer_attribute.result(&type, cuda::kPointerMemoryType, at) ||
        type != cuda::kMemoryTypeDevice)
        throw Error("the tensor is said to lie on a GPU, and the driver knows no such memory");
    cuda::Context context = nullptr;
    driver.pointer_attribute.result(&context, cuda::kPointerContext, at);
    if (context) return context;
    cuda::Device device = 0;  // memory of a pool belongs to no context
    driver.pointer_attribute(&device, cuda::kPointerDeviceOrdinal, at);
    std::shared_ptr<Primary>& primary = primaries_[device];
    if (!primary) primary = std::make_shared<Primary>(device);
    return primary->context();
}

std::shared_ptr<Gpu> Gpus::gpu_of(const void* pointer) {
    const cuda::Context context = context_of(pointer);
    if (const auto found = gpus_.find(context); found != gpus_.end()) return found->second;
    std::shared_ptr<Registered> shared = registered_.lock();
    if (!shared) {
        const cuda::Within current(context);
        registered_ = shared = std::make_shared<Registered>(segment_, rank_);
    }
    std::shared_ptr<Primary> kept;
    for (const auto& [device, primary] : primaries_)
        if (primary && primary->context() == context) kept = primary;
    return gpus_[context] = std::make_shared<Gpu>(context, kept, std::move(shared), rank_);
}

const std::shared_ptr<Pair>& Gpus::pair(const std::shared_ptr<Gpu>& gpu) {
    if (!pair_) {
        paired_ = gpu;
        pair_ = std::make_shared<Pair>(gpu, segment_);
    }
    if (paired_ != gpu)
        throw Error("with nvlink_pairs all tensors of a rank lie on the same GPU");
    return pair_;
}

std::unique_ptr<Lane> Gpus::lane(const std::shared_ptr<Gpu>& gpu, Side side, const void* pointer,
                                 std::size_t bytes, const std::shared_ptr<Mark>& start) {
    if (windowed_ && bytes <= (side == Side::in ? kMostRead : kMostWritten)) {
        const cuda::Within current(gpu->context());
        if (auto window = windows_.open(gpu_pointer(pointer), bytes))
            return std::make_unique<WindowLane>(gpu, std::move(window), side, start);
    }
    return std::make_unique<StreamLane>(gpu, side, start);
}

std::shared_ptr<Mover> Gpus::mover(const Signature& signature, const void* in, const void* out,
                                   cuda::Stream stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    refuse_capture(context_of(in), stream);
    const std::shared_ptr<Gpu> gpu = gpu_of(in);
    if (out != in && gpu_of(out) != gpu) throw Error("the array and out lie on different GPUs");
    const auto start = std::make_shared<Mark>(gpu, stream);
    const std::size_t bytes = signature.count * size_of(signature.dtype);
    if (!segment_->shape().pairs(signature))
        return std::make_shared<GpuMover>(lane(gpu, Side::in, in, bytes, start),
                                          lane(gpu, Side::out, out, bytes, start));
    auto back = signature.to_one() ? lane(gpu, Side::out, out, bytes, start)
                                   : std::make_unique<PairOut>(gpu, pair(gpu), start);
    return std::make_shared<GpuMover>(
        std::make_unique<PairIn>(gpu, pair(gpu), signature, start), std::move(back));
}

void Gpus::follow(const void* out, cuda::Stream stream) {
    std::shared_ptr<Gpu> gpu;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        gpu = gpu_of(out);
    }
    refuse_capture(gpu->context(), stream);
    Mark(gpu, gpu->stream(Side::out)).before(stream);
}

void Gpus::settle() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [context, gpu] : gpus_) gpu->settle();
}

}  // namespace hfreduce
