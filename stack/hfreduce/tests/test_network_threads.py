"""Several network threads a node: the same bits, threads and memory where they belong."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import namespaces
import numpy as np
import pytest
from hfreduce import HFReduceError, channels
from hfreduce.settings import node_settings
from jobs import Job, run
from namespaces import Nodes


def threads(count: int) -> dict[str, str]:
    return {"HFREDUCE_NETWORK_THREADS": str(count)}


def _digest(_pipe: Any) -> str:
    """Return what of all operations depends on the order of the addition."""
    import hfreduce

    digest = hashlib.sha256()
    random = np.random.default_rng(int(os.environ["RANK"]))
    with hfreduce.Communicator() as job:
        for size in (1, 300, 400_003):
            arrays = [random.standard_normal(size).astype(np.float32) for _ in range(3)]
            for work in [job.allreduce(array, "avg", wait=False) for array in arrays]:
                work.wait()
            half = random.standard_normal(size).astype(np.float16)
            job.allreduce(half)
            for array in (*arrays, half):
                digest.update(array.tobytes())
            job.broadcast(arrays[0], job.world_size - 1)
            job.reduce(arrays[1], 1)
            job.barrier()
            digest.update(arrays[0].tobytes())
    return digest.hexdigest()


def test_the_number_of_threads_does_not_change_a_bit() -> None:
    """Five nodes: each has children in one tree, some two of them."""
    digests = {each for count in (1, 3) for each in run(_digest, 5, 1, environment=threads(count))}
    assert len(digests) == 1


@pytest.mark.full
@pytest.mark.parametrize(("ranks", "local"), [(2, 1), (7, 3), (8, 1)])
def test_every_rank_has_the_same_bits(ranks: int, local: int) -> None:
    each = [run(_digest, ranks, local, environment=threads(count)) for count in (1, 2, 4, 16)]
    assert len({digest for digests in each for digest in digests}) == 1


def _own_threads(_pipe: Any, processors: set[int] | None = None) -> dict[str, list[int]]:
    import hfreduce

    if processors:
        os.sched_setaffinity(0, processors)
    with hfreduce.Communicator() as job:
        job.barrier()
        return {
            (task / "comm").read_text().strip(): sorted(os.sched_getaffinity(int(task.name)))
            for task in Path("/proc/self/task").iterdir()
        }


@pytest.mark.parametrize("count", [1, 3])
def test_a_node_has_so_many_pairs_of_threads(count: int) -> None:
    for names in run(_own_threads, 2, 1, environment=threads(count)):
        found = {name for name in names if name.startswith("hfreduce-")}
        assert found == {f"hfreduce-{way}{n}" for way in ("up", "dn") for n in range(count)}


def test_one_node_alone_has_none() -> None:
    (names,) = run(_own_threads, 1, 1, environment=threads(2))
    assert not any(name.startswith("hfreduce-") for name in names)


def _receive_buffers(_pipe: Any) -> list[str]:
    """Return the kernel's policy for memory of the size of a receive buffer."""
    import hfreduce

    with hfreduce.Communicator() as job:
        job.allreduce(np.ones(2_000_000, np.float32))
        lines = Path("/proc/self/numa_maps").read_text().splitlines()
        return [line for line in lines if "prefer" in line or "bind" in line]


_NUMA = Path("/proc/self/numa_maps").exists()


@pytest.mark.skipif(not _NUMA, reason="the kernel knows no NUMA")
def test_what_the_children_send_lies_in_the_domain_of_the_threads() -> None:
    environment = threads(2) | {"HFREDUCE_NUMA_NODE": "0"}
    found = run(_receive_buffers, 2, 1, environment=environment)
    # Of two nodes each is the other's parent in one tree: it receives into that lane's slots.
    buffer_pages = -(-(524_288 + 128) // 4096)
    for lines in found:
        pages = sum(
            int(word.partition("=")[2])
            for line in lines
            if " prefer" in line and ":0" in line
            for word in line.split()
            if word.startswith("anon=")
        )
        assert pages >= 4 * buffer_pages, lines


def test_threads_stay_where_whoever_started_the_process_put_it() -> None:
    free = os.sched_getaffinity(0)
    environment = threads(2) | {"HFREDUCE_NUMA_NODE": "0"}
    for pinned in ({min(free)}, free):
        for found in run(_own_threads, 2, 1, pinned, environment=environment):
            assert found["hfreduce-up1"] == sorted(pinned)


def _meet(_pipe: Any) -> None:
    import hfreduce

    os.environ["HFREDUCE_NETWORK_THREADS"] = os.environ["RANK"].replace("0", "2")
    with hfreduce.Communicator():
        pass


def test_nodes_that_have_other_numbers_are_named() -> None:
    for outcome in Job(_meet, 2, 1).outcomes():
        assert "has network_threads 1, rank 0 2; set them alike" in outcome.error


def _beat(pipe: Any) -> None:
    import hfreduce

    with hfreduce.Communicator() as job:
        arrays = [np.ones(300_000, np.float32) for _ in range(4)]
        job.allreduce(arrays[0])
        pipe.send(("said", "running"))
        for _ in range(100_000):
            for work in [job.allreduce(array, "avg", wait=False) for array in arrays]:
                work.wait()


def test_a_killed_rank_ends_the_job_on_every_channel() -> None:
    job = Job(_beat, 3, 1, environment=threads(3))
    job.wait_for("running")
    job.processes[2].kill()
    for outcome in job.outcomes()[:2]:
        assert "rank 2" in outcome.error
        assert outcome.exit_code == 0


@pytest.mark.skipif(bool(namespaces.missing()), reason=namespaces.missing())
def test_a_cut_cable_ends_the_job_on_every_channel() -> None:
    with Nodes(3) as nodes:
        job = Job(_beat, 3, 1, silence_s=2.0, environment=threads(2), nodes=nodes)
        job.wait_for("running")
        nodes.unplug(2)
        for rank, outcome in enumerate(job.outcomes(30)):
            assert ("rank 2" in outcome.error) or rank == 2, outcome
            assert outcome.exit_code == 0
            assert outcome.error.startswith("HFReduceError")


def _node(folder: Path, **said: Any) -> Any:
    (folder / "node.json").write_text(json.dumps(said))
    settings = node_settings(folder / "node.json")
    return settings.network_threads, settings.depth


def test_the_default_is_one_an_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nic = {"gbit_per_s": 200, "numa": 0, "root_port": 0}
    profile = {"name": "x", "nics": [nic, nic | {"numa": 1}, nic]}
    assert _node(tmp_path) == (1, 8)
    assert _node(tmp_path, net_devices=["mlx5_0:1"]) == (1, 8)
    assert _node(tmp_path, net_devices=["mlx5_0:1", "mlx5_1:1"], profile=profile) == (2, 8)
    assert _node(tmp_path, profile=profile) == (3, 12)
    assert _node(tmp_path, profile=profile, depth=8) == (2, 8)
    assert _node(tmp_path, profile=profile, network_threads=1) == (1, 8)
    monkeypatch.setenv("HFREDUCE_NETWORK_THREADS", "5")
    assert _node(tmp_path, profile=profile) == (5, 20)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"network_threads": 0}, "network_threads is 0; it is 1 to 16"),
        ({"network_threads": 17}, "network_threads is 17; it is 1 to 16"),
        ({"network_threads": "two"}, "a value is of a wrong kind"),
        (
            {"network_threads": 3, "depth": 8},
            "depth is 8; with network_threads 3 it is a multiple of 6, or leave it out",
        ),
    ],
)
def test_what_is_wrong_is_refused(tmp_path: Path, said: dict[str, Any], message: str) -> None:
    with pytest.raises(HFReduceError, match=message):
        _node(tmp_path, **said)


def test_a_channel_is_where_its_adapter_is(tmp_path: Path) -> None:
    for kind, name, domain in (("infiniband", "mlx5_0", 1), ("net", "eth0", 0), ("net", "lo", -1)):
        folder = tmp_path / kind / name / "device"
        folder.mkdir(parents=True)
        (folder / "numa_node").write_text(f"{domain}\n")

    def found(devices: list[str], profile: tuple[int, ...], numa_node: int, count: int) -> Any:
        return channels.domains(devices, profile, numa_node, count, tmp_path)

    assert found(["mlx5_0:1", "eth0"], (), -1, 4) == [1, 0, 1, 0]
    assert found(["mlx5_0:1"], (), -1, 2) == [1, 1]
    assert found(["mlx5_0:1"], (), 3, 2) == [3, 3]  # the settings' word on the only adapter
    assert found(["mlx5_0:1", "lo"], (7, 6), -1, 2) == [1, 6]
    assert found(["mlx5_0:1", "lo"], (), 2, 2) == [1, 2]
    assert found([], (0, 1), -1, 3) == [0, 1, 0]
    assert found([], (), -1, 1) == [-1]


def test_a_channel_keeps_to_its_adapter() -> None:
    assert channels.devices(["a", "b"], 2, {}) == ["a", "b"]
    assert channels.devices(["a", "b"], 2, {"UCX_NET_DEVICES": "a,b"}) == ["a", "b"]
    assert channels.devices(["a", "b"], 2, {"UCX_NET_DEVICES": "c"}) == ["", ""]
    assert channels.devices(["a", "b"], 1, {}) == [""]
