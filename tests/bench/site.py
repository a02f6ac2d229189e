"""What `site.yml` takes where nothing is due: `python -m tests.bench.site` (root).

Every host is asked over an SSH connection of its own, in a network namespace of this machine's: one
sshd answers for all of them, at an address of 127/8 for each, and says what the host's stamps are.
So connections, logins and Ansible are real, the answers are recorded, and the hosts' side of it
costs this machine's processors too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager
from playbooks.filter_plugins.site_plan import site_digests
from tests.bench.measure import load
from tests.lab.access import make_key

REPO = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
PORT = 2222
ANSWER = """#!/bin/sh
# The stamps of the host that was called.
cat {folder}/answers/$(echo "$SSH_CONNECTION" | cut -d' ' -f3)
"""
SSHD = """Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PermitRootLogin yes
StrictModes no
UsePAM no
MaxStartups 500
PidFile none
ForceCommand {folder}/answer
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run took."""

    hosts: int
    wall_s: float
    ansible_cpu_s: float
    """User and system, of Ansible, its workers and the programs they ran."""
    connections_cpu_s: float
    """Of the connections that stay open."""


def record(site: Path, hosts: int | None, folder: Path) -> tuple[Path, list[str]]:
    """Write the answer of each server, and the inventory that says where it answers."""
    init_plugin_loader([])
    loader = DataLoader()
    groups = InventoryManager(loader, sources=[str(site)]).get_groups_dict()
    servers = [host for role in ("compute", "storage", "management") for host in groups[role]]
    servers = servers[:hosts]
    addresses = {
        host: f"127.1.{number // 250}.{number % 250 + 1}" for number, host in enumerate(servers)
    }
    file = folder / "hosts.ini"
    file.write_text(
        "[all]\n"
        + "".join(
            f"{host} ansible_host={address} ansible_port={PORT} ansible_user=root"
            f" ansible_ssh_private_key_file={folder}/user_key ansible_become=false"
            f" ansible_ssh_common_args='-o UserKnownHostsFile={folder}/known_hosts'\n"
            for host, address in addresses.items()
        )
    )
    # As the run will have it: what is said there is a part of what a stamp stands for.
    inventory = InventoryManager(loader, sources=[str(site), str(file)])
    hostvars = HostVars(inventory, VariableManager(loader, inventory), loader)
    digests = site_digests(hostvars, inventory.get_groups_dict())
    (folder / "answers").mkdir()
    for host, address in addresses.items():
        stamps = (f"stamp {name} {of[host]}\n" for name, of in digests.items() if host in of)
        (folder / "answers" / address).write_text("".join(stamps))
    return file, servers


@contextmanager
def answering(folder: Path) -> Iterator[None]:
    """Let one sshd answer for every host."""
    for name in ("host_key", "user_key"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True
        )
    key = " ".join((folder / "host_key.pub").read_text().split()[:2])
    (folder / "known_hosts").write_text(f"[127.*.*.*]:{PORT} {key}\n")
    (folder / "answer").write_text(ANSWER.format(folder=folder))
    (folder / "answer").chmod(0o755)
    (folder / "sshd_config").write_text(SSHD.format(folder=folder, port=PORT))
    Path("/run/sshd").mkdir(exist_ok=True)
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin") or "sshd"
    with subprocess.Popen([sshd, "-D", "-f", folder / "sshd_config"]) as daemon:
        time.sleep(1)
        try:
            yield
        finally:
            daemon.terminate()


def measure(site: Path, hosts: int | None) -> Run:
    """Run `site.yml` once and return what it took.

    Raises:
        SystemExit: it failed, or found something due.
    """
    with tempfile.TemporaryDirectory(prefix="ff-site-") as text, answering(folder := Path(text)):
        file, asked = record(site, hosts, folder)
        (folder / "limit").write_text("\n".join([*asked, "localhost"]))
        log = folder / "log"
        command = [str(BIN / "ansible-playbook"), f"-i{site}", f"-i{file}", "playbooks/site.yml"]
        if hosts is not None:
            command.append(f"--limit=@{folder}/limit")
        started = time.monotonic()
        with log.open("w") as output:
            process = subprocess.Popen(
                command,
                cwd=REPO,
                env={**os.environ, "ANSIBLE_SSH_CONTROL_PATH_DIR": str(folder)},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - started
        connections_cpu_s = end_connections(folder)
        said = log.read_text()
        if status != 0 or f"{len(asked)} hosts: {len(asked)} current" not in said:
            raise SystemExit(f"site.yml did not find {len(asked)} current hosts:\n{said[-3000:]}")
    return Run(
        hosts=len(asked),
        wall_s=wall_s,
        ansible_cpu_s=usage.ru_utime + usage.ru_stime,
        connections_cpu_s=connections_cpu_s,
    )


def end_connections(folder: Path) -> float:
    """End the connections that Ansible left open, and return the processor time they took."""
    cpu_s = 0.0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"ssh: {folder}" not in (process / "cmdline").read_text():
                continue
            cpu_s += int((process / "schedstat").read_text().split()[0]) / 1e9
            os.kill(int(process.name), 15)
        except (OSError, ValueError):
            continue
    return cpu_s


def main() -> int:
    """Print a table; return 0, or 3 where it cannot run."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.site", description=__doc__)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if not asked.inside:
        if os.geteuid() != 0 or not shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin"):
            print("bench: needs root, for a network namespace, and openssh-server", file=sys.stderr)
            return 3
        again = 'ip link set lo up && exec "$0" -m tests.bench.site --inside'
        return subprocess.run(
            ["unshare", "--net", "sh", "-c", again, sys.executable], cwd=REPO, check=False
        ).returncode
    make_key()  # users of the lab log in with it
    print(load())
    print("| hosts | wall s | CPU s of Ansible | CPU s of open connections | ms a host |")
    print("| --- | --- | --- | --- | --- |")
    ff2 = REPO / "inventory/fire-flyer-2"
    for site, hosts in ((REPO / "inventory/lab", None), (ff2, 150), (ff2, None)):
        run = measure(site, hosts)
        each_ms = (run.ansible_cpu_s + run.connections_cpu_s) / run.hosts * 1000
        print(
            f"| {run.hosts:,} | {run.wall_s:.1f} | {run.ansible_cpu_s:.1f} |"
            f" {run.connections_cpu_s:.1f} | {each_ms:.0f} |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
