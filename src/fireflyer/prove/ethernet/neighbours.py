"""What each switch hears from its neighbours (LLDP, IEEE 802.1AB), against the cable plan."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from fireflyer.model.fabric import CableRole, Fabric
from fireflyer.prove.ethernet.living import FOLDER, Living
from fireflyer.verify.cabling import End, SeenLink, cabling_findings
from fireflyer.verify.finding import Finding

WAIT_S = 30
"""Each switch speaks every second; a cable that nobody spoke over by then is down."""

_SETTINGS = "lldpd.conf"
_LLDPD = "configure lldp portidsubtype ifname\nconfigure lldp tx-interval 1\n"


@contextmanager
def lldp(living: Living) -> Iterator[None]:
    """Run lldpd on every switch while the block runs."""
    living.box.outside(FOLDER / _SETTINGS).write_text(_LLDPD)
    script = "".join(
        f"ip netns exec {name} unshare --uts sh -c 'hostname {name}; exec lldpd -d"
        f' -u {FOLDER}/{name}/lldpd.sock -O {FOLDER}/{_SETTINGS} -I "$0" -C none\''
        f" {shlex.quote(_pattern(living, name))} >{FOLDER}/{name}/lldpd.log 2>&1 &"
        f" echo $! >{FOLDER}/{name}/lldpd.pid\n"
        for name in living.configs
    )
    living.box.run("sh", stdin=script)
    try:
        yield
    finally:
        living.box.run("sh", "-c", f"kill $(cat {FOLDER}/*/lldpd.pid)")


def cabling(living: Living, wait_s: float = WAIT_S) -> tuple[int, tuple[Finding, ...]]:
    """Wait until every switch has heard of every neighbour; return links seen and findings."""
    fabric = switches_only(living.fabric)
    deadline = time.monotonic() + wait_s
    while True:
        links = seen_links(living)
        found = cabling_findings(fabric, links)
        if not found or time.monotonic() > deadline:
            return len(links), found
        time.sleep(1)


def switches_only(fabric: Fabric) -> Fabric:
    """Return the fabric without its hosts: their adapters say nothing here."""
    cables = tuple(cable for cable in fabric.cables if cable.role is not CableRole.HOST)
    return replace(fabric, nodes=(), cables=cables)


def seen_links(living: Living) -> list[SeenLink]:
    """Return the links that switches report, each once."""
    ends = {
        end: End(living.fabric.switch[port.device].guid.value, port.number)
        for cable in living.fabric.cables
        if cable.role is not CableRole.HOST
        for end, port in zip(living.plan.cables[cable.id], (cable.a, cable.z), strict=True)
    }
    found: dict[frozenset[End], SeenLink] = {}
    for near, far in _heard(living):
        if near in ends and far in ends:
            link = SeenLink(ends[near], ends[far], near[0], far[0], "")
            found.setdefault(link.pair, link)
    return list(found.values())


def _heard(living: Living) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Yield own and far end of every cable over which a switch heard of another."""
    script = (
        f"for n in {' '.join(living.configs)}; do printf '%s ' $n;"
        f" lldpcli -u {FOLDER}/$n/lldpd.sock -f json0 show neighbors | tr -d '\\n'; echo; done"
    )
    for line in living.box.run("sh", stdin=script).splitlines():
        name, _, text = line.partition(" ")
        said = json.loads(text)["lldp"][0] if text.startswith("{") else {}
        for heard in said.get("interface", []):
            chassis, port = heard["chassis"][0], heard["port"][0]
            if "name" in chassis and "id" in port:
                far = (chassis["name"][0]["value"], port["id"][0]["value"])
                yield (name, heard["name"]), far


def _pattern(living: Living, name: str) -> str:
    ends = (end for ends in living.plan.cables.values() for end in ends)
    return ",".join(interface for switch, interface in ends if switch == name)
