"""What a run over many hosts ends with is true where it ended before its time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import REPO

PLAYS = """
- hosts: n1,n2,n3
  gather_facts: false
  tasks:
    - ansible.builtin.command: "true"
      changed_when: false
    - ansible.builtin.set_fact:
        site_due: {app: [n1, n2, n3], other: []}
      run_once: true
      delegate_to: localhost
      delegate_facts: true
- hosts: n1,n2,n3
  gather_facts: false
  serial: [1, 100%]
  max_fail_percentage: 5
  vars: {site_role: app}
  tasks:
    - ansible.builtin.command: "true"
      changed_when: inventory_hostname in changing | split(',')
      failed_when: inventory_hostname in failing | split(',')
      check_mode: false
    - name: Check the host and stamp it
      ansible.builtin.command: "true"
      changed_when: false
"""


@pytest.mark.parametrize(
    ("failing", "options", "expected"),
    [
        ("", [], "2 current, 1 changed, 0 failed, 0 unreachable"),
        ("n1", [], "0 current, 0 changed, 1 failed, 0 unreachable, 2 still due"),
        ("n3", [], "1 current, 0 changed, 1 failed, 0 unreachable, 1 still due"),
        ("", ["--check"], "2 current, 1 changed, 0 failed, 0 unreachable"),
    ],
)
def test_the_summary(tmp_path: Path, failing: str, options: list[str], expected: str) -> None:
    (tmp_path / "play.yml").write_text(PLAYS)
    done = subprocess.run(
        [
            Path(sys.executable).parent / "ansible-playbook",
            *("-i", "n1,n2,n3,", "-c", "local", *options),
            *("-e", f"failing={failing} changing=n2"),
            tmp_path / "play.yml",
        ],
        env={
            **os.environ,
            "ANSIBLE_CALLBACK_PLUGINS": str(REPO / "playbooks/callback_plugins"),
            "ANSIBLE_CALLBACKS_ENABLED": "site_summary",
            "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"3 hosts: {expected}\n" in done.stdout, done.stdout + done.stderr
