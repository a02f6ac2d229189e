#include "gdrcopy.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace hfreduce {

namespace {

constexpr cuda::Pointer kGpuPage = 64 << 10;  // memory is pinned in pages of this size
constexpr std::size_t kMostKept = 32;

using Handle = unsigned long;  // a structure of one, in the library's own words
struct Session;

struct Library {
    Session* (*open)();
    int (*pin)(Session*, unsigned long, std::size_t, std::uint64_t, std::uint32_t, Handle*);
    int (*unpin)(Session*, Handle);
    int (*map)(Session*, Handle, void**, std::size_t);
    int (*unmap)(Session*, Handle, void*, std::size_t);
    int (*write)(Handle, void*, const void*, std::size_t);
    int (*read)(Handle, void*, const void*, std::size_t);
    Session* session = nullptr;
};

template <typename Function>
bool find(void* library, const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, symbol));
    return function != nullptr;
}

const Library* load() {
    const char* named = std::getenv("HFREDUCE_LIBGDRAPI");
    void* file = dlopen(named && *named ? named : "libgdrapi.so.2", RTLD_NOW | RTLD_LOCAL);
    auto found = std::make_unique<Library>();
    if (!file || !find(file, "gdr_open", found->open) ||
        !find(file, "gdr_pin_buffer", found->pin) || !find(file, "gdr_unpin_buffer", found->unpin) ||
        !find(file, "gdr_map", found->map) || !find(file, "gdr_unmap", found->unmap) ||
        !find(file, "gdr_copy_to_mapping", found->write) ||
        !find(file, "gdr_copy_from_mapping", found->read))
        return nullptr;
    found->session = found->open();  // nullptr without the kernel module
    return found->session ? found.release() : nullptr;
}

const Library* gdrcopy() {
    static const Library* const found = load();
    return found;
}

}  // namespace

class Windows::Mapped final : public Window {
  public:
    Mapped(cuda::Pointer from, std::size_t bytes, std::uint64_t buffer)
        : from_(from), bytes_(bytes), buffer_(buffer) {
        const Library& library = *gdrcopy();
        if (library.pin(library.session, from, bytes, 0, 0, &handle_)) return;
        if (library.map(library.session, handle_, &view_, bytes)) {
            library.unpin(library.session, handle_);
            view_ = nullptr;
        }
    }
    ~Mapped() override {
        if (!view_) return;
        const Library& library = *gdrcopy();
        library.unmap(library.session, handle_, view_, bytes_);
        library.unpin(library.session, handle_);
    }
    bool mapped() const { return view_ != nullptr; }
    bool shows(cuda::Pointer from, std::size_t bytes, std::uint64_t buffer) const {
        return buffer_ == buffer && from_ <= from && from + bytes <= from_ + bytes_;
    }
    void read(void* to, cuda::Pointer from, std::size_t bytes) override {
        said("gdr_copy_from_mapping", gdrcopy()->read(handle_, to, at(from), bytes));
    }
    void write(cuda::Pointer to, const void* from, std::size_t bytes) override {
        said("gdr_copy_to_mapping", gdrcopy()->write(handle_, at(to), from, bytes));
    }

  private:
    cuda::Pointer from_;
    std::size_t bytes_;
    std::uint64_t buffer_;  // the driver's number of the allocation; addresses are used again
    Handle handle_ = 0;
    void* view_ = nullptr;

    char* at(cuda::Pointer pointer) const { return static_cast<char*>(view_) + (pointer - from_); }
    static void said(const char* call, int code) {
        if (code) throw cuda::Failure(std::string(call) + ": error " + std::to_string(code));
    }
};

bool Windows::there() { return gdrcopy() != nullptr; }

std::shared_ptr<Window> Windows::open(cuda::Pointer pointer, std::size_t bytes) {
    if (!there()) return nullptr;
    std::uint64_t buffer = 0;
    const auto& driver = cuda::driver();
    if (driver.pointer_attribute.result(&buffer, cuda::kPointerBufferId, pointer)) return nullptr;
    const auto known = std::find_if(kept_.begin(), kept_.end(), [&](const auto& each) {
        return each->shows(pointer, bytes, buffer);
    });
    if (known != kept_.end()) {
        std::rotate(known, known + 1, kept_.end());
        return kept_.back();
    }
    const unsigned yes = 1;  // copies of the caller's own that it does not wait for come first
    if (driver.set_pointer_attribute.result(&yes, cuda::kPointerSyncMemops, pointer)) return nullptr;
    const cuda::Pointer from = pointer / kGpuPage * kGpuPage;
    const cuda::Pointer to = (pointer + bytes + kGpuPage - 1) / kGpuPage * kGpuPage;
    auto opened = std::make_shared<Mapped>(from, to - from, buffer);
    if (!opened->mapped()) return nullptr;
    if (kept_.size() == kMostKept) kept_.erase(kept_.begin());
    kept_.push_back(opened);
    return opened;
}

}  // namespace hfreduce
