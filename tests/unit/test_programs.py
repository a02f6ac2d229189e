"""A program that prove runs ends in time, and what it says of a failure is passed on."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireflyer.errors import OperatingError
from fireflyer.prove.programs import run


def test_a_program_reads_and_prints(tmp_path: Path) -> None:
    script = 'read word; echo "$word $PLACE"; pwd'
    done = run(
        *("sh", "-c", script),
        stdin="one\n",
        timeout_s=9,
        environment={"PLACE": "a"},
        folder=tmp_path,
    )
    assert done.stdout.splitlines() == ["one a", str(tmp_path)]


@pytest.mark.parametrize(
    ("script", "name", "said"),
    [
        ("echo first >&2; echo last >&2; exit 3", "", "sh failed with 3: last"),
        ("echo out; exit 1", "", "sh failed with 1: out"),
        ("exit 1", "sh in the box", "sh in the box failed with 1: it said nothing"),
        ("exec sleep 60", "", "sh did not end within 0.2 s"),
    ],
)
def test_a_failure_is_said(script: str, name: str, said: str) -> None:
    with pytest.raises(OperatingError) as refused:
        run("sh", "-c", script, name=name, timeout_s=0.2 if "sleep" in script else 9)
    assert str(refused.value) == said


def test_a_status_may_be_left_to_the_caller() -> None:
    done = run("sh", "-c", "echo out; exit 3", timeout_s=9, check=False)
    assert (done.stdout, done.returncode) == ("out\n", 3)
