"""Run jobs with the engine built for a sanitizer: `python tests/sanitize.py [KIND...]`.

Kinds are `address`, which looks for undefined behaviour too, and `thread`. Every report of a
stack with code of ours fails the run. A thread sanitizer sees the threads of one process; what
ranks do to the memory that they share is not seen by any of them: that results are right, and
the same bits each time, is what speaks for it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent
BUILD = PACKAGE / "build"
TESTS = (
    "test_allreduce.py::test_many_operations_at_a_time",
    "test_allreduce.py::test_several_threads_add",
    "test_allreduce.py::test_several_threads_wait",
    "test_allreduce.py::test_reduce_broadcast_and_barrier",
    "test_allreduce.py::test_arrays_that_are_not_in_one_piece",
    "test_allreduce.py::test_sums_are_right_and_the_same_bits_everywhere[float16-7-3]",
    "test_network_threads.py::test_the_number_of_threads_does_not_change_a_bit",
    "test_network_threads.py::test_a_killed_rank_ends_the_job_on_every_channel",
    "test_gpu.py::test_several_threads_have_streams_wait",
    "test_faults.py::test_a_killed_rank_is_named",
    "test_faults.py::test_a_stopped_rank_is_named[4-2]",
    "test_faults.py::test_ranks_that_disagree_are_named[count-4-2]",
    "test_faults.py::test_a_rank_that_left_is_named",
    "test_faults.py::test_a_rank_that_never_comes_is_named",
    "test_faults.py::test_an_error_of_one_rank_reaches_all",
)
SLOWNESS = 4
_OURS = re.compile(r"_core\.cpython|stack/hfreduce/cpp/")
_REPORT = re.compile(
    r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|(?:Direct|Indirect) leak"
)
_BLOCK = re.compile(r"\n\n(?=\S)|\n(?===)")


@dataclass(frozen=True)
class Kind:
    """A build, and what its runtime is told."""

    flags: str
    libraries: Sequence[str]
    options: dict[str, str]


def kinds(reports: Path) -> dict[str, Kind]:
    """Return what can be looked for."""
    common = f"log_path={reports}/report:exitcode=0"
    leaks = f"suppressions={HERE}/sanitize-leaks.txt:print_suppressions=0"
    return {
        "address": Kind(
            "address,undefined",
            ("libasan.so", "libubsan.so"),
            {
                # Python keeps arrays of its own: new and delete of libraries do not always pair.
                "ASAN_OPTIONS": f"{common}:detect_leaks=1:alloc_dealloc_mismatch=0",
                "LSAN_OPTIONS": leaks,
                "UBSAN_OPTIONS": f"log_path={reports}/report:print_stacktrace=1",
                "PYTHONMALLOC": "malloc",
            },
        ),
        "thread": Kind(
            "thread",
            ("libtsan.so",),
            {
                # Python, numpy and UCX are not built for it: their own locks are not all seen.
                "TSAN_OPTIONS": f"{common}:ignore_noninstrumented_modules=1:die_after_fork=0",
            },
        ),
    }


def main(names: Sequence[str]) -> int:
    """Return 0 if there was no report."""
    with tempfile.TemporaryDirectory(prefix="hfreduce-sanitize-") as folder:
        found = kinds(Path(folder))
        if unknown := set(names) - set(found):
            print(f"sanitize: {unknown.pop()} is none of {', '.join(found)}", file=sys.stderr)
            return 2
        failed = [name for name in names or found if not _clean(name, found[name], Path(folder))]
    print(f"sanitize: {f'{failed} failed' if failed else 'no report of code of ours'}")
    return 1 if failed else 0


def _clean(name: str, kind: Kind, reports: Path) -> bool:
    print(f"sanitize: {name}", flush=True)
    package = _build(name, kind)
    environment = {
        **os.environ,
        **kind.options,
        "LD_PRELOAD": " ".join(_library(each) for each in kind.libraries),
        "PYTHONPATH": str(package),
        "HFREDUCE_TEST_SLOWNESS": str(SLOWNESS),
        "HFREDUCE_TEST_START": "spawn",  # a sanitizer does not follow threads through a fork
        # UCX looks at calls of a thread that the sanitizer has already taken leave of.
        "UCX_MEM_MMAP_HOOK_MODE": "none",
    }
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    tests = [f"tests/{test}" for test in TESTS]
    passed = not subprocess.run([*pytest, *tests], cwd=PACKAGE, env=environment).returncode
    ours = list(_ours(reports))
    for report in ours:
        print(report, flush=True)
    for file in reports.iterdir():
        file.unlink()
    return passed and not ours


def _build(name: str, kind: Kind) -> Path:
    """Return the folder of a package with the engine so built."""
    folder = BUILD / f"sanitize-{name}"
    definitions = {
        "HFREDUCE_SANITIZE": kind.flags,
        "CMAKE_BUILD_TYPE": "None",
        "CMAKE_CXX_FLAGS": "-O1 -ffp-contract=off",
        "Python_EXECUTABLE": sys.executable,
        "pybind11_DIR": _output(sys.executable, "-m", "pybind11", "--cmakedir"),
    }
    said = [f"-D{key}={value}" for key, value in definitions.items()]
    for command in (["-S", PACKAGE, "-B", folder, *said], ["--build", folder, "--parallel"]):
        subprocess.run(["cmake", *command], check=True, stdout=subprocess.DEVNULL)
    package = folder / "package"
    shutil.rmtree(package, ignore_errors=True)
    unbuilt = shutil.ignore_patterns("_core*.so", "__pycache__")
    shutil.copytree(PACKAGE / "src" / "hfreduce", package / "hfreduce", ignore=unbuilt)
    for built in folder.glob("_core*.so"):
        shutil.copy(built, package / "hfreduce")
    return package


def _ours(reports: Path) -> Iterator[str]:
    for file in sorted(reports.iterdir()):
        for block in _BLOCK.split(file.read_text(errors="replace")):
            if _REPORT.search(block) and _OURS.search(block):
                yield block


def _library(name: str) -> str:
    return _output("g++", f"-print-file-name={name}")


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
