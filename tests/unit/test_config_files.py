"""A role's files are written by one task: all of them or none, and once."""

from __future__ import annotations

import getpass
import grp
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conftest import REPO

ME = {"owner": getpass.getuser(), "group": grp.getgrgid(os.getgid()).gr_name}
Run = Callable[..., dict[str, Any]]
SYSTEMCTL = """#!/bin/sh
echo "$*" > {folder}/asked
echo '{answer}'
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return what applies `config_files` to this machine and returns the task's result."""
    (tmp_path / "templates").mkdir()
    (tmp_path / "files").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "templates/head.j2").write_text("# {{ ansible_managed }}\n")
    (tmp_path / "templates/a.conf.j2").write_text(
        "{% include 'head.j2' %}\n{% if colour %}\ncolour = {{ colour }}\n{% endif %}\n"
    )
    (tmp_path / "files/program").write_text("#!/bin/sh\necho {{ as it is }}\n")

    def run(files: list[dict[str, Any]], *options: str, **arguments: Any) -> dict[str, Any]:
        task = {
            "fireflyer.cluster.config_files": {
                "files": [ME | file for file in files],
                **arguments,
            },
            "register": "found",
            "ignore_errors": True,
            "environment": {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"},
        }
        keep = {
            "ansible.builtin.copy": {
                "content": "{{ found | to_json }}",
                "dest": f"{tmp_path}/found.json",
                "mode": "0600",
            },
            "check_mode": False,
        }
        play = {
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "vars": {"colour": "blue"},
            "tasks": [task, keep],
        }
        (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
        done = subprocess.run(
            [Path(sys.executable).parent / "ansible-playbook", *options, tmp_path / "play.yml"],
            cwd=REPO,
            env={**os.environ, "ANSIBLE_PYTHON_INTERPRETER": sys.executable},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, Any] = json.loads((tmp_path / "found.json").read_text())
        return found

    return run


def by_ansible(template: Path) -> str:
    """Return what Ansible's own module makes of a template."""
    out = template.with_suffix(".out")
    subprocess.run(
        [
            *(Path(sys.executable).parent / "ansible", "localhost", "--connection=local"),
            *("-m", "ansible.builtin.template", "-a", f"src={template} dest={out}"),
            *("-e", "colour=blue"),
        ],
        check=True,
        capture_output=True,
    )
    return out.read_text()


def unit_started(folder: Path, answer: str) -> None:
    """Put a service manager in the way that answers so."""
    program = folder / "bin/systemctl"
    program.write_text(SYSTEMCTL.format(folder=folder, answer=answer))
    program.chmod(0o755)


def test_templates_files_and_contents_are_written_and_then_left(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "etc/app"
    files = [
        {"template": "a.conf.j2", "dest": f"{out}/a.conf"},
        {"file": "program", "dest": f"{out}/bin/program", "mode": "0755"},
        {"content": "{{ colour }}\n", "dest": f"{out}/colour", "mode": "0600"},
    ]
    paths = [file["dest"] for file in files]
    first = run(files, "--check", "--diff")
    assert (first["changed"], first["written"]) == (True, paths)
    assert [each["after"] for each in first["diff"]][2] == "blue\n"
    assert not out.exists()

    assert run(files)["written"] == paths
    assert (out / "a.conf").read_text() == by_ansible(tmp_path / "templates/a.conf.j2")
    assert (out / "bin/program").read_text() == "#!/bin/sh\necho {{ as it is }}\n"
    assert (out / "colour").read_text() == "blue\n"
    assert [oct(Path(path).stat().st_mode)[-4:] for path in paths] == ["0644", "0755", "0600"]
    assert oct((out / "bin").stat().st_mode)[-3:] == "755"
    assert sorted(path.name for path in out.iterdir()) == ["a.conf", "bin", "colour"]

    again = run(files, "--diff")
    assert (again["changed"], again["written"], again["diff"]) == (False, [], [])
    (out / "colour").chmod(0o644)
    assert run(files, "--check")["written"] == [f"{out}/colour"]
    assert oct((out / "colour").stat().st_mode)[-3:] == "644"
    assert run(files)["written"] == [f"{out}/colour"]
    assert oct((out / "colour").stat().st_mode)[-3:] == "600"


def test_a_file_that_is_wrong_keeps_all_of_them_from_being_written(
    run: Run, tmp_path: Path
) -> None:
    wrong = {"content": "no\n", "dest": f"{tmp_path}/wrong", "validate": "grep -q yes %s"}
    good = {"content": "good\n", "dest": f"{tmp_path}/good", "backup": True}
    (tmp_path / "good").write_text("former\n")
    found = run([good, wrong])
    assert found["failed"]
    assert f"{tmp_path}/wrong would not be right, so nothing is written" in found["msg"]
    assert "`grep -q yes %s` ends with 1" in found["msg"]
    assert (tmp_path / "good").read_text() == "former\n"
    assert not (tmp_path / "wrong").exists()

    run([good, wrong | {"content": "yes\n"}])
    assert (tmp_path / "good").read_text() == "good\n"
    [former] = tmp_path.glob("good.*~")
    assert former.read_text() == "former\n"


def test_what_came_after_its_unit_started_is_a_change(run: Run, tmp_path: Path) -> None:
    file = {"content": "1\n", "dest": f"{tmp_path}/a"}
    unit_started(tmp_path, "Mon 2001-01-01 00:00:00.500000 UTC")
    first = run([file], read_by="app")
    assert (first["written"], first["unread"]) == ([file["dest"]], [file["dest"]])
    cut_short = run([file], read_by="app", read_at="StateChangeTimestamp")
    assert (cut_short["changed"], cut_short["written"]) == (True, [])
    assert cut_short["unread"] == [file["dest"]]
    asked = (tmp_path / "asked").read_text()
    assert "--property=StateChangeTimestamp app" in asked

    for other in ("other", "lost"):
        (tmp_path / "other").write_text("of another task\n")
        paths = [f"{tmp_path}/{other}"]
        found = run([file], read_by="app", also_read=paths)["unread"]
        assert found == [file["dest"], *(paths if other == "other" else [])]
    os.utime(file["dest"], (978307200.4, 978307200.4))
    assert not run([file], read_by="app")["changed"]
    os.utime(file["dest"], (978307200.6, 978307200.6))
    assert run([file], read_by="app")["changed"]
    unit_started(tmp_path, "")  # it never started
    assert not run([file], read_by="app")["changed"]


def test_what_came_after_a_file_was_touched_is_a_change(run: Run, tmp_path: Path) -> None:
    files = [{"content": "1\n", "dest": f"{tmp_path}/{name}"} for name in ("a", "b")]
    mark, paths = tmp_path / "mark", [file["dest"] for file in files]
    assert run(files, "--check", read_by=str(mark))["unread"] == []
    assert run(files, read_by=str(mark))["unread"] == paths
    mark.touch()
    os.utime(paths[1], (mark.stat().st_mtime + 1, mark.stat().st_mtime + 1))
    assert run(files, read_by=str(mark))["unread"] == [paths[1]]
    mark.unlink()
    assert run(files, read_by=str(mark))["unread"] == paths


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ({"template": "a.conf.j2", "content": "a", "dest": "/x"}, "template and content"),
        ({"dest": "/x"}, "/x needs one of template, file, content, and has none"),
        ({"template": "lost.j2", "dest": "/x"}, "lost.j2"),
        ({"content": "{{ nobody_knows }}", "dest": "/x"}, "nobody_knows"),
        ({"content": "a", "dest": "/x", "mod": "0600"}, "mod"),
        ({"content": "a", "dest": "/dev/null/x"}, "/dev/null/x cannot be written"),
        ({"content": "a", "dest": "/tmp"}, "/tmp cannot be read: Is a directory"),
        ({"content": "a", "dest": "/x", "validate": "true"}, "names no %s"),
    ],
)
def test_what_cannot_be_done_is_said(run: Run, file: dict[str, str], said: str) -> None:
    found = run([file])
    assert found["failed"]
    assert said in found["msg"]
    assert not Path("/x").exists()


def test_what_is_written_is_unread_though_the_unit_started_in_the_future(
    run: Run, tmp_path: Path
) -> None:
    """As where the hardware's clock was hours ahead until the time was synchronised."""
    unit_started(tmp_path, "Mon 2999-11-23 11:13:17.123456 UTC")
    file = {"content": "one\n", "dest": f"{tmp_path}/a"}
    assert run([file], read_by="app")["unread"] == [file["dest"]]
    assert run([file], read_by="app")["unread"] == []


def test_where_one_cannot_be_written_none_is(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("former\n")
    files = [
        {"content": "new\n", "dest": f"{tmp_path}/a"},
        {"content": "new\n", "dest": f"{tmp_path}/b", "group": "nosuchgroup"},
    ]
    found = run(files)
    assert found["failed"]
    assert "nosuchgroup" in found["msg"]
    assert (tmp_path / "a").read_text() == "former\n"
    assert not list(tmp_path.glob(".*")), "a file that was made beside them is left"


def test_a_mode_without_quotes_is_refused(run: Run, tmp_path: Path) -> None:
    found = run([{"content": "new\n", "dest": f"{tmp_path}/a", "mode": 0o640}])
    assert found["msg"] == f"{tmp_path}/a: mode is a number; put it in quotes"
    assert not (tmp_path / "a").exists()


def test_two_files_with_one_path_are_refused(run: Run, tmp_path: Path) -> None:
    found = run(
        [
            {"content": text, "dest": f"{tmp_path}{bars}a"}
            for text, bars in (("1", "/"), ("2", "//"))
        ]
    )
    assert found["msg"] == "two files have the same dest"
