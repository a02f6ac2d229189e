"""The lab's containers and networks. Every one carries a label, and nothing else is touched."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.images.engine import EngineError, podman
from tests.lab import routes
from tests.lab.site import MANAGEMENT, REPO, LabError, LabHost, LabSite

LABEL_NAME = "fireflyer.lab"
LABEL = f"{LABEL_NAME}={REPO}"
"""The checkout that made it: two checkouts never touch each other's lab."""
PREFIX = "fireflyer-lab"
STARTED_WITHIN_S = 90

# A machine has room for some 30 systemd hosts only after this is raised.
INOTIFY = Path("/proc/sys/fs/inotify/max_user_instances")
INOTIFY_INSTANCES = 2048


def make_room() -> None:
    """Let the kernel watch as many files as the hosts' service managers want."""
    if int(INOTIFY.read_text()) < INOTIFY_INSTANCES:
        try:
            INOTIFY.write_text(f"{INOTIFY_INSTANCES}\n")
        except OSError as error:
            raise LabError(
                f"fs.inotify.max_user_instances cannot be raised ({error});"
                f" run: sysctl -w fs.inotify.max_user_instances={INOTIFY_INSTANCES}"
            ) from error


def states() -> Mapping[str, str]:
    """Return the state of each container of the lab: running, exited, ..."""
    listed = podman("ps", "--all", "--filter", f"label={LABEL}", "--format", "json").stdout
    return {container["Names"][0]: container["State"] for container in json.loads(listed)}


def make_way(tell: Callable[[str], None]) -> None:
    """Refuse to start beside the lab of another checkout; remove one whose checkout is gone."""
    listed = podman("ps", "--all", "--filter", f"label={LABEL_NAME}", "--format", "json").stdout
    owners = {container["Labels"][LABEL_NAME] for container in json.loads(listed)}
    for owner in sorted(owners - {str(REPO)}):
        if Path(owner).is_dir():
            raise LabError(
                f"the lab of {owner} is on this machine and has the same names and addresses;"
                f" run there: make lab-down"
            )
        hosts, networks = remove(f"{LABEL_NAME}={owner}")
        tell(f"removed {hosts} hosts and {networks} networks of {owner}, which is gone")


def ids(label: str = LABEL) -> tuple[str, ...]:
    """Return what tells this lab's containers from any made before or after."""
    return _lines("ps", "--all", "--filter", f"label={label}", "--quiet", "--no-trunc")


def create_networks(site: LabSite) -> int:
    """Create the networks that are missing; return how many."""
    there = _lines("network", "ls", "--filter", f"label={LABEL}", "--format", "{{.Name}}")
    missing = [name for name in site.networks if f"{PREFIX}-{name}" not in there]
    for name in missing:
        # The fabric's networks lead nowhere but to each other, unless there is a router.
        closed = [] if name == MANAGEMENT or site.routed else ["--internal"]
        try:
            podman(
                "network", "create", "--disable-dns", "--label", LABEL, *closed,
                "--subnet", site.networks[name], f"{PREFIX}-{name}",
            )  # fmt: skip
        except EngineError as error:
            raise LabError(
                f"the network {name} cannot be made: {error}. If another network has"
                f" {site.networks[name]}, remove that one (podman network ls), or change"
                " cluster.addresses in inventory/lab/group_vars/all/cluster.yml"
            ) from error
    if site.routed:
        routes.keep_addresses(site.routed, LABEL)
    return len(missing)


def create_hosts(site: LabSite, image: str, authorized_key: Path) -> int:
    """Create or start the hosts that do not run; return how many."""
    before = states()
    touched = 0
    for host in site.hosts:
        if before.get(host.name) == "running":
            continue
        touched += 1
        if host.name in before:
            podman("start", host.name)
        else:
            podman("run", "--detach", *_options(host, authorized_key), image)
    return touched


def _options(host: LabHost, authorized_key: Path) -> list[str]:
    networks = [
        f"--network={PREFIX}-{i.network}:ip={i.address},interface_name={i.name}"
        for i in host.interfaces
    ]
    return [
        "--name", host.name,
        "--hostname", host.name,
        "--label", LABEL,
        "--systemd=always",
        "--no-hosts",  # /etc/hosts is for Ansible to write
        "--volume", f"{authorized_key}:/root/.ssh/authorized_keys:ro",
        *(f"--device=/dev/null:{file}" for file in host.devices),
        *networks,
    ]  # fmt: skip


def wait_started(site: LabSite) -> None:
    """Wait until each host's service manager has started all it should."""
    deadline = time.monotonic() + STARTED_WITHIN_S
    for host in site.hosts:
        while True:
            asked = podman("exec", host.name, "systemctl", "is-system-running", check=False)
            state = asked.stdout.strip()
            if state in ("running", "degraded"):
                break
            if time.monotonic() > deadline:
                raise LabError(
                    f"{host.name} is {state or asked.stderr.strip()} after {STARTED_WITHIN_S} s;"
                    f" see: podman logs {host.name}, podman exec {host.name} systemctl list-jobs"
                )
            time.sleep(0.5)


def let_in(site: LabSite) -> None:
    """Make the user that Ansible logs in as, as an image that one rents has it: sudo, and a key."""
    if site.user == "root":
        return
    home = f"/home/{site.user}"
    own = f"--owner={site.user} --group={site.user}"
    make = (
        f"set -e; id {site.user} > /dev/null 2>&1 ||"
        f" useradd --create-home --shell=/bin/bash {site.user};"
        f" install --directory {own} --mode=0700 {home}/.ssh;"
        f" install {own} --mode=0600 /root/.ssh/authorized_keys {home}/.ssh/authorized_keys;"
        f" echo '{site.user} ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/{site.user}"
    )
    for host in site.hosts:
        podman("exec", host.name, "sh", "-c", make)


def remove(label: str = LABEL) -> tuple[int, int]:
    """Remove the lab's containers and networks; return how many of each."""
    containers = ids(label)
    if containers:
        podman("rm", "--force", "--time", "2", "--volumes", *containers)
    networks = _lines("network", "ls", "--filter", f"label={label}", "--quiet")
    if networks:
        podman("network", "rm", *networks)
    routes.forget(label)
    return len(containers), len(networks)


def _lines(*arguments: str) -> tuple[str, ...]:
    return tuple(sorted(podman(*arguments).stdout.split()))
