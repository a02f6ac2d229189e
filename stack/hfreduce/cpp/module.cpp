// The Python extension hfreduce._core.

#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <thread>

#include "engine.h"
#include "error.h"
#include "gpus.h"
#include "monitor.h"
#include "network.h"
#include "reduce.h"
#include "segment.h"
#include "ucx.h"

namespace py = pybind11;

namespace hfreduce {

namespace {

// One rank's part of a communicator.
class Core {
  public:
    // `events`: two for each channel; `devices` and `domains`: one.
    Core(int rank, int world_size, int first_rank, const Shape& shape, int segment,
         const std::vector<int>& events, const std::vector<std::string>& devices,
         const std::vector<int>& domains, double timeout_s, int spins, bool gdrcopy)
        : rank_(rank), first_rank_(first_rank), timeout_s_(timeout_s) {
        segment_ = std::make_shared<Segment>(segment, shape, rank - first_rank);
        segment_->set_network_events(events);
        engine_ = std::make_shared<Engine>(
            segment_, EngineOptions{rank, world_size, first_rank, timeout_s, spins});
        gpus_ = std::make_unique<Gpus>(segment_, rank, gdrcopy);
        if (rank != first_rank) return;
        segment_->place(domains);
        if (!shape.networked) return;
        std::vector<ChannelOptions> channels;
        for (int each = 0; each < shape.channels; ++each)
            channels.push_back({events.at(2 * each + kUp), events.at(2 * each + kDown),
                                devices.at(each), domains.at(each)});
        network_ = std::make_unique<Network>(segment_, engine_, channels);
    }

    ~Core() { close(); }

    py::object addresses() const {
        if (!network_) return py::none();
        return py::make_tuple(as_bytes(network_->up_addresses()),
                              as_bytes(network_->down_addresses()));
    }

    void watch(double silence_s, const std::vector<std::tuple<int, int, int, bool>>& links) {
        std::vector<Link> all;
        for (const auto& [fd, first, ranks, above] : links) all.push_back({fd, first, ranks, above});
        monitor_ = std::make_unique<Monitor>(segment_, engine_, rank_, first_rank_, silence_s, all);
    }

    void connect(int node, const std::vector<int>& first_ranks, std::uint64_t job, double silence_s,
                 const std::vector<std::tuple<int, std::vector<int>, std::vector<int>>>& trees,
                 const std::vector<std::vector<std::string>>& up,
                 const std::vector<std::vector<std::string>>& down) {
        NetworkOptions options;
        options.node = node;
        options.first_ranks = first_ranks;
        options.job = job;
        options.silence_s = silence_s;
        for (int tree = 0; tree < kTrees; ++tree) {
            const auto& [parent, children, path_to] = trees.at(tree);
            options.trees[tree] = {parent, children, path_to};
        }
        network_->start(options, up, down);
    }

    std::uint64_t submit(Kind kind, Op op, bool average, Dtype dtype, std::uint64_t count, int root,
                         std::uint64_t name, std::uintptr_t in, std::uintptr_t out, bool waits,
                         bool gpu, std::uintptr_t stream) {
        Signature signature;
        signature.sequence = engine_->submitted();
        signature.kind = kind;
        signature.op = op;
        signature.average = average;
        signature.dtype = dtype;
        signature.count = count;
        signature.root = static_cast<std::uint32_t>(root);
        signature.name = name;
        signature.gpu = gpu && count;  // nothing lies nowhere
        std::shared_ptr<Mover> mover;
        if (signature.gpu) mover = mover_of(signature, in, out, stream);
        return engine_->submit(signature, reinterpret_cast<const void*>(in),
                               reinterpret_cast<void*>(out), std::move(mover), waits);
    }

    void wait(std::uint64_t number, double timeout_s) { engine_->wait(number, timeout_s); }
    void wait_stream(std::uint64_t number, std::uintptr_t out, std::uintptr_t stream,
                     double timeout_s) {
        engine_->wait_started(number, timeout_s);
        if (!engine_->done(number))
            gpus_->follow(reinterpret_cast<const void*>(out), reinterpret_cast<cuda::Stream>(stream));
    }
    bool done(std::uint64_t number) const {
        if (engine_->aborted() && !engine_->done(number)) throw Error(engine_->abort_text());
        return engine_->done(number);
    }

    void abort(const std::string& text) {
        if (monitor_)
            monitor_->abort(text);
        else
            engine_->abort(text);
    }

    std::string aborted() const { return engine_->aborted() ? engine_->abort_text() : ""; }

    // Idempotent, and never raises: an aborted communicator is closed too.
    void close() {
        if (closed_) return;
        closed_ = true;
        try {
            engine_->drain();
            if (network_) {
                const auto limit =
                    std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s_);
                while (!network_->idle() && !engine_->aborted() &&
                       std::chrono::steady_clock::now() < limit)
                    std::this_thread::sleep_for(std::chrono::microseconds(200));
            }
        } catch (const Error&) {  // said already to whom waited
        }
        if (network_) network_->stop();
        if (monitor_) monitor_->leave();
        engine_->stop();
        gpus_->settle();
    }

    // In a forked child, which has the memory and the descriptors and none of the threads: let go
    // of the connections, so that the others see the parent's end, and never touch the rest.
    void forget() {
        if (closed_) return;
        closed_ = true;
        if (monitor_) monitor_->forget();
        monitor_.release();
        network_.release();
        gpus_.release();
        new std::shared_ptr<Engine>(engine_);  // its threads cannot be joined here
        new std::shared_ptr<Segment>(segment_);
    }

    std::uint64_t sent_bytes() const { return network_ ? network_->sent_bytes() : 0; }

  private:
    int rank_;
    int first_rank_;
    double timeout_s_;
    bool closed_ = false;
    std::shared_ptr<Segment> segment_;
    std::shared_ptr<Engine> engine_;
    std::unique_ptr<Gpus> gpus_;
    std::unique_ptr<Network> network_;
    std::unique_ptr<Monitor> monitor_;

    static py::list as_bytes(const std::vector<std::string>& all) {
        py::list list;
        for (const std::string& each : all) list.append(py::bytes(each));
        return list;
    }

    // A rank whose GPU fails, or that has no driver, cannot go on, so that the others do not wait.
    std::shared_ptr<Mover> mover_of(const Signature& signature, std::uintptr_t in,
                                    std::uintptr_t out, std::uintptr_t stream) {
        try {
            return gpus_->mover(signature, reinterpret_cast<const void*>(in),
                                reinterpret_cast<const void*>(out),
                                reinterpret_cast<cuda::Stream>(stream));
        } catch (const cuda::Failure& failure) {
            std::string text = failure.what();
            if (text.compare(0, 5, "rank ")) text = "rank " + std::to_string(rank_) + ": " + text;
            abort(text);
            throw Error(text);
        }
    }
};

// Where an array in one piece lies, said quicker than numpy's own attributes do.
std::uintptr_t address(const py::handle& array) {
    Py_buffer view;
    if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_SIMPLE)) throw py::error_already_set();
    const auto found = reinterpret_cast<std::uintptr_t>(view.buf);
    PyBuffer_Release(&view);
    return found;
}

// Why no GPU's tensor can be moved here; empty where one can.
std::string gpu_problem() {
    try {
        cuda::driver();
    } catch (const cuda::Failure& failure) {
        return failure.what();
    }
    return "";
}

}  // namespace

PYBIND11_MODULE(_core, m) {
    py::register_exception<Error>(m, "HFReduceError", PyExc_RuntimeError);
    py::enum_<Dtype>(m, "Dtype")
        .value("float32", Dtype::f32)
        .value("float64", Dtype::f64)
        .value("float16", Dtype::f16)
        .value("bfloat16", Dtype::bf16)
        .value("float8_e4m3fn", Dtype::f8e4m3)
        .value("float8_e5m2", Dtype::f8e5m2)
        .value("int32", Dtype::i32)
        .value("int64", Dtype::i64)
        .value("uint8", Dtype::u8);
    py::enum_<Op>(m, "Op").value("sum", Op::sum).value("min", Op::min).value("max", Op::max);
    py::enum_<Kind>(m, "Kind")
        .value("allreduce", Kind::allreduce)
        .value("reduce", Kind::reduce)
        .value("broadcast", Kind::broadcast)
        .value("barrier", Kind::barrier);
    py::class_<Shape>(m, "Shape")
        .def(py::init([](int local_size, int threads, int depth, std::size_t chunk_bytes,
                         bool networked, int channels, const std::vector<int>& partners) {
                 return Shape{local_size, threads, depth, chunk_bytes, networked, channels, partners};
             }),
             py::kw_only(), py::arg("local_size"), py::arg("threads"), py::arg("depth"),
             py::arg("chunk_bytes"), py::arg("networked"), py::arg("channels"),
             py::arg("partners"));
    m.def("address", &address);
    m.def("gpu_problem", &gpu_problem);
    m.def(
        "reduce",
        [](Dtype dtype, Op op, const std::vector<std::uintptr_t>& inputs, std::uintptr_t out,
           std::size_t count) {
            std::vector<const void*> from;
            for (const std::uintptr_t each : inputs) from.push_back(reinterpret_cast<const void*>(each));
            reduce(dtype, op, from.data(), static_cast<int>(from.size()),
                   reinterpret_cast<void*>(out), count);
        },
        py::call_guard<py::gil_scoped_release>(), py::arg("dtype"), py::arg("op"),
        py::arg("inputs"), py::arg("out"), py::arg("count"));
    m.def("create_segment", &Segment::create);
    m.def("instruction_set", &instruction_set);
    m.def("use_instruction_set", &use_instruction_set);
    m.def("size_of", &size_of);
    m.def("set_log_level", &set_log_level);
    const auto released = py::call_guard<py::gil_scoped_release>();
    py::class_<Core>(m, "Core")
        .def(py::init<int, int, int, const Shape&, int, const std::vector<int>&,
                      const std::vector<std::string>&, const std::vector<int>&, double, int,
                      bool>(),
             py::kw_only(), py::arg("rank"), py::arg("world_size"), py::arg("first_rank"),
             py::arg("shape"), py::arg("segment"), py::arg("events"), py::arg("devices"),
             py::arg("domains"), py::arg("timeout_s"), py::arg("spins"), py::arg("gdrcopy"))
        .def("addresses", &Core::addresses)
        .def("watch", &Core::watch, py::kw_only(), py::arg("silence_s"), py::arg("links"))
        .def(
            "connect",
            [](Core& core, int node, const std::vector<int>& first_ranks, std::uint64_t job,
               double silence_s,
               const std::vector<std::tuple<int, std::vector<int>, std::vector<int>>>& trees,
               const std::vector<std::vector<py::bytes>>& up,
               const std::vector<std::vector<py::bytes>>& down) {
                const auto texts = [](const std::vector<std::vector<py::bytes>>& all) {
                    std::vector<std::vector<std::string>> made;
                    for (const auto& channel : all) made.emplace_back(channel.begin(), channel.end());
                    return made;
                };
                core.connect(node, first_ranks, job, silence_s, trees, texts(up), texts(down));
            },
            py::kw_only(), py::arg("node"), py::arg("first_ranks"), py::arg("job"),
            py::arg("silence_s"), py::arg("trees"), py::arg("up"), py::arg("down"))
        .def("submit", &Core::submit, released, py::kw_only(), py::arg("kind"), py::arg("op"),
             py::arg("average"), py::arg("dtype"), py::arg("count"), py::arg("root"),
             py::arg("name"), py::arg("source"), py::arg("target"), py::arg("waits"),
             py::arg("gpu"), py::arg("stream"))
        .def("wait", &Core::wait, released, py::arg("number"), py::arg("timeout_s") = 0.0)
        .def("wait_stream", &Core::wait_stream, released, py::arg("number"), py::arg("target"),
             py::arg("stream"), py::arg("timeout_s") = 0.0)
        .def("done", &Core::done)
        .def("abort", &Core::abort, released)
        .def("aborted", &Core::aborted)
        .def("close", &Core::close, released)
        .def("forget", &Core::forget)
        .def("sent_bytes", &Core::sent_bytes);
}

}  // namespace hfreduce
