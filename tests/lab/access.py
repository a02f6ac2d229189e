"""The way into the lab's hosts: keys, known hosts, and a configuration for ssh."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.images import keys
from tests.images.engine import podman
from tests.lab.site import REPO, LabSite

LAB = REPO / "build" / "lab-cluster"
"""Not `build/lab`, where `fireflyer render inventory/lab` writes to."""
SSH = LAB / "ssh"
KEY = SSH / "id_ed25519"
CONFIG = SSH / "config"
HOST_KEY = "/etc/ssh/ssh_host_ed25519_key.pub"


def make_key() -> Path:
    """Make the key that opens the lab unless it exists; return the public half."""
    keys.make(KEY, "fireflyer lab")
    return KEY.with_suffix(".pub")


def write_known_hosts(site: LabSite) -> None:
    """Read each host's key out of its container, so that no first login trusts blindly."""
    lines = []
    for host in site.hosts:
        kind, key = podman("exec", host.name, "cat", HOST_KEY).stdout.split()[:2]
        lines.append(f"{host.name},{host.address} {kind} {key}\n")
    (SSH / "known_hosts").write_text("".join(lines))


def write_config(site: LabSite) -> None:
    """Let people and scripts say `ssh -F build/lab-cluster/ssh/config HOST`."""
    blocks = [f"Host {host.name}\n  HostName {host.address}\n" for host in site.hosts]
    CONFIG.write_text(
        "".join(blocks)
        + "Host *\n"
        + f"  User {site.user}\n  IdentityFile {KEY}\n  IdentitiesOnly yes\n"
        + f"  UserKnownHostsFile {SSH / 'known_hosts'}\n  StrictHostKeyChecking yes\n"
        + "  ConnectTimeout 10\n"
    )


def command(host: str, *words: str) -> list[str]:
    """Return the command that runs `words` on a host, or a shell without them."""
    return ["ssh", "-F", str(CONFIG), host, *words]


def run(
    host: str, command_line: str, timeout_s: float = 60, user: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command line on a host, as its own login of `user`, and return what it printed."""
    return subprocess.run(
        command(f"{user}@{host}" if user else host, command_line),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def remove() -> None:
    """Remove every file of the lab."""
    shutil.rmtree(LAB, ignore_errors=True)
