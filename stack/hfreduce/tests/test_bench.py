"""The comparison's own parts; what it measures is for tests/bench."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hfreduce.bench import libraries, worker
from hfreduce.bench.__main__ import main
from hfreduce.bench.limits import bound_of
from hfreduce.bench.nodes import Nodes, unusable
from hfreduce.bench.report import Figure, plot, table
from hfreduce.bench.runs import Layout, RunError, run
from hfreduce.bench.worker import RECIPE_BYTES

KEYS = ["ranks_per_node", "nodes", "bytes", "dtype", "hfreduce_gbps", "gloo_gbps", "mpi_gbps",
        "bound_gbps"]  # fmt: skip


def _figure(size: int, hfreduce: float, gloo: float | None, nodes: int = 1) -> Figure:
    return Figure(
        ranks_per_node=8,
        nodes=nodes,
        bytes=size,
        dtype="float32",
        hfreduce_gbps=hfreduce,
        gloo_gbps=gloo,
        mpi_gbps=None,
        bound_gbps=10.0,
    )


def test_a_quick_run_prints_one_list() -> None:
    command = [sys.executable, "-m", "hfreduce.bench", "--json", "--quick", "--layout", "node",
               "--libraries", "gloo"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert [list(each) for each in found] == [KEYS] * 4
    assert [each["bytes"] for each in found] == [1 << 10, 1 << 16, 1 << 20, 1 << 24]
    for each in found:
        assert (each["ranks_per_node"], each["nodes"], each["mpi_gbps"]) == (8, 1, None)
        assert each["hfreduce_gbps"] > 0
        assert each["gloo_gbps"] > 0


class _Alone:
    """One rank, which waits for no one."""

    rank = 0

    def barrier(self) -> None:
        pass

    def allreduce(self, array: Any) -> None:
        pass


def test_what_is_slow_at_first_is_not_taken_for_the_rate() -> None:
    took_s = iter([0.02] * 5)

    def step() -> None:
        time.sleep(next(took_s, 0.0005))

    once_s, _ = worker._time(_Alone(), step, 0.2)
    assert 0.0005 <= once_s < 0.005


def test_calls_are_timed_beside_a_bare_one() -> None:
    command = [sys.executable, "-m", "hfreduce.bench.call", "--bytes", "64"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rates = {line[:24].strip(): float(line.split()[-1]) for line in lines[1:]}
    assert list(rates) == ["Communicator.allreduce", "the group's allreduce", "dist.all_reduce",
                           "dist.all_reduce, Gloo"]  # fmt: skip
    assert rates.pop("Communicator.allreduce") == 1
    assert min(rates.values()) > 0


@pytest.mark.skipif(bool(unusable()), reason=unusable())
def test_nodes_talk_over_their_links_and_are_gone_after() -> None:
    with Nodes(2, link_gbps=0.05) as nodes:
        (figure,) = run("hfreduce", Layout(2, 1, 0.05), nodes, [1 << 20], 0.1).values()
    assert (1 << 20) * 8 / figure / 1e9 < 0.06  # and not at the speed of shared memory
    assert not any(Path(f"/proc/{holder}").exists() for holder in nodes.holders())


@pytest.mark.skipif(bool(unusable()), reason=unusable())
def test_nodes_are_gone_when_who_made_them_is_killed() -> None:
    script = (
        "from hfreduce.bench.nodes import Nodes; import os, signal\n"
        "print(*Nodes(2).holders(), flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    holders = [Path(f"/proc/{holder}") for holder in done.stdout.split()]
    assert len(holders) == 2
    limit_s = time.monotonic() + 10
    while any(holder.exists() for holder in holders):
        assert time.monotonic() < limit_s, holders
        time.sleep(0.02)


def test_what_a_failing_rank_says_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HFREDUCE_CHUNK_BYTES", "5")
    with pytest.raises(
        RunError, match=r"^hfreduce failed: the environment: chunk_bytes is 5; it is a multiple"
    ):
        run("hfreduce", Layout(1, 2), None, [1024], 0.1)


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    assert libraries.missing("mpi") == "there is no mpirun; install openmpi-bin"
    assert libraries.missing("hfreduce") == ""


@pytest.mark.parametrize("option", ["--link-gbps=0", "--rounds=0", "--seconds=-1"])
def test_options_that_cannot_be(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([option])
    assert "--link-gbps, --rounds and --seconds are more than 0" in capsys.readouterr().err


def test_the_link_bounds_nodes() -> None:
    found = bound_of(Layout(4, 2, 1.0), 100.0).binding
    assert found is not None
    assert (found.name, found.gbytes_per_s) == ("network", pytest.approx(1 / 8 / 1.5))


def test_the_table_gives_ratios() -> None:
    rows = table([_figure(1 << 20, 4.0, 2.0), _figure(RECIPE_BYTES, 5.0, None)]).splitlines()
    assert rows[2].split() == ["1", "MiB", "4.000", "2.000", "-", "10.000", "2.00", "-", "40%"]
    assert rows[3].split()[:3] == ["46", "x", "4"]
    assert rows[4:] == ["  at least 0.50 of the bound from 16 MiB on (46 x 4 MiB)",
                        "  at least 2.00 times the better of the two (1 MiB)"]  # fmt: skip


def test_the_plot_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for ending in ("svg", "png"):
        file = tmp_path / f"plot.{ending}"
        plot([_figure(1 << 20, 4.0, 2.0), _figure(1 << 20, 1.0, 2.0, nodes=4)], file)
        assert file.stat().st_size > 1000
