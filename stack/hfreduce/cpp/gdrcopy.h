// Windows on a GPU's memory for the processor, by GDRCopy where it is installed: less latency for
// small tensors than a copy engine. It is looked up at run time, as the driver is.
#pragma once

#include <memory>
#include <vector>

#include "cuda.h"

namespace hfreduce {

// The processor's view of a piece of a GPU's memory.
class Window {
  public:
    virtual ~Window() = default;
    virtual void read(void* to, cuda::Pointer from, std::size_t bytes) = 0;
    virtual void write(cuda::Pointer to, const void* from, std::size_t bytes) = 0;
};

// Opens windows, and keeps those used last: to open one takes longer than to copy by an engine.
class Windows {
  public:
    // Whether the library and its kernel module are there; HFREDUCE_LIBGDRAPI names another
    // library than libgdrapi.so.2.
    static bool there();
    // nullptr where none can be had. The memory's context is current.
    std::shared_ptr<Window> open(cuda::Pointer pointer, std::size_t bytes);

  private:
    class Mapped;
    std::vector<std::shared_ptr<Mapped>> kept_;  // the last used at the end
};

}  // namespace hfreduce
