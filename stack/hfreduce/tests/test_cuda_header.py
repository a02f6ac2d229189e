"""The declarations of the CUDA driver, and the kernels, against NVIDIA's header and assembler."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CPP = Path(__file__).resolve().parent.parent / "cpp"
INCLUDES = [
    Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include",
    Path("/opt/cuda/include"),
]


@pytest.fixture(scope="module")
def checked(
    fakes: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> subprocess.CompletedProcess[str]:
    """Build and run the comparison."""
    program = tmp_path_factory.mktemp("check") / "check_cuda"
    sources = [CPP / "tests/check_cuda.cpp", CPP / "cuda.cpp", CPP / "add_kernels.cpp"]
    subprocess.run(
        [os.environ.get("CXX", "g++"), "-std=c++17", "-o", str(program)]
        + [f"-I{each}" for each in INCLUDES]
        + [str(each) for each in sources]
        + ["-ldl"],
        check=True,
    )
    return subprocess.run(
        [str(program), fakes["HFREDUCE_LIBCUDA"]], capture_output=True, text=True, check=False
    )


def test_calls_are_declared_as_in_cuda_h(checked: subprocess.CompletedProcess[str]) -> None:
    if "compared with version" not in checked.stderr:
        pytest.skip("no cuda.h")
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_kernels_assemble(
    checked: subprocess.CompletedProcess[str], architecture: str, tmp_path: Path
) -> None:
    if shutil.which("ptxas") is None:
        pytest.skip("no ptxas")
    (tmp_path / "add.ptx").write_text(checked.stdout)
    done = subprocess.run(
        ["ptxas", f"-arch={architecture}", "-o", str(tmp_path / "add"), str(tmp_path / "add.ptx")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
