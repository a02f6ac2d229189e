"""The rates that HFReduce can reach: the paper's figures, and what must hold of any node."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hfreduce.bound import MANY_NODES, Bound, bound, main
from hfreduce.node_profile import NodeProfile, ProfileError, profile_from

MODELS = Path(__file__).parents[3] / "hardware" / "nodes"


def as_json(model: str, **more: Any) -> dict[str, Any]:
    """Return a node's profile as a node's configuration holds it, from its hardware model."""
    facts = yaml.safe_load((MODELS / f"{model}.yml").read_text())
    place = ("numa", "root_port")
    return {
        "name": facts["name"],
        "gpus": [{key: gpu[key] for key in place} for gpu in facts["gpus"]],
        "nvlink_pairs": facts.get("nvlink_pairs", []),
        "nics": [
            {"gbit_per_s": nic["gbps"]} | {key: nic[key] for key in place} for nic in facts["nics"]
        ],
        "memory_gbytes_per_s": facts.get("memory_gbytes_per_s"),
        "root_port_gbytes_per_s": facts.get("root_port_gbytes_per_s"),
        **more,
    }


@pytest.fixture(name="node")
def fire_flyer_node() -> NodeProfile:
    return profile_from(as_json("fire-flyer-2-compute", gdrcopy=True))


PAIRS = ((0, 1), (2, 3), (4, 5), (6, 7))


def rates(found: Bound) -> dict[str, float]:
    return {limit.name: round(limit.gbytes_per_s, 1) for limit in found.limits}


def test_the_papers_memory_bound(node: NodeProfile) -> None:
    assert rates(bound(node))["memory"] == 13.3
    assert rates(bound(replace(node, gdrcopy=False)))["memory"] == 10.7


def test_the_papers_count_of_memory_operations(node: NodeProfile) -> None:
    (memory,) = (limit for limit in bound(node).limits if limit.name == "memory")
    assert memory.why == (
        "320 GB/s over 24 reads and writes"
        " (8 device to host + 9 addition + 5 between nodes + 2 host to device)"
    )


def test_the_papers_bound_of_the_adapter(node: NodeProfile) -> None:
    """25 GB/s over two sent and two received; the paper rounds it and what is lost to 12."""
    assert rates(bound(node))["network"] == 12.5


def test_gpu5_and_gpu6_bind_as_in_the_paper(node: NodeProfile) -> None:
    found = bound(node)
    assert found.binding is not None
    assert found.binding.name == "root port 5 (GPU5, GPU6)"
    assert found.binding.gbytes_per_s == pytest.approx(37.5 / 4)
    measured = 8.1  # Figure 7a, two nodes: the fastest without NVLink
    assert 0.8 < measured / found.binding.gbytes_per_s < 1


def test_without_the_shared_port_the_adapter_binds(node: NodeProfile) -> None:
    ports = [replace(gpu, root_port=10 + number) for number, gpu in enumerate(node.gpus)]
    found = bound(replace(node, gpus=tuple(ports)))
    assert list(rates(found).items())[:2] == [("network", 12.5), ("memory", 13.3)]
    assert round(found.limits[2].gbytes_per_s, 2) == 18.75


@pytest.mark.parametrize(
    ("gdrcopy", "operations"), [(True, 16), (False, 18)], ids=["gdrcopy", "memcpy"]
)
def test_pairs_halve_what_crosses_the_memory(
    node: NodeProfile, gdrcopy: bool, operations: int
) -> None:
    paired = replace(node, gdrcopy=gdrcopy, nvlink_pairs=PAIRS, nvlink_reduction=True)
    found = bound(paired)
    assert rates(found)["memory"] == round(320 / operations, 1)
    assert rates(found)["root port 5 (GPU5, GPU6)"] == 18.8


def test_bridges_that_are_not_used_change_nothing(node: NodeProfile) -> None:
    assert bound(replace(node, nvlink_pairs=PAIRS)) == bound(node)


def test_one_node_sends_nothing(node: NodeProfile) -> None:
    found = bound(node, nodes=1)
    assert "network" not in rates(found)
    assert rates(found)["memory"] == round(320 / 19, 1)


def test_two_nodes_send_half_of_what_many_do(node: NodeProfile) -> None:
    assert rates(bound(node, nodes=2))["network"] == 25.0
    assert rates(bound(node, nodes=2))["memory"] == round(320 / 21.5, 1)


@pytest.mark.parametrize("nodes", range(1, 9))
def test_more_nodes_are_never_faster(node: NodeProfile, nodes: int) -> None:
    now, later = rates(bound(node, nodes=nodes)), rates(bound(node, nodes=nodes + 1))
    assert all(later[name] <= rate for name, rate in now.items())
    if nodes >= MANY_NODES:
        assert now == later


def test_fewer_ranks_leave_the_shared_port_to_one_gpu(node: NodeProfile) -> None:
    found = bound(node, ranks=6)
    assert found.binding is not None
    assert found.binding.name == "network"
    assert rates(bound(node, ranks=8)) == rates(bound(node))


def test_an_adapter_counts_on_a_port_that_it_shares() -> None:
    profile = profile_from(as_json("next-gen-compute", root_port_gbytes_per_s=60.0))
    (limit,) = bound(profile).limits[:1]
    assert limit.name.startswith("root ports 0, 1, 2, 3, 4, 5, 6, 7 (GPU0, ")
    assert limit.gbytes_per_s == pytest.approx(60 / (2 + 4 / 8))


def test_threads_that_add_limit_by_what_each_was_measured_at(node: NodeProfile) -> None:
    """Of 5 nodes or more one adds half of the data from 3 inputs: 2 times read and written."""
    measured = replace(node, add_gbytes_per_s=18.0)
    assert "network threads" not in rates(bound(node))
    assert rates(bound(measured))["network threads"] == 9.0
    assert rates(bound(measured, network_threads=2))["network threads"] == 18.0
    assert rates(bound(measured, nodes=2))["network threads"] == 12.0
    assert "network threads" not in rates(bound(measured, nodes=1))
    two = replace(measured, nics=node.nics * 2)
    assert rates(bound(two))["network threads"] == 18.0


def test_ranks_without_gpus_share_the_memory_alone() -> None:
    profile = NodeProfile(name="cpus", memory_gbytes_per_s=40.0)
    assert rates(bound(profile, nodes=1, ranks=4)) == {"memory": 5.0}


def test_arrays_of_processors_pass_no_root_port(node: NodeProfile) -> None:
    found = bound(node, ranks=8, on_gpus=False)
    assert rates(found) == {"network": 12.5, "memory": 20.0}


def test_nothing_known_is_no_bound() -> None:
    assert bound(profile_from({"name": "container"})).binding is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gpu": 8}, "profile.gpu is not known; there are name, gpus, "),
        ({"gpus": 8}, "profile.gpus is 8; it must be a list"),
        ({"gpus": [{"numa": 0}]}, "profile.gpus[0] lacks 'root_port'"),
        ({"gpus": [{"numa": -1, "root_port": 0}]}, "numa is -1; it must be a number from 0"),
        ({"nics": [{"gbit_per_s": None}]}, "gbit_per_s is None; it must be more than 0"),
        ({"memory_gbytes_per_s": 0}, "memory_gbytes_per_s is 0; it must be more than 0, or null"),
        ({"add_gbytes_per_s": 0}, "add_gbytes_per_s is 0; it must be more than 0, or null"),
        ({"gdrcopy": 1}, "profile.gdrcopy is 1; it must be true or false"),
        ({"nvlink_pairs": [[0, 1], [1, 2]]}, "a GPU is in one pair at most"),
        ({"nvlink_pairs": [[0, 8]]}, "numbered from 0 as in profile.gpus"),
        ({"nvlink_pairs": [[0]]}, "profile.nvlink_pairs[0] is [0]; it must be two numbers"),
    ],
)
def test_a_profile_that_cannot_be_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ProfileError) as error:
        profile_from(as_json("fire-flyer-2-compute", **change))
    assert message in str(error.value)


def test_the_command_prints_a_table_and_names_what_binds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "node.json"
    profile = as_json("fire-flyer-2-compute", gdrcopy=True)
    file.write_text(json.dumps({"profile": profile, "timeout_s": 60}))
    assert main([str(file)]) == 0
    assert capsys.readouterr().out == (
        "fire-flyer-2-compute\n"
        "     9.4 GB/s  root port 5 (GPU5, GPU6) <-- binds\n"
        "               37.5 GB/s, 4 times the data up and down\n"
        "    12.5 GB/s  network\n"
        "               25 GB/s each way, 2 times the data sent and received\n"
        "    13.3 GB/s  memory\n"
        "               320 GB/s over 24 reads and writes"
        " (8 device to host + 9 addition + 5 between nodes + 2 host to device)\n"
    )
    assert main([str(file), "--json", "--nodes=1", "--ranks-per-node=4"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["binding"] == "root ports 0, 1, 2, 3 (GPU0, GPU1, GPU2, GPU3)"
    assert [limit["name"] for limit in found["limits"]] == [found["binding"], "memory"]


def test_the_command_refuses_a_profile_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "node.json"
    file.write_text('{"profile": {}}')
    assert main([str(file)]) == 2
    assert capsys.readouterr().err == f"hfreduce.bound: {file}: profile lacks 'name'\n"
    assert main([str(tmp_path / "none.json")]) == 2
    assert main([str(file), "--nodes=0"]) == 2
