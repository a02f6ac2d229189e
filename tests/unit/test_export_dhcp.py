"""DHCP on the management network: who is known, and what a new switch is told."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import MakeSite
from tests.sites import ETHERNET

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.render import ztp
from fireflyer.render.exports import dhcp
from fireflyer.render.exports.wiring import wiring

MACS = {"a-leaf01": "b8:59:9f:00:00:01", "a-cn0001": "0c:42:a1:ab:cd:01"}
LAYERS = ("leaf01", "leaf02", "leaf03", "spine01", "spine02")
ONIE = "http://10.89.0.1/image.bin"


def fabric_of(make_site: MakeSite, system: str, *, ztp_url: bool = True) -> Fabric:
    urls = {"ztp_url": "http://10.89.0.1", "onie_image_url": ONIE} if ztp_url else {}
    changes = {"cluster.fabric.system": system, "cluster.switch_management": urls}
    site = make_site("lab", ETHERNET | changes)
    names = [f"{zone}-{layer}" for zone in "ab" for layer in LAYERS] + ["interzone01"]
    rows = "".join(
        f"{name},SN-{name if name in names else ''},,{MACS.get(name, '')},\n"
        for name in dict.fromkeys([*names, *MACS])
    )
    (site / "assets.csv").write_text(f"name,serial,guid,mac,bmc_mac\n{rows}")
    return design(load_site(site))


def kea(fabric: Fabric) -> tuple[str, dict[str, Any]]:
    ((_, content),) = dhcp.kea(wiring(fabric))
    assert isinstance(content, str)
    server: dict[str, Any] = json.loads(content)["Dhcp4"]
    return content, server


def dnsmasq(fabric: Fabric) -> list[str]:
    ((_, content),) = dhcp.dnsmasq(wiring(fabric))
    assert isinstance(content, str)
    return content.splitlines()


@pytest.mark.parametrize("system", ["sonic", "nvue", "eos"])
def test_a_new_switch_is_told_the_same_by_both(make_site: MakeSite, system: str) -> None:
    fabric = fabric_of(make_site, system)
    options = [(code, value) for code, value, _ in ztp.dhcp_options(fabric)]
    assert (114, ONIE) in options
    _, server = kea(fabric)
    (of_class,) = server["client-classes"]
    told = [(option["code"], option["data"]) for option in of_class["option-data"]]
    assert told == options
    assert [item["code"] for item in server.get("option-def", [])] == [
        code for code, _ in options if code == 239
    ]
    reserved = {item["hostname"]: item for item in server["subnet4"][0]["reservations"]}
    assert {name: item["hw-address"] for name, item in reserved.items()} == MACS
    assert reserved["a-leaf01"]["client-classes"] == [of_class["name"]]
    assert "client-classes" not in reserved["a-cn0001"]


def test_dnsmasq_tags_switches_alone(make_site: MakeSite) -> None:
    fabric = fabric_of(make_site, "sonic")
    hosts = [line for line in dnsmasq(fabric) if line.startswith("dhcp-host=")]
    leaf, node = fabric.switch["a-leaf01"], fabric.node["a-cn0001"]
    assert hosts == [
        f"dhcp-host={MACS['a-leaf01']},set:switch,{leaf.management},a-leaf01",
        f"dhcp-host={MACS['a-cn0001']},{node.management},a-cn0001",
    ]


def test_devices_without_a_mac_are_counted(make_site: MakeSite) -> None:
    fabric = fabric_of(make_site, "sonic")
    unknown = len(fabric.switches) + len(fabric.nodes) - len(MACS)
    _, server = kea(fabric)
    assert server["subnet4"][0]["user-context"] == {"devices-without-mac": unknown}
    assert f"# {unknown} devices have no MAC" in "\n".join(dnsmasq(fabric))


def test_without_a_url_no_switch_is_told_anything(make_site: MakeSite) -> None:
    _, server = kea(fabric_of(make_site, "sonic", ztp_url=False))
    assert "client-classes" not in server
    assert "client-classes" not in json.dumps(server["subnet4"])


def needs(program: str, package: str) -> str:
    """Return a program's path, or skip and say what is missing."""
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        pytest.skip(f"{program} is not installed: apt-get install {package}")
    return found


def checked(*command: str | Path) -> str:
    """Run a program that checks a file; return all it says."""
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize("system", ["sonic", "nvue", "eos"])
def test_kea_takes_the_options(make_site: MakeSite, system: str, tmp_path: Path) -> None:
    content, _ = kea(fabric_of(make_site, system))
    file = tmp_path / "kea-dhcp4.conf"
    file.write_text(content)
    said = checked(needs("kea-dhcp4", "kea-dhcp4-server"), "-t", file)
    assert not re.search("ERROR|WARN", said), said


def test_dnsmasq_takes_the_tags_and_the_options(make_site: MakeSite, tmp_path: Path) -> None:
    fabric = fabric_of(make_site, "sonic")
    files = dict(ztp.files(fabric)) | {"management.conf": "\n".join(dnsmasq(fabric)) + "\n"}
    program = needs("dnsmasq", "dnsmasq-base")
    names = ("dhcp-options.conf", "management.conf")
    for name in names:
        (tmp_path / name).write_text(files[name])
    told = [f"--conf-file={tmp_path / name}" for name in names]
    assert "OK" in checked(program, "--test", *told)
