"""What the shell scripts do with what they are given."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from tests.conftest import REPO

MODELS = "src/sonic-yang-models"
PROOF = """netbox: the documented fields of NetBox's forms
  files 10
sonic-models: yanglint
  skipped: no SONiC YANG models: `scripts/sonic-yang-models` fetches
infiniband: not brought to an end
  failed: opensm ended with 1
time: 3.0 s
"""


def sonic_yang_models(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
    command = (str(REPO / "scripts/sonic-yang-models"), str(source))
    environment = os.environ | {"FIREFLYER_SONIC_YANG": str(target)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a folder with the layout of sonic-buildimage."""
    models = tmp_path / "image" / MODELS
    (models / "yang-models").mkdir(parents=True)
    (models / "yang-templates").mkdir()
    (models / "yang-models" / "sonic-port.yang").write_text("module sonic-port { }\n")
    text = "module sonic-acl {\n{% if yang_model_type == 'py' %}\n  leaf a;\n{% endif %}\n}\n"
    (models / "yang-templates" / "sonic-acl.yang.j2").write_text(text)
    return tmp_path / "image"


def test_models_are_copied_and_their_templates_rendered(checkout: Path, tmp_path: Path) -> None:
    target = tmp_path / "models"
    for _ in range(2):  # the second time over the first
        done = sonic_yang_models(checkout, target)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"sonic-yang-models: 2 models in {target}\n"
    assert (target / "sonic-port.yang").read_text() == "module sonic-port { }\n"
    assert (target / "sonic-acl.yang").read_text() == "module sonic-acl {\n  leaf a;\n}"


def test_other_files_are_kept(checkout: Path, tmp_path: Path) -> None:
    target = tmp_path / "mine"
    target.mkdir()
    (target / "thesis.txt").write_text("x")
    done = sonic_yang_models(checkout, target)
    assert done.returncode == 2
    assert done.stderr == (
        f"sonic-yang-models: {target} holds other files than models; move them away\n"
    )
    assert (target / "thesis.txt").read_text() == "x"


def test_a_folder_that_is_no_sonic_buildimage(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert sonic_yang_models(tmp_path / "empty", tmp_path / "models").returncode != 0
    assert not (tmp_path / "models").exists()


def test_the_demo_names_what_was_not_run(tmp_path: Path) -> None:
    text = (REPO / "scripts/demo").read_text()
    begin = text.index("left_out() {")
    function = text[begin : text.index("\n}\n", begin) + 3]
    (tmp_path / "proof.txt").write_text(PROOF)
    command = f"{function}left_out a-site {tmp_path / 'proof.txt'}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert [line.strip() for line in done.stdout.splitlines()] == [
        "a-site sonic-models: skipped: no SONiC YANG models: `scripts/sonic-yang-models` fetches",
        "a-site infiniband: failed: opensm ended with 1",
    ]


def test_clean_keeps_what_switches_ran_before(tmp_path: Path) -> None:
    """`make clean` in a folder like this one, with programs that do nothing in place of Python."""
    fabric = yaml.safe_load((REPO / "inventory/from_fabric.yml").read_text())
    named = fabric["switch_config_backup_directory"].replace("{{ cluster.name }}", "site")
    backup = Path(named.replace("{{ inventory_dir }}", str(tmp_path / "inventory/site")))
    rendered = tmp_path / "build/site/cables.csv"
    for folder in (tmp_path / "inventory/site", backup, rendered.parent, tmp_path / "bin"):
        folder.mkdir(parents=True)
    (backup / "a-leaf01.json").touch()
    rendered.touch()
    (tmp_path / "bin/python").symlink_to(shutil.which("true") or "/bin/true")
    shutil.copy(REPO / "Makefile", tmp_path)
    subprocess.run(["make", "clean", "VENV=bin"], cwd=tmp_path, check=True, capture_output=True)
    assert not rendered.exists()
    assert (backup / "a-leaf01.json").exists()
