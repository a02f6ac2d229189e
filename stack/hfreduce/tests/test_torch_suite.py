"""torch's own tests of a c10d backend: what passes on Gloo passes on hfreduce.

docs/torch-suite.md says what is left out, and why.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from jobs import SLOWNESS

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="torch's tests need it: pip install expecttest")

BY_NAME = {"test_get_backend"}
"""They compare the backend's name with gloo, which is all that they fail for."""
PINNED = (
    "test_DistributedDataParallelCPU", "test_accumulate_gradients_no_sync",
    "test_all_gather_object_default_pg", "test_all_reduce_coalesced_product",
    "test_all_reduce_coalesced_sum", "test_all_reduce_max", "test_all_reduce_sum_async",
    "test_all_reduce_sum_complex", "test_barrier_timeout_full_group",
    "test_barrier_timeout_global", "test_destroy_group", "test_gather_checks", "test_irecv",
    "test_monitored_barrier_gloo", "test_monitored_barrier_gloo_subgroup", "test_reduce_sum",
    "test_scatter_object_list", "test_send_recv_any_source", "test_sparse_all_reduce_sum",
)  # fmt: skip


def results(out: Path, backend: str, ranks: int, *names: str) -> dict[str, tuple[str, str]]:
    """Return what became of each test: `passed`, `failed` or `skipped`, and the text."""
    script = Path(__file__).with_name("torch_suite.py")
    command = [sys.executable, script, "--backend", backend, "--ranks", str(ranks), "--out", out]
    ran = subprocess.run(
        [*map(str, command), *names],
        capture_output=True,
        text=True,
        timeout=1500 * SLOWNESS,
        check=False,
    )
    assert out.exists(), ran.stderr[-2000:]
    return {name: (outcome, text) for name, (outcome, text) in json.loads(out.read_text()).items()}


def test_a_part_of_the_suite_passes(tmp_path: Path) -> None:
    outcomes = results(tmp_path / "results.json", "hfreduce", 3, *PINNED)
    assert set(outcomes) == set(PINNED)
    wrong = {name: text[-1500:] for name, (got, text) in outcomes.items() if got != "passed"}
    assert not wrong


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("ranks", [3, 4])
def test_what_passes_on_gloo_passes(tmp_path: Path, ranks: int) -> None:
    theirs = results(tmp_path / "gloo.json", "gloo", ranks)
    ours = results(tmp_path / "hfreduce.json", "hfreduce", ranks)
    passed = {name for name, (outcome, _) in theirs.items() if outcome == "passed"}
    assert len(passed) > 80
    worse = {name: ours[name][1][-1500:] for name in passed if ours[name][0] != "passed"}
    assert set(worse) <= BY_NAME, worse
    assert set(worse) == BY_NAME, f"they pass now; take them out: {BY_NAME - set(worse)}"
