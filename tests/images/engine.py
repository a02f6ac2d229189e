"""Podman as this machine can run it.

What a machine lets containers do differs: control groups of version 1 or 2, a service manager
or none, limits that even root may not raise. All of it is found out here and written once to a
containers.conf, so that nothing else has to pass options for it.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).parents[2]
CACHE = REPO / "build" / "images"
CONTAINERS_CONF = CACHE / "containers.conf"

DEBIAN_PACKAGES = (
    "podman runc conmon netavark aardvark-dns iptables nftables mmdebstrap openssh-client"
)
CAP_SYS_RESOURCE = 24  # bit number, see capabilities(7)
NOFILE_WANTED = 65536
NPROC_WANTED = 16384  # well below the hard limit, which podman lowers for the runtime
MEMLOCK_WANTED_BYTES = 8 * 1024 * 1024


class EngineError(RuntimeError):
    """This machine cannot run the containers. The message says what to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What matters of the machine that runs the containers."""

    cgroup_v2: bool
    systemd: bool
    may_raise_limits: bool
    hard_nofile: int
    hard_nproc: int
    hard_memlock: int

    @property
    def runtime(self) -> str | None:
        """The OCI runtime to insist on; None leaves podman's own choice."""
        return None if self.cgroup_v2 else "runc"  # crun refuses version 1 and hybrids

    def limit(self, wanted: int, hard: int) -> int:
        """Return the limit nearest to `wanted` that this host grants."""
        return wanted if self.may_raise_limits or hard < 0 else min(wanted, hard)

    def containers_conf(self) -> str:
        """Return the configuration for podman, the same text on the same host."""
        limits = {
            "nofile": self.limit(NOFILE_WANTED, self.hard_nofile),
            "nproc": self.limit(NPROC_WANTED, self.hard_nproc),
            "memlock": self.limit(MEMLOCK_WANTED_BYTES, self.hard_memlock),
        }
        quoted = ", ".join(f'"{name}={value}:{value}"' for name, value in limits.items())
        lines = ["[containers]", f"default_ulimits = [{quoted}]", "", "[engine]"]
        if self.runtime:
            lines.append(f'runtime = "{self.runtime}"')
        if not self.systemd:
            lines += ['cgroup_manager = "cgroupfs"', 'events_logger = "file"']
        # The lab has fixed subnets; networks that podman numbers by itself keep out of them.
        lines += [
            "",
            "[network]",
            'default_subnet_pools = [{"base" = "10.90.0.0/16", "size" = 24}]',
        ]
        return "\n".join(lines) + "\n"


def detect() -> Host:
    """Look at the machine."""
    status = Path("/proc/self/status").read_text()
    effective = next(line for line in status.splitlines() if line.startswith("CapEff"))
    return Host(
        cgroup_v2=Path("/sys/fs/cgroup/cgroup.controllers").exists(),
        systemd=Path("/run/systemd/system").is_dir(),
        may_raise_limits=bool(int(effective.split()[1], 16) >> CAP_SYS_RESOURCE & 1),
        hard_nofile=resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        hard_nproc=resource.getrlimit(resource.RLIMIT_NPROC)[1],
        hard_memlock=resource.getrlimit(resource.RLIMIT_MEMLOCK)[1],
    )


def require(host: Host) -> None:
    """Raise EngineError unless this process can run the containers."""
    if os.geteuid() != 0:
        raise EngineError(
            "containers with systemd and fixed addresses need root; run the command with sudo"
        )
    programs = ["podman", "mmdebstrap", "ssh", "ssh-keygen", *filter(None, [host.runtime])]
    if missing := [program for program in programs if shutil.which(program) is None]:
        raise EngineError(
            f"not installed: {', '.join(missing)};"
            f" run: apt-get install --no-install-recommends {DEBIAN_PACKAGES}"
        )


def prepare() -> None:
    """Check the machine and write containers.conf where `environment` points to."""
    host = detect()
    require(host)
    CACHE.mkdir(parents=True, exist_ok=True)
    text = host.containers_conf()
    if not CONTAINERS_CONF.is_file() or CONTAINERS_CONF.read_text() != text:
        CONTAINERS_CONF.write_text(text)


def environment() -> dict[str, str]:
    """Return the environment in which podman reads our containers.conf."""
    return {**os.environ, "CONTAINERS_CONF": str(CONTAINERS_CONF)}


def podman(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run podman and return what it printed; a failure names the command and podman's words."""
    done = subprocess.run(
        ["podman", *arguments], env=environment(), capture_output=True, text=True, check=False
    )
    if check and done.returncode != 0:
        raise EngineError(f"podman {' '.join(arguments)} failed: {done.stderr.strip()}")
    return done
