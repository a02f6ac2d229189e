"""The edits of roles are edits: YAML as before, one thing changed."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.conftest import REPO
from tests.mutations_roles.edits import edits, sample

ROLES = REPO / "roles"
NAMES = sorted(path.parts[-3] for path in ROLES.glob("*/meta/main.yml"))
TASKS = """---
- name: Install it
  ansible.builtin.apt:
    name: it
    state: present

- name: Look
  ansible.builtin.debug: {msg: there}

- name: Run it
  when: it_runs
  block:
    - name: Start it
      ansible.builtin.systemd_service: {name: it, enabled: true}
      notify: Tell

- name: Write it
  fireflyer.cluster.config_files:
    files:
      - {template: a.j2, dest: /a}
      - {template: b.j2, dest: /b}

- name: Write another
  fireflyer.cluster.config_files:
    files:
      - {template: c.j2, dest: /c}
"""


@pytest.mark.parametrize("name", NAMES)
def test_each_edit_can_be_read_and_changes_one_file(name: str) -> None:
    found = list(edits(ROLES, name))
    assert found
    for edit in found:
        before = (ROLES / edit.file).read_text()
        assert yaml.safe_load(edit.text) != yaml.safe_load(before), edit.what
        assert len(yaml.safe_load(edit.text)) == len(yaml.safe_load(before)), edit.what


def test_what_is_edited(tmp_path: Path) -> None:
    (tmp_path / "it/tasks").mkdir(parents=True)
    (tmp_path / "it/tasks/main.yml").write_text(TASKS)
    found = {edit.what: yaml.safe_load(edit.text) for edit in edits(tmp_path, "it")}
    assert set(found) == {
        "removed: Install it",
        "removed: Start it",
        "state: present is state: absent",
        "enabled: true is enabled: false",
        "removed: Write it",
        "removed: Write another",
        "left out: notify: Tell",
        "left out: - {template: a.j2, dest: /a}",
        "left out: - {template: b.j2, dest: /b}",
    }
    gone = {"name": "Removed", "ansible.builtin.meta": "noop"}
    assert found["removed: Install it"][0] == gone
    assert found["removed: Start it"][2]["block"] == [gone]
    assert found["removed: Start it"][:2] == yaml.safe_load(TASKS)[:2]


def test_a_sample_is_the_same_each_time_and_has_removals() -> None:
    drawn = sample(ROLES, "host_base", 10, seed=1)
    assert drawn == sample(ROLES, "host_base", 10, seed=1)
    assert drawn != sample(ROLES, "host_base", 10, seed=2)
    assert len(drawn) == 10
    assert sum(edit.what.startswith("removed") for edit in drawn) >= 5
