"""The runner of the roles' scenarios, with programs in molecule's place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
from tests.images import molecule

WAITS = "setsid sleep 600 & echo $! > {pid_file}; wait"
"""Its child has a session of its own, as Ansible's workers have."""


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """Return what is begun, each command and whether without Mitogen; with Mitogen none ends."""
    commands: list[tuple[str, bool]] = []

    def begin(command: str, _: str, output: IO[bytes], *, plain: bool) -> subprocess.Popen[bytes]:
        commands.append((command, plain))
        script = "true" if plain else WAITS.format(pid_file=tmp_path / "pid")
        return subprocess.Popen(["sh", "-c", script], stdout=output, start_new_session=True)

    monkeypatch.setattr(molecule, "_molecule", begin)
    monkeypatch.setattr(molecule, "LOGS", tmp_path)
    monkeypatch.setattr(molecule, "LONGEST_S", 1.0)
    return commands


def test_a_run_that_does_not_end_is_ended_and_made_again_without_mitogen(
    begun: list[tuple[str, bool]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = molecule.Runs(plain=False).test("munge")
    assert result.exit_code == 0
    assert begun == [("test", False), ("destroy", True), ("test", True)]
    assert "munge                did not end; once more" in capsys.readouterr().out
    assert "sleep 600" in (tmp_path / "munge.log").read_text()
    listed = ["ps", "-o", "stat=", "-p", (tmp_path / "pid").read_text().strip()]
    state = subprocess.run(listed, capture_output=True, check=False).stdout
    assert state[:1] in (b"", b"Z"), state


def test_one_that_does_not_end_the_second_time_fails(
    begun: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = molecule._molecule

    def never(
        command: str, role: str, output: IO[bytes], *, plain: bool
    ) -> subprocess.Popen[bytes]:
        process = begin(command, role, output, plain=plain and command == "destroy")
        begun[-1] = (command, plain)
        return process

    monkeypatch.setattr(molecule, "_molecule", never)
    result = molecule.Runs(plain=False).test("munge")
    assert result.exit_code == molecule.NEVER_ENDED
    assert begun == [("test", False), ("destroy", True), ("test", True), ("destroy", True)]


def test_modules_run_on_every_processor() -> None:
    ran = subprocess.run(
        [
            Path(sys.executable).parent / "ansible", "localhost", "--connection", "local",
            "--extra-vars", f"ansible_python_interpreter={sys.executable}",
            "--module-name", "command",
            "--args", f"{sys.executable} -c 'import os; print(os.sched_getaffinity(0))'",
        ],
        env={**os.environ, **molecule._mitogen()},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert str(os.sched_getaffinity(0)) in ran.stdout, ran.stdout + ran.stderr
