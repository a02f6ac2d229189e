"""The static inventory: what the inventory plugin gives Ansible, printed."""

from __future__ import annotations

from collections.abc import Mapping

from fireflyer.model.fabric import Fabric
from fireflyer.render.inventory import inventory
from fireflyer.render.template import render


def files(fabric: Fabric) -> Mapping[str, str]:
    """Return `hosts.yml`."""
    found = inventory(fabric)
    text = render("inventory/hosts.yml.j2", site=fabric.intent.name, inventory=found)
    return {"hosts.yml": text}
