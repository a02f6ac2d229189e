"""What a host does at its first start, the same for every provider."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

import yaml

from fireflyer.model.replica_plan import PlannedHost, ReplicaPlan
from fireflyer.render.replica_routes import UNIT, route_files

PROGRAM = "/usr/local/sbin/replica-end"
END = "replica-end"
END_TIMER = f"{END}.timer"
"""It ends the host by itself, should the provider's schedule be gone."""


def user_data(plan: ReplicaPlan, name: str, host: PlannedHost | None = None) -> str:
    """Return what cloud-init reads, as providers take it; `host` has interfaces of the plan's."""
    return base64.b64encode(cloud_config(plan, name, host).encode()).decode()


def cloud_config(plan: ReplicaPlan, name: str, host: PlannedHost | None) -> str:
    """Return what cloud-init does: a name, ways out, and nothing secret."""
    told: dict[str, object] = {
        "hostname": name,
        "fqdn": f"{name}.{plan.domain}",
        "preserve_hostname": False,
        # The playbooks write it; Debian's images write it anew at every start.
        "manage_etc_hosts": False,
    }
    routes = route_files(plan, host) if host is not None else {}
    units = [*((UNIT,) if routes else ()), END_TIMER]
    files = {**routes, **end_files(plan.intent.provider)}
    told["write_files"] = [
        {"path": PROGRAM, "content": Path(__file__).with_name("replica_end.py").read_text(),
         "permissions": "0755"},
        *({"path": path, "content": text} for path, text in files.items()),
    ]  # fmt: skip
    told["runcmd"] = [
        ["systemctl", "daemon-reload"],
        *(["systemctl", "enable", "--now", unit] for unit in units),
    ]
    return f"#cloud-config\n{yaml.safe_dump(told, sort_keys=False)}"


def end_files(provider: str) -> Mapping[str, str]:
    """Return the units that end a host, by path.

    No end is in them: it is the machine's tag, which a later end changes without a new machine.
    """
    return {
        f"/etc/systemd/system/{END}.service": (
            "[Unit]\nDescription=End this host once its replica's time is over\n\n"
            f"[Service]\nType=oneshot\nExecStart={PROGRAM} {provider}\n"
        ),
        f"/etc/systemd/system/{END_TIMER}": (
            "[Unit]\nDescription=Look every five minutes whether the replica's time is over\n\n"
            "[Timer]\nOnBootSec=5min\nOnUnitInactiveSec=5min\n\n"
            "[Install]\nWantedBy=timers.target\n"
        ),
    }
