#include "operation.h"

namespace hfreduce {

namespace {

const char* const kKinds[] = {"allreduce", "reduce", "broadcast", "barrier"};
const char* const kTypes[] = {"float32",     "float64", "float16", "bfloat16", "float8_e4m3fn",
                              "float8_e5m2", "int32",   "int64",   "uint8"};
const char* const kNames[] = {"sum", "min", "max"};

}  // namespace

std::string describe(const Signature& signature) {
    std::string text = kKinds[static_cast<int>(signature.kind)];
    if (signature.kind == Kind::barrier) return text;
    text += "(";
    if (!signature.from_one()) {
        text += signature.average ? "avg" : kNames[static_cast<int>(signature.op)];
        text += ", ";
    }
    text += kTypes[static_cast<int>(signature.dtype)];
    text += ", " + std::to_string(signature.count) + " elements";
    if (signature.to_one() || signature.from_one()) text += ", root " + std::to_string(signature.root);
    if (signature.gpu) text += ", on a GPU";
    if (signature.name) text += ", name #" + std::to_string(signature.name % 1000000);
    return text + ")";
}

std::string disagreement(int rank, const Signature& theirs, int reference, const Signature& ours) {
    std::string text = "rank " + std::to_string(rank) + " called " + describe(theirs) +
                       " as operation " + std::to_string(theirs.sequence) + ", rank " +
                       std::to_string(reference) + " called " + describe(ours);
    if (ours.sequence != theirs.sequence) text += " as operation " + std::to_string(ours.sequence);
    return text;
}

}  // namespace hfreduce
