"""The collection fireflyer.cluster is what the repository has, under the same names."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml
from tests.conftest import REPO

from fireflyer import __version__
from fireflyer.render.roles import page

COLLECTION = REPO / "collections/ansible_collections/fireflyer/cluster"
ROLES = sorted(path.parts[-3] for path in (REPO / "roles").glob("*/meta/main.yml"))
PAGE = REPO / "docs/roles.md"
NAME = re.compile(r"\bfireflyer\.cluster\.(\w+)")
FILTERS = re.compile(r'f"(\w+_)\{function\.__name__\}"')


def galaxy() -> dict[str, object]:
    """Return the collection's galaxy.yml."""
    found: dict[str, object] = yaml.safe_load((COLLECTION / "galaxy.yml").read_text())
    return found


@pytest.mark.parametrize("name", ["roles", "plugins", "stack", "LICENSE", "CHANGELOG.md"])
def test_it_is_links_to_the_repository(name: str) -> None:
    assert (COLLECTION / name).resolve() == REPO / name


def test_it_has_the_packages_version_and_asks_for_the_collections_that_the_roles_use() -> None:
    assert galaxy()["version"] == __version__
    wanted = yaml.safe_load((REPO / "requirements.yml").read_text())["collections"]
    assert galaxy()["dependencies"] == {asked["name"]: f">={asked['version']}" for asked in wanted}


def test_every_name_of_the_collection_that_a_file_uses_is_there() -> None:
    known = {*ROLES, *(file.stem for file in (REPO / "plugins/modules").glob("*.py"))}
    for file in (REPO / "plugins/filter").glob("*.py"):
        [prefix] = FILTERS.findall(file.read_text())
        known |= {prefix + name for name in re.findall(r"^def ([a-z]\w+)", file.read_text(), re.M)}
    used = {
        (file.relative_to(REPO), name)
        for top in ("roles", "playbooks")
        for file in (REPO / top).rglob("*.yml")
        for name in NAME.findall(file.read_text())
    }
    assert used
    assert {(file, name) for file, name in used if name not in known} == set()


def test_the_page_of_roles_is_current(request: pytest.FixtureRequest) -> None:
    current = page(REPO / "roles")
    if request.config.getoption("--update-golden"):
        PAGE.write_text(current)
    assert current == PAGE.read_text(), "if meant: pytest --update-golden"
    assert re.findall(r"^## \[(\w+)\]", current, re.M) == ROLES


def test_one_role_installed_elsewhere_works_in_a_playbook_of_ones_own(tmp_path: Path) -> None:
    """As a new user has it: the archive alone, no file of the repository beside it."""
    tools = Path(sys.executable).parent
    subprocess.run([REPO / "scripts/build-collection", tmp_path], check=True, capture_output=True)
    [archive] = tmp_path.glob("fireflyer-cluster-*.tar.gz")
    with tarfile.open(archive) as packed:
        names = packed.getnames()
    assert not [name for name in names if "molecule" in name or "/tests/" in name]
    assert {name.split("/")[1] for name in names if name.startswith("roles/")} == set(ROLES)
    installed = tmp_path / "elsewhere"
    environment = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    # The dependencies come with the `ansible` wheel here, and from Galaxy elsewhere.
    done = run("ansible-galaxy", "collection", "install", str(archive), "--no-deps",
               "--offline", "-p", str(installed))  # fmt: skip
    assert done.returncode == 0, done.stderr
    environment["ANSIBLE_COLLECTIONS_PATH"] = str(installed)
    (tmp_path / "mine.yml").write_text(
        "- hosts: localhost\n  connection: local\n  gather_facts: false\n"
        "  roles:\n    - role: fireflyer.cluster.node_exporter\n      node_exporter_port: many\n"
    )
    done = run("ansible-playbook", "mine.yml")
    assert done.returncode == 2
    assert "node_exporter_port" in done.stdout + done.stderr
    assert "Validate arguments of" in done.stdout or "Validating arguments" in done.stdout
    done = run("ansible-doc", "-t", "role", "-l", "fireflyer.cluster")
    assert set(NAME.findall(done.stdout)) == set(ROLES)
