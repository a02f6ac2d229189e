"""What several test modules share."""

from __future__ import annotations

import pytest
from devices import build_fakes, has_compiler, why_no_gpu
from hypothesis import settings

settings.register_profile("busy", deadline=None)  # ranks of another test may have the processors
settings.load_profile("busy")


@pytest.fixture(scope="session")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Build the pretended CUDA driver, and return the environment that names it."""
    if not has_compiler():
        pytest.skip("no C++ compiler")
    return build_fakes(tmp_path_factory.mktemp("fake_cuda"))


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.gpu)])
def gpus(request: pytest.FixtureRequest) -> dict[str, str]:
    """Return the environment of ranks with a GPU: a pretended one, then a real one."""
    if request.param == "real":
        if why := why_no_gpu():
            pytest.skip(why)
        return {}
    environment: dict[str, str] = request.getfixturevalue("fakes")
    return environment
