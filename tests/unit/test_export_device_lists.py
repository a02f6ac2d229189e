"""Device lists of LibreNMS and Oxidized, and the index of all exports."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from tests.conftest import REPO, MakeSite
from tests.sites import ETHERNET

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.render.exports import CONSUMERS, files
from fireflyer.render.exports.index import EXPORTS, reference

LIBRENMS = {
    *("hostname", "display", "snmpver", "port", "transport", "port_association_mode"),
    *("authlevel", "snmp_disable", "os", "sysName", "hardware"),
}
"""Fields of LibreNMS' add_device that need no secret."""
OXIDIZED = {"mlnxos", "eos", "cumulus", "linuxgeneric"}
"""Models in Oxidized's sources of August 2026 that the five systems can use."""


def exported(make_site: MakeSite, changes: dict[str, Any]) -> tuple[Fabric, dict[str, str]]:
    fabric = design(load_site(make_site("lab", changes)))
    return fabric, {path: str(content) for path, content in files(fabric)}


@pytest.mark.parametrize(
    ("changes", "by_snmp"),
    [
        ({}, True),
        (ETHERNET, True),
        (ETHERNET | {"cluster.fabric.system": "frr"}, False),
        (ETHERNET | {"cluster.switch_management": {"monitoring": "gnmi"}}, False),
    ],
)
def test_librenms_polls_what_answers_snmp(
    make_site: MakeSite, changes: dict[str, Any], by_snmp: bool
) -> None:
    fabric, contents = exported(make_site, changes)
    bodies = json.loads(contents["librenms/devices.json"])
    addresses = {switch.name: str(switch.management) for switch in fabric.switches}
    addresses |= {node.name: str(node.management) for node in fabric.nodes}
    assert {body["display"]: body["hostname"] for body in bodies} == addresses
    assert len(bodies) == len(addresses)
    for body in bodies:
        assert set(body) <= LIBRENMS
        if by_snmp and body["display"] in fabric.switch:
            assert (body["snmpver"], body["authlevel"], body["port"]) == ("v3", "authPriv", 161)
        else:
            assert body["snmp_disable"] is True
            assert body["sysName"] == body["display"]


@pytest.mark.parametrize("system", ["mlnxos", "sonic", "nvue", "eos", "frr"])
def test_oxidized_reads_every_switch(make_site: MakeSite, system: str) -> None:
    changes = {} if system == "mlnxos" else ETHERNET | {"cluster.fabric.system": system}
    fabric, contents = exported(make_site, changes)
    text = contents["oxidized/source.yml"].replace("!ruby/regexp ", "")
    settings = yaml.safe_load(text)
    csv = settings["source"]["csv"]
    delimiter = csv["delimiter"].strip("/")
    rows = [line.split(delimiter) for line in contents["oxidized/router.db"].splitlines()]
    table = [{name: row[column] for name, column in csv["map"].items()} for row in rows]
    assert {row["name"]: row["ip"] for row in table} == {
        switch.name: str(switch.management) for switch in fabric.switches
    }
    (model,) = {row["model"] for row in table}
    assert model in OXIDIZED
    uses_nvue = settings.get("models") == {"cumulus": {"vars": {"cumulus_use_nvue": True}}}
    assert uses_nvue == (system == "nvue")


def test_the_index_names_every_export_of_the_site(make_site: MakeSite) -> None:
    _, contents = exported(make_site, ETHERNET)
    page = contents["README.md"]
    folders = {path.split("/")[0] for path in contents if "/" in path}
    assert set(re.findall(r"^\| `([\w-]+)/` ", page, re.M)) == folders
    assert set(EXPORTS) == set(CONSUMERS)
    for folder in folders:
        first = next(path for path in contents if path.startswith(f"{folder}/"))
        assert f"`{first.partition('/')[2]}`" in page


def test_the_reference_is_the_table_of_the_docs() -> None:
    assert reference() in (REPO / "docs" / "exports.md").read_text()
