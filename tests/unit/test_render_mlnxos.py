"""MLNX-OS: who may reach a switch, and how it is watched."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import MakeSite

from fireflyer.design import design
from fireflyer.design.switch_config import switch_configs
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.prove.switches.mlnxos_shape import configuration_findings, planned
from fireflyer.render import mlnxos

RULE = "ip filter chain input rule append tail target accept dup-delete"


def test_says_what_the_switch_should_hold(fire_flyer_2: Fabric) -> None:
    fabric = fire_flyer_2
    for config in switch_configs(fabric):
        cabled = {p.number: far for p, far in fabric.far_end.items() if p.device == config.name}
        plan = planned(fabric, fabric.switch[config.name], cabled)
        assert not list(configuration_findings("x.cfg", mlnxos.text(config), plan))


def test_only_allowed_sources_come_in(make_site: MakeSite) -> None:
    allowed = {"cluster.switch_management": {"allowed_sources": ["10.0.0.0/8", "172.16.4.0/24"]}}
    for config in switch_configs(design(load_site(make_site("lab", allowed)))):
        found = mlnxos.text(config).splitlines()
        sources = [line.removeprefix(f"{RULE} source-addr ") for line in found if RULE in line]
        assert [s for s in sources if "/" in s] == [
            "127.0.0.1 /32",
            "10.0.0.0 /8",
            "172.16.4.0 /24",
        ]
        accepts = max(n for n, line in enumerate(found) if line.startswith(RULE))
        assert found.index("ip filter chain input policy drop") > accepts
        assert found.index("ip filter enable") > accepts


@pytest.mark.parametrize(
    ("monitoring", "line"),
    [("snmpv3", "no snmp-server enable communities"), ("none", "no snmp-server enable")],
)
def test_monitoring(monitoring: str, line: str, make_site: MakeSite) -> None:
    changes: dict[str, Any] = {"cluster.switch_management": {"monitoring": monitoring}}
    for config in switch_configs(design(load_site(make_site("lab", changes)))):
        assert line in mlnxos.text(config).splitlines()
