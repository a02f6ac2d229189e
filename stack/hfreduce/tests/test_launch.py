"""hfreduce.launch within a job step of Slurm's."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hfreduce.launch import step


def _step(nodelist: str, nodes: int = 3, node: int = 1, tasks: int = 3) -> dict[str, str]:
    return {
        "SLURM_STEP_NUM_NODES": str(nodes),
        "SLURM_STEP_NUM_TASKS": str(tasks),
        "SLURM_NODEID": str(node),
        "SLURM_STEP_NODELIST": nodelist,
    }


@pytest.mark.parametrize(
    ("nodelist", "first"),
    [
        ("a-cn0001", "a-cn0001"),
        ("a-cn[0001-0003]", "a-cn0001"),
        ("a-cn[0002,0007-0009],b-cn0001", "a-cn0002"),
        ("login,a-cn[0001-0002]", "login"),
        ("rack[1-2]node[04-05]-ib,x", "rack1node04-ib"),
    ],
)
def test_the_first_node_of_a_list(nodelist: str, first: str) -> None:
    assert step(_step(nodelist)) == (3, 1, first)


def test_no_step_and_too_many_tasks_are_told() -> None:
    with pytest.raises(ValueError, match=r"start it with srun$"):
        step({"SLURM_NODEID": "0"})
    with pytest.raises(ValueError, match=r"24 tasks on 3 nodes; .* --ntasks-per-node=1"):
        step(_step("a[1-3]", tasks=24))


def test_a_rank_of_a_step_is_told_its_place() -> None:
    program = "import os; print(*(os.environ[k] for k in ('RANK', 'WORLD_SIZE', 'MASTER_ADDR')))"
    done = subprocess.run(
        [sys.executable, "-m", "hfreduce.launch", "--slurm", "--ranks-per-node", "2", "--",
         sys.executable, "-c", program],
        env=_step("n[1-3]") | {"HFREDUCE_SECRET": "0123456789abcdef"},
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert sorted(done.stdout.splitlines()) == ["2 6 n1", "3 6 n1"], done.stderr


def test_outside_of_a_step_it_says_what_to_do() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hfreduce.launch", "--slurm", "--ranks-per-node", "2", "true"],
        env={}, capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--slurm: this is no step of a Slurm job; start it with srun" in done.stderr
