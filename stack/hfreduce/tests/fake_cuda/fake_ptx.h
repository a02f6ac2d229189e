// Runs the little of PTX that hfreduce's kernels are written in, a thread after the other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fake {

struct Kernel {
    struct Instruction {
        std::string operation;
        std::vector<std::string> operands;
        std::string when;  // a predicate; empty: always
    };
    std::vector<std::pair<std::string, int>> parameters;  // name, bytes
    std::vector<Instruction> instructions;
    std::map<std::string, std::size_t> labels;
};

// Empty if the text holds what is not known.
std::map<std::string, std::shared_ptr<Kernel>> parse(const std::string& text);

// False if it touches memory that is not the GPU's.
bool run(const Kernel& kernel, unsigned blocks, unsigned threads,
         const std::vector<std::uint64_t>& arguments);

}  // namespace fake
