"""The kernels on their own: built here, called through ctypes, and compared bit for bit."""

import ctypes
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

Array = NDArray[Any]

CPP = Path(__file__).resolve().parent.parent / "cpp"
CXX = os.environ.get("CXX", "g++")
FLAGS = ["-std=c++17", "-fPIC", "-ffp-contract=off"]
AVX2 = ["-mavx2", "-mf16c"]
AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq"]
IS_X86 = platform.machine().lower() in {"x86_64", "amd64"}
PARTS = {
    "reduce.cpp": [],
    "reduce_portable.cpp": [],
    "reduce_avx2.cpp": AVX2 if IS_X86 else [],
    "reduce_avx512.cpp": AVX2 + AVX512 if IS_X86 else [],
}
SETS = ["portable", "avx2", "avx512"]
OPS = {"sum": 0, "min": 1, "max": 2}

pytestmark = pytest.mark.skipif(shutil.which(CXX) is None, reason="no C++ compiler")


@dataclass(frozen=True)
class Small:
    """A float of few bits: its codes in order, the last of them what is too large becomes."""

    bits: int
    mantissa: int
    bias: int
    nan: int
    infinite: bool = True

    @property
    def code(self) -> type[Any]:
        return np.uint8 if self.bits == 8 else np.uint16

    @cache  # noqa: B019 - there are four
    def magnitudes(self) -> Array:
        """Codes' values up to the first past the largest, which stands where it would be."""
        last = (1 << (self.bits - 1)) - (1 << self.mantissa if self.infinite else 1)
        code = np.arange(last + 1)
        exponent, fraction = code >> self.mantissa, code & ((1 << self.mantissa) - 1)
        whole = np.where(exponent > 0, fraction + (1 << self.mantissa), fraction)
        power = np.maximum(exponent, 1) - self.bias - self.mantissa
        values: Array = np.ldexp(whole.astype(np.float64), power)
        return values

    def decode(self, codes: Array) -> Array:
        finite = self.magnitudes()
        sign = 1 << (self.bits - 1)
        magnitude = codes.astype(np.int64) & (sign - 1)
        value = finite[np.minimum(magnitude, len(finite) - 1)]
        value = np.where(magnitude >= len(finite) - 1, np.nan, value)
        if self.infinite:
            value = np.where(magnitude == len(finite) - 1, np.inf, value)
        return np.where(codes & sign, -value, value).astype(np.float32)

    def encode(self, values: Array) -> Array:
        finite = self.magnitudes()
        exact = np.abs(values.astype(np.float64))
        above = np.minimum(np.searchsorted(finite, exact), len(finite) - 1)
        below = np.maximum(above - 1, 0)
        down, up = exact - finite[below], finite[above] - exact
        take_below = (down < up) | ((down == up) & (below % 2 == 0))
        codes = np.where(take_below, below, above)
        codes |= np.signbit(values).astype(np.int64) << (self.bits - 1)
        return np.where(np.isnan(values), self.nan, codes).astype(self.code)


@dataclass(frozen=True)
class Type:
    """An element type: its number in Dtype, how it is stored and how it is computed with."""

    number: int
    code: type[Any]
    decode: Callable[[Array], Array]
    encode: Callable[[Array], Array]
    is_float: bool = True


def of_small(number: int, small: Small) -> Type:
    return Type(number, small.code, small.decode, small.encode)


def of_wide(number: int, code: type[Any], value: type[Any], nan: int) -> Type:
    def encode(values: Array) -> Array:
        codes: Array = np.where(np.isnan(values), code(nan), values.view(code))
        return codes

    return Type(number, code, lambda codes: codes.view(value), encode)


def of_integer(number: int, code: type[Any]) -> Type:
    return Type(number, code, lambda codes: codes, lambda values: values, False)


SMALL = {
    "f16": Small(16, 10, 15, 0x7E00),
    "bf16": Small(16, 7, 127, 0x7FC0),
    "e4m3": Small(8, 3, 7, 0x7F, infinite=False),
    "e5m2": Small(8, 2, 15, 0x7F),
}
TYPES = {
    "f32": of_wide(0, np.uint32, np.float32, 0x7FC00000),
    "f64": of_wide(1, np.uint64, np.float64, 0x7FF8000000000000),
    **{name: of_small(2 + i, small) for i, (name, small) in enumerate(SMALL.items())},
    "i32": of_integer(6, np.int32),
    "i64": of_integer(7, np.int64),
    "u8": of_integer(8, np.uint8),
}


def build(folder: Path, main: str, flags: list[str], link: list[str]) -> Path:
    """Compiles the kernels and one more file, and links them."""
    commands = []
    for source, own in {**PARTS, f"tests/{main}.cpp": []}.items():
        target = folder / f"{Path(source).stem}.o"
        commands.append([CXX, *FLAGS, *flags, *own, "-c", str(CPP / source), "-o", str(target)])
    running = [subprocess.Popen(each, stderr=subprocess.PIPE, text=True) for each in commands]
    for process in running:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    built = folder / main
    objects = [each[-1] for each in commands]
    subprocess.run([CXX, *link, *objects, "-o", str(built)], check=True)
    return built


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reduce")


@pytest.fixture(scope="session")
def library(folder: Path) -> ctypes.CDLL:
    loaded = ctypes.CDLL(str(build(folder, "reduce_shim", ["-O3"], ["-shared"])))
    loaded.shim_instruction_set.restype = ctypes.c_char_p
    return loaded


@pytest.fixture(params=SETS)
def kernels(library: ctypes.CDLL, request: pytest.FixtureRequest) -> Iterator[ctypes.CDLL]:
    before = library.shim_instruction_set()
    if not library.shim_use(request.param.encode()):
        pytest.skip(f"this processor has no {request.param}")
    yield library
    library.shim_use(before)


def call(
    kernels: ctypes.CDLL, type_: Type, op: str, inputs: list[Array], out: Array, scale: float = 1.0
) -> None:
    pointers = (ctypes.c_void_p * len(inputs))(*(each.ctypes.data for each in inputs))
    kernels.shim_reduce(
        type_.number,
        OPS[op],
        pointers,
        len(inputs),
        ctypes.c_void_p(out.ctypes.data),
        ctypes.c_size_t(out.size),
        ctypes.c_double(scale),
    )


def reduced(
    kernels: ctypes.CDLL, name: str, op: str, inputs: list[Array], scale: float = 1.0
) -> Array:
    out = np.zeros_like(inputs[0])
    call(kernels, TYPES[name], op, inputs, out, scale)
    return out


def reference(type_: Type, op: str, inputs: list[Array], scale: float) -> Array:
    """In order, in the width the header names, and rounded once."""
    with np.errstate(all="ignore"):
        total = type_.decode(inputs[0])
        for codes in inputs[1:]:
            new = type_.decode(codes)
            if op == "sum":
                total = total + new
            else:
                better = new < total if op == "min" else new > total
                total = np.where(better | (new != new), new, total)
        if type_.is_float:
            total = total * total.dtype.type(scale)
        return type_.encode(total)


def some_codes(type_: Type, count: int, random: np.random.Generator) -> Array:
    """Any bits at all, among as many ordinary numbers as this run has."""
    raw = random.bytes(count * np.dtype(type_.code).itemsize)
    codes = np.frombuffer(raw, type_.code).copy()
    if type_.is_float:
        wide = np.float64 if type_.code is np.uint64 else np.float32
        ordinary = type_.encode(random.standard_normal(count).astype(wide))
        codes = np.where(random.random(count) < random.choice([0, 0.5, 0.98]), ordinary, codes)
    return codes


def equal(found: Array, expected: Array) -> None:
    np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("name", TYPES)
@settings(
    max_examples=40,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    op=st.sampled_from(sorted(OPS)),
    n=st.integers(1, 17),
    count=st.one_of(st.integers(0, 300), st.integers(0, 5000)),
    offset=st.integers(0, 70),
    in_place=st.one_of(st.none(), st.integers(0, 16)),
    scale=st.sampled_from([1.0, 0.5, 1 / 3, 1 / 8, 3.0, -1.0, 2.0**-20, 1e-30, 1e30]),
    seed=st.integers(0, 2**32),
)
def test_the_reference_gives_the_same_bits(
    kernels: ctypes.CDLL,
    name: str,
    op: str,
    n: int,
    count: int,
    offset: int,
    in_place: int | None,
    scale: float,
    seed: int,
) -> None:
    type_ = TYPES[name]
    random = np.random.default_rng(seed)
    scale = scale if type_.is_float else 1.0
    # Each array lies between others' bytes, at an offset of its own.
    whole = [some_codes(type_, count + 200, random) for _ in range(n + 1)]
    starts = [(offset * (k + 1)) % 97 for k in range(n + 1)]
    arrays = [each[start : start + count] for each, start in zip(whole, starts, strict=True)]
    place = n if in_place is None else in_place % n
    expected = [each.copy() for each in whole]
    expected[place][starts[place] : starts[place] + count] = reference(type_, op, arrays[:n], scale)
    call(kernels, type_, op, arrays[:n], arrays[place], scale)
    for found, wanted in zip(whole, expected, strict=True):
        equal(found, wanted)


@pytest.mark.parametrize("name", SMALL)
def test_every_code_comes_back(kernels: ctypes.CDLL, name: str) -> None:
    small = SMALL[name]
    codes = np.arange(1 << small.bits).astype(small.code)
    is_nan = np.isnan(small.decode(codes))
    for op in OPS:
        found = reduced(kernels, name, op, [codes])
        equal(found, np.where(is_nan, small.code(small.nan), codes))


@pytest.mark.parametrize("name", SMALL)
def test_every_code_beside_others_and_scaled(kernels: ctypes.CDLL, name: str) -> None:
    """All pairs of fp8's codes, and each of the 16-bit ones with a few others."""
    small = SMALL[name]
    every = np.arange(1 << small.bits).astype(small.code)
    if small.bits == 8:
        a, b = (each.ravel().copy() for each in np.meshgrid(every, every))
    else:
        random = np.random.default_rng(5)
        a, b = every, random.permutation(every)
    for op in OPS:
        for scale in (1.0, 1 / 3, 0.125, 2.0**-9, 1 + 2.0**-23, -7.0):
            expected = reference(TYPES[name], op, [a, b], scale)
            equal(reduced(kernels, name, op, [a, b], scale), expected)


@pytest.mark.parametrize("name", SMALL)
def test_ties_go_to_even(kernels: ctypes.CDLL, name: str) -> None:
    """The halfway points between all neighbours, which a scaled sum of both reaches exactly."""
    small = SMALL[name]
    codes = np.arange(len(small.magnitudes()) - 2).astype(small.code)
    codes = codes[small.magnitudes()[codes + 1] < 2.0**126]  # fp32 has to hold the sum
    found = reduced(kernels, name, "sum", [codes, codes + small.code(1)], 0.5)
    equal(found, codes + codes % 2)


@pytest.mark.parametrize(
    ("name", "largest", "over"),
    [("f16", 0x7BFF, 0x7C00), ("bf16", 0x7F7F, 0x7F80), ("e4m3", 0x7E, 0x7F), ("e5m2", 0x7B, 0x7C)],
)
def test_what_is_too_large(kernels: ctypes.CDLL, name: str, largest: int, over: int) -> None:
    code = SMALL[name].code
    sign = code(1 << (SMALL[name].bits - 1))
    ours = np.full(100, largest, code)
    equal(reduced(kernels, name, "sum", [ours, ours]), np.full(100, over, code))
    equal(
        reduced(kernels, name, "sum", [ours | sign, ours | sign]), np.full(100, over, code) | sign
    )
    equal(reduced(kernels, name, "sum", [ours], 1.0), ours)


@pytest.mark.parametrize(
    ("name", "torch_name"),
    [
        ("f16", "float16"),
        ("bf16", "bfloat16"),
        ("e4m3", "float8_e4m3fn"),
        ("e5m2", "float8_e5m2"),
    ],
)
def test_torch_rounds_the_same(kernels: ctypes.CDLL, name: str, torch_name: str) -> None:
    torch = pytest.importorskip("torch")
    small, kind = SMALL[name], getattr(torch, torch_name)
    random = np.random.default_rng(11)
    inputs = [random.permutation(np.arange(65536)).astype(small.code) for _ in range(8)]
    for n in (1, 2, 8):
        for scale in (1.0, 1 / 3, 2.0**-8):
            total = torch.zeros(65536)
            for k, codes in enumerate(inputs[:n]):
                signed = codes.view(np.int8 if small.bits == 8 else np.int16)
                value = torch.from_numpy(signed).view(kind).float()
                total = value if k == 0 else total + value
            total *= np.float32(scale).item()
            cast = total.to(kind).view(torch.int8 if small.bits == 8 else torch.int16)
            expected = cast.numpy().view(small.code)
            found = reduced(kernels, name, "sum", inputs[:n], scale)
            is_nan = total.isnan().numpy()
            if name == "e4m3":  # torch gives the largest number from 2.12 on
                is_nan |= (total.abs() > 464).numpy()
            equal(np.isnan(small.decode(found)), is_nan)
            equal(found[~is_nan], expected[~is_nan])


def test_no_elements(kernels: ctypes.CDLL) -> None:
    for name, type_ in TYPES.items():
        for op in OPS:
            out = reduced(kernels, name, op, [np.zeros(0, type_.code)] * 3)
            assert out.size == 0


def test_instruction_sets_by_name(library: ctypes.CDLL) -> None:
    before = library.shim_instruction_set()
    for name in ("", "avx", "AVX2", "avx51"):
        assert not library.shim_use(name.encode())
        assert library.shim_instruction_set() == before
    best = [name for name in SETS if library.shim_use(name.encode())]
    library.shim_use(before)
    assert best[0] == "portable"
    assert before.decode() == best[-1]


def test_only_the_tables_leave_the_files_with_flags(library: ctypes.CDLL, folder: Path) -> None:
    """Any other function the linker could take for another file's, on a processor without it."""
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("no nm")
    for name in ("avx2", "avx512"):
        command = [nm, "--defined-only", "--extern-only", str(folder / f"reduce_{name}.o")]
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        (symbol,) = listed.split("\n")[:-1]
        assert f"kernels_{name}" in symbol


def test_under_the_sanitizers(tmp_path: Path) -> None:
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    try:
        program = build(tmp_path, "check_reduce", ["-O0", *flags], flags)
    except subprocess.CalledProcessError:
        pytest.skip("the sanitizers' libraries are not here")
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "portable" in done.stdout
