"""What the image holds: Debian with systemd, reachable over SSH, and little else."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

SYSTEMS = {"debian12": "bookworm", "debian13": "trixie"}
"""What roles are tried on, and the archive's name of it."""
SYSTEM_VARIABLE = "FIREFLYER_TEST_SYSTEM"
"""Environment variable: which of them the image is; the first if it is not set."""
SOURCES_VARIABLE = "FIREFLYER_APT_SOURCES"
"""Environment variable: a file of `deb ...` lines to build from instead of the host's own."""
CA_VARIABLE = "FIREFLYER_EXTRA_CA"
"""Environment variable: a file of certificates that the image shall trust besides its own."""

IMAGE_PACKAGES = (
    "systemd", "systemd-sysv", "dbus", "python3", "python3-apt", "sudo", "ca-certificates",
    "iproute2", "iputils-ping", "procps", "openssh-server",
)  # fmt: skip
"""What a freshly installed machine has."""

DOWNLOADED_PACKAGES = (
    "chrony", "ethtool", "frr", "frr-pythontools", "ibsim-utils", "infiniband-diags",
    "libumad2sim0", "munge", "opensm", "pciutils", "prometheus-node-exporter", "rsync",
    "slurm-client", "slurmctld", "slurmd",
)  # fmt: skip
"""What roles and scenarios install. Only fetched: seven hosts need not fetch it seven times."""

MASKED_UNITS = (
    "systemd-udevd.service", "systemd-udevd-control.socket", "systemd-udevd-kernel.socket",
    "systemd-udev-trigger.service", "systemd-logind.service", "systemd-modules-load.service",
    "systemd-networkd-wait-online.service", "systemd-timesyncd.service", "getty.target",
    "getty@tty1.service", "console-getty.service", "apt-daily.timer", "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer",
)  # fmt: skip
"""Units that wait for hardware a container lacks, or that would run apt beside Ansible."""

VARIABLES = (
    "container=podman",
    # From Debian 13 on systemd boots on control groups of version 1 only if it is told to.
    "SYSTEMD_PROC_CMDLINE=SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1",
)
"""Environment of the first process."""

FILES = {
    # What dies with the container need not reach the disk at once.
    "etc/dpkg/dpkg.cfg.d/container": "force-unsafe-io\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost ip6-localhost\n",
    # Each container makes its own host keys at its first start.
    "etc/systemd/system/ssh.service.d/host-keys.conf": (
        "[Service]\n"
        "ExecStartPre=\n"
        "ExecStartPre=/usr/bin/ssh-keygen -A\n"
        "ExecStartPre=/usr/sbin/sshd -t\n"
    ),
    # A container may not set the clock nor build chrony's sandbox; with -x chronyd needs neither.
    "etc/systemd/system/chrony.service.d/container.conf": (
        "[Unit]\nConditionCapability=\n\n"
        "[Service]\nProcSubset=all\nProtectProc=default\nDevicePolicy=auto\nDeviceAllow=\n"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything that decides what is in the image, apart from the archive's own changes."""

    sources: tuple[str, ...]
    """Lines for sources.list; none leaves the choice to mmdebstrap."""
    extra_ca: str
    """Certificates to trust, in PEM, or nothing."""
    system: str = next(iter(SYSTEMS))
    packages: tuple[str, ...] = IMAGE_PACKAGES
    downloads: tuple[str, ...] = DOWNLOADED_PACKAGES
    masked_units: tuple[str, ...] = MASKED_UNITS
    files: tuple[tuple[str, str], ...] = tuple(FILES.items())
    variables: tuple[str, ...] = VARIABLES

    @property
    def suite(self) -> str:
        """The archive's name of the system."""
        return SYSTEMS[self.system]

    @property
    def digest(self) -> str:
        """A short name for exactly this recipe."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:12]


def from_environment() -> Recipe:
    """Return the recipe for this machine, as its apt and its environment variables say.

    Raises:
        ValueError: there is no such system.
    """
    system = os.environ.get(SYSTEM_VARIABLE) or next(iter(SYSTEMS))
    if system not in SYSTEMS:
        raise ValueError(f"{SYSTEM_VARIABLE} is {system}; there are {', '.join(SYSTEMS)}")
    if path := os.environ.get(SOURCES_VARIABLE):
        sources = tuple(line for line in Path(path).read_text().splitlines() if line.strip())
    else:
        sources = host_sources(SYSTEMS[system])
    extra_ca = os.environ.get(CA_VARIABLE, "")
    return Recipe(
        sources=sources,
        extra_ca=Path(extra_ca).read_text() if extra_ca else "",
        system=system,
    )


def host_sources(suite: str) -> tuple[str, ...]:
    """Return the host's own sources, for another release of Debian; none on another system."""
    form = "$(ORIGIN)|$(REPO_URI)|$(CODENAME)|$(COMPONENT)"
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", form, "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = []
    for line in listed.splitlines():
        origin, address, codename, component = line.split("|")
        own, dash, part = codename.partition("-")
        if origin == "Debian" and own in SYSTEMS.values():
            lines.append(f"deb {address} {suite}{dash}{part} {component}")
    return tuple(dict.fromkeys(lines))
