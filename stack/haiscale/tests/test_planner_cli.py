"""The planner's command line, and the node profiles that it reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from haiscale.errors import HaiscaleError
from haiscale.node import node_from
from haiscale.planner.__main__ import main

PROFILES = Path(__file__).parents[3] / "hardware" / "nodes"

TEXT = """\
32 ranks on 4 nodes (of 8 GPUs): dp 4 x pp 4 x tp 2, ep 1
CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 on every node

node    0  a-cn0001  zone a  ranks 0-7  stage 0  dp 0-3
node    1  a-cn0002  zone a  ranks 8-15  stage 1  dp 0-3
node    2  a-cn0003  zone a  ranks 16-23  stage 2  dp 0-3
node    3  a-cn0004  zone a  ranks 24-31  stage 3  dp 0-3

kept         tensor parallelism inside NVLink: each 2 ranks of a tensor sit on GPUs that NVLink \
joins: 0-1 2-3 4-5 6-7 (assumed; nvidia-smi topo -m tells)
kept         a node's GPUs in different data-parallel ranks: the 8 GPUs behind an adapter are at \
one stage of different pipelines, so that no pipeline meets itself there
kept         pipelines inside a zone: the 4 stages of each pipeline are in one zone
not in play  experts close together: ep is 1
kept         one crossing between zones: the job is in zone a alone
kept         whole nodes: every node runs 8 ranks
"""


def test_a_plan_in_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--nodes", "4", "--gpus-per-node", "8", "--pp", "4", "--tp", "2"]) == 0
    assert capsys.readouterr().out == TEXT


def test_a_plan_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--zone", "a=x1,x2", "--zone", "b=2", "--pp", "2", "--dp", "8", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["hosts"] == [
        {"node_rank": 0, "host": "x1", "zone": "a"},
        {"node_rank": 1, "host": "x2", "zone": "a"},
    ]
    assert plan["layout"] == {"dp": 8, "pp": 2, "tp": 1, "ep": 1, "world": 16}
    assert plan["ranks"][9] == {
        "rank": 9,
        "host": "x2",
        "zone": "a",
        "local_rank": 1,
        "gpu": 1,
        "nic": 0,
        "pp": 1,
        "dp": 1,
        "tp": 0,
        "ep": 0,
    }
    assert {rule["state"] for rule in plan["rules"]} <= {"kept", "not in play"}


@pytest.mark.skipif(not PROFILES.is_dir(), reason="outside the repository")
@pytest.mark.parametrize("profile", ["fire-flyer-2-compute", "next-gen-compute", "dgx-a100"])
def test_the_repositorys_node_profiles_are_read(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = PROFILES / f"{profile}.yml"
    assert main(["--nodes", "4", "--node", str(path), "--pp", "2"]) == 0
    from_yaml = capsys.readouterr().out
    facts = yaml.safe_load(path.read_text())
    document = tmp_path / "node.json"
    document.write_text(json.dumps({"profile": facts}))
    assert main(["--nodes", "4", "--node", str(document), "--pp", "2"]) == 0
    assert capsys.readouterr().out == from_yaml
    assert profile in from_yaml


@pytest.mark.skipif(not PROFILES.is_dir(), reason="outside the repository")
def test_tensor_parallelism_needs_pairs_that_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(PROFILES / "fire-flyer-2-compute.yml")
    assert main(["--nodes", "4", "--node", path, "--tp", "2"]) == 2
    assert "where NVLink joins none of it" in capsys.readouterr().err
    assert main(["--nodes", "4", "--node", path, "--tp", "2", "--nvlink", "0-1,2-3,4-6,5-7"]) == 0
    assert "CUDA_VISIBLE_DEVICES=0,1,2,3,4,6,5,7" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--zone", "a"], "--zone is 'a'; write NAME=NUMBER or NAME=HOST,HOST"),
        (["--zone", "a=2", "--zone", "a=1"], "--zone a is given twice: put its nodes into one"),
        (["--nodes", "1", "--nvlink", "x"], "--nvlink is 'x'; write GPUs as 0-1,2-3, or none"),
        (
            ["--nodes", "1", "--nvlink", "0-1,1-2"],
            "node of 8 GPUs has nvlink [[0, 1], [1, 2]]; a GPU is in one group at most, and there"
            " are GPUs 0 to 7",
        ),
        (["--nodes", "1", "--gpus-per-node", "-1"], "gpus is -1; a node has at least 1"),
        (["--nodes", "1", "--nics-per-node", "-1"], "nics is -1; a node has at least 1"),
        (
            ["--nodes", "1", "--node", "x.json", "--gpus-per-node", "8"],
            "--gpus-per-node is given with --node, whose profile says it: drop one",
        ),
        (
            ["--nodes", "1", "--node", "/nowhere.json"],
            "[Errno 2] No such file or directory: '/nowhere.json'",
        ),
    ],
)
def test_refusals(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"haiscale.planner: {message}\n")


def test_a_file_that_is_no_profile_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text, says in (("a.json", "{", "is not JSON"), ("a.yml", "{", "is not YAML")):
        path = tmp_path / name
        path.write_text(text)
        assert main(["--nodes", "1", "--node", str(path)]) == 2
        assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "the node profile is []; it must be an object"),
        ({"gpus": 8}, "gpus of the node profile is 8; it must be a list"),
        ({"gpus": [1]}, "gpus[0] of the node profile is 1; it must be an object"),
        (
            {"gpus": [{"numa": "x"}]},
            "gpus[0].numa of the node profile is 'x'; it must be a number from 0",
        ),
        (
            {"name": "n", "gpus": [], "nics": []},
            "node n has no gpus: there is nothing to place on it",
        ),
        ({"name": "n", "gpus": [{}], "nics": []}, "node n has no nics; it needs at least one"),
        (
            {"gpus": [{}], "nics": [{}], "nvlink_pairs": [3]},
            "nvlink_pairs of the node profile is 3; it must be a list",
        ),
    ],
)
def test_bad_profiles_are_refused(document: object, message: str) -> None:
    with pytest.raises(HaiscaleError) as caught:
        node_from(document)
    assert str(caught.value) == message
