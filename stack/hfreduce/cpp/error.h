// What goes wrong, in words for the person who runs the job.
#pragma once

#include <stdexcept>

namespace hfreduce {

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace hfreduce
