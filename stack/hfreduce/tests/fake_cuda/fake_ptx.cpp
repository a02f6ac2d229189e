#include "fake_ptx.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "fake_memory.h"

namespace fake {

namespace {

float as_float(std::uint64_t bits) {
    const auto low = static_cast<std::uint32_t>(bits);
    float value;
    std::memcpy(&value, &low, 4);
    return value;
}

std::uint64_t as_bits(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return bits;
}

float from_half(std::uint64_t bits) {
    const int exponent = bits >> 10 & 31;
    const auto fraction = static_cast<float>(bits & 1023);
    float value = exponent == 31  ? (fraction > 0 ? NAN : INFINITY)
                  : exponent == 0 ? std::ldexp(fraction, -24)
                                  : std::ldexp(fraction + 1024, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

// Of all halves the nearest, the even one of two.
std::uint64_t to_half(float value) {
    const std::uint64_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return 0x7fff;
    const double size = std::fabs(static_cast<double>(value));
    if (size >= 65520) return sign | 0x7c00;
    int exponent = size > 0 ? std::max(std::ilogb(size), -14) : -14;
    const auto fraction = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(size, 10 - exponent)));
    return sign | ((static_cast<std::uint64_t>(exponent + 14) << 10) + fraction);
}

std::uint64_t to_bfloat(float value) {
    const std::uint64_t bits = as_bits(value);
    if (std::isnan(value)) return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

const char* const kKnown[] = {
    "ld.param.u64", "ld.param.f32", "cvta.to.global.u64", "mov.u32", "mov.b32", "mul.wide.u32",
    "cvt.u64.u32", "cvt.u32.u16", "add.u64", "setp.ge.u64", "bra", "shl.b64", "shl.b32",
    "ld.global.f32", "ld.global.b16", "st.global.f32", "st.global.b16", "cvt.f32.f16",
    "cvt.rn.f16.f32", "cvt.rn.bf16.f32", "add.rn.f32", "mul.rn.f32", "ret"};

bool known(const std::string& operation) {
    for (const char* each : kKnown)
        if (operation == each) return true;
    return false;
}

class Thread {
  public:
    Thread(const Kernel& kernel, const std::vector<std::uint64_t>& arguments)
        : kernel_(kernel), arguments_(arguments) {}

    bool run(std::map<std::string, std::uint64_t> registers) {
        r_ = std::move(registers);
        for (std::size_t at = 0; at < kernel_.instructions.size(); ++at) {
            const auto& each = kernel_.instructions[at];
            if (!each.when.empty() && !r_[each.when]) continue;
            if (each.operation == "ret") return true;
            if (each.operation == "bra") at = kernel_.labels.at(each.operands[0]) - 1;
            else if (!step(each.operation, each.operands)) return false;
        }
        return true;
    }

  private:
    const Kernel& kernel_;
    const std::vector<std::uint64_t>& arguments_;
    std::map<std::string, std::uint64_t> r_;

    std::uint64_t value(const std::string& operand) {
        return operand[0] == '%' ? r_[operand] : std::stoull(operand);
    }
    static std::string inside(const std::string& operand) {  // "[x]" is x
        return operand.substr(1, operand.size() - 2);
    }

    bool step(const std::string& op, const std::vector<std::string>& o) {
        if (op.rfind("ld.param", 0) == 0) {
            for (std::size_t each = 0; each < kernel_.parameters.size(); ++each)
                if (kernel_.parameters[each].first == inside(o[1])) r_[o[0]] = arguments_[each];
        } else if (op.rfind("ld.global", 0) == 0 || op.rfind("st.global", 0) == 0) {
            const bool load = op[0] == 'l';
            const std::size_t size = op.substr(10) == "f32" ? 4 : 2;
            const Place place = find(r_[inside(o[load ? 1 : 0])], size);
            if (!place.at) return false;
            if (load) r_[o[0]] = 0;
            std::memcpy(load ? static_cast<void*>(&r_[o[0]]) : place.at,
                        load ? place.at : static_cast<void*>(&r_[o[1]]), size);
        } else if (op == "mul.wide.u32") r_[o[0]] = (value(o[1]) & ~0U) * (value(o[2]) & ~0U);
        else if (op == "add.u64") r_[o[0]] = value(o[1]) + value(o[2]);
        else if (op == "setp.ge.u64") r_[o[0]] = value(o[1]) >= value(o[2]);
        else if (op == "shl.b64") r_[o[0]] = value(o[1]) << value(o[2]);
        else if (op == "shl.b32") r_[o[0]] = (value(o[1]) << value(o[2])) & ~0U;
        else if (op == "cvt.f32.f16") r_[o[0]] = as_bits(from_half(value(o[1])));
        else if (op == "cvt.rn.f16.f32") r_[o[0]] = to_half(as_float(value(o[1])));
        else if (op == "cvt.rn.bf16.f32") r_[o[0]] = to_bfloat(as_float(value(o[1])));
        else if (op == "add.rn.f32") r_[o[0]] = as_bits(as_float(value(o[1])) + as_float(value(o[2])));
        else if (op == "mul.rn.f32") r_[o[0]] = as_bits(as_float(value(o[1])) * as_float(value(o[2])));
        else r_[o[0]] = value(o[1]);  // moves, and conversions that widen
        return true;
    }
};

// Words of the text; the marks of statements and parameters are words of their own.
std::vector<std::string> words(const std::string& text) {
    std::vector<std::string> found;
    bool open = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '<') {  // how many registers: any number will do
            at = text.find('>', at);
        } else if (std::strchr("(){};:@", c)) {
            found.emplace_back(1, c);
            open = false;
        } else if (std::strchr(" \t\n,", c)) {
            open = false;
        } else {
            if (!open) found.emplace_back();
            found.back() += c;
            open = true;
        }
    }
    return found;
}

}  // namespace

std::map<std::string, std::shared_ptr<Kernel>> parse(const std::string& text) {
    std::map<std::string, std::shared_ptr<Kernel>> found;
    const std::vector<std::string> all = words(text);
    for (std::size_t at = 0; at < all.size(); ++at) {
        if (all[at] != ".entry") continue;
        auto kernel = found[all[++at]] = std::make_shared<Kernel>();
        for (++at; all[++at] != ")"; at += 2)  // .param .u64 name
            kernel->parameters.emplace_back(all[at + 2], std::stoi(all[at + 1].substr(2)) / 8);
        for (at += 2; all[at] != "}"; ++at) {
            if (all[at + 1] == ":") {
                kernel->labels[all[at]] = kernel->instructions.size();
                at += 2;
            }
            Kernel::Instruction instruction;
            if (all[at] == "@") {
                instruction.when = all[at + 1];
                at += 2;
            }
            instruction.operation = all[at];
            while (all[++at] != ";") instruction.operands.push_back(all[at]);
            if (instruction.operation == ".reg") continue;
            if (!known(instruction.operation)) return {};
            kernel->instructions.push_back(instruction);
        }
    }
    return found;
}

bool run(const Kernel& kernel, unsigned blocks, unsigned threads,
         const std::vector<std::uint64_t>& arguments) {
    Thread each(kernel, arguments);
    for (unsigned block = 0; block < blocks; ++block)
        for (unsigned thread = 0; thread < threads; ++thread)
            if (!each.run({{"%ctaid.x", block}, {"%tid.x", thread}, {"%ntid.x", threads}, {"%nctaid.x", blocks}}))
                return false;
    return true;
}

}  // namespace fake
