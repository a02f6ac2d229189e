"""What a host does at its first start, the same for every provider."""

from __future__ import annotations

import base64

import yaml

from fireflyer.model.replica_plan import PlannedHost, ReplicaPlan
from fireflyer.render.replica_routes import UNIT, route_files


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
    files = route_files(plan, host) if host is not None else {}
    if files:
        told["write_files"] = [{"path": path, "content": text} for path, text in files.items()]
        told["runcmd"] = [["systemctl", "daemon-reload"], ["systemctl", "enable", "--now", UNIT]]
    return f"#cloud-config\n{yaml.safe_dump(told, sort_keys=False)}"
