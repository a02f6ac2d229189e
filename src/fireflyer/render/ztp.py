"""Zero-touch provisioning: how a new switch comes to its own configuration.

A web server holds the rendered tree. DHCP names the script (SONiC: a JSON file that names it),
the script finds out which switch it runs on, checks the file against the manifest and installs
it. Nothing is printed for a site that gives no `ztp_url`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.render import zero_touch
from fireflyer.render.switch_files import file_path
from fireflyer.render.template import render

SYSTEMS = ("sonic", "nvue", "eos")
"""Systems with zero-touch provisioning that can run the script."""
SCRIPT = "zero_touch.py"
SONIC_JSON = "ztp.json"


def files(fabric: Fabric) -> Iterator[tuple[str, str]]:
    """Yield the script, what it reads, and the options that make a switch fetch it."""
    management = fabric.intent.switch_management
    system, url = fabric.system, management.ztp_url
    if system not in SYSTEMS or not url:
        return
    source = Path(zero_touch.__file__).read_text()
    yield SCRIPT, source.replace(f'"{zero_touch.SERVER}"', json.dumps(url), 1)
    switches = {
        "serials": {s.serial: s.name for s in fabric.switches if s.serial},
        "files": {s.name: file_path(system, s.name) for s in fabric.switches},
    }
    yield "switches.json", json.dumps(switches, indent=1) + "\n"
    if system == "sonic":
        yield SONIC_JSON, _sonic(f"{url}/ztp/{SCRIPT}")
    yield (
        "dhcp-options.conf",
        render("ztp/dhcp-options.conf.j2", site=fabric.intent.name, options=dhcp_options(fabric)),
    )


def dhcp_options(fabric: Fabric) -> tuple[tuple[int, str, str], ...]:
    """Return what DHCP tells a new switch: code, value, what for; nothing without a `ztp_url`."""
    management = fabric.intent.switch_management
    system, url = fabric.system, management.ztp_url
    if system not in SYSTEMS or not url:
        return ()
    if system == "sonic":
        first = (67, f"{url}/ztp/{SONIC_JSON}", "SONiC: what to do, as JSON")
    elif system == "nvue":
        first = (239, f"{url}/ztp/{SCRIPT}", "Cumulus Linux: the script")
    else:
        first = (67, f"{url}/ztp/{SCRIPT}", "EOS: the script")
    if management.onie_image_url:
        return first, (114, management.onie_image_url, "ONIE: the system's installer")
    return (first,)


def _sonic(script: str) -> str:
    """Return SONiC's ztp.json: one section, whose plugin is the script."""
    section = {"plugin": {"url": {"source": script}}, "halt-on-failure": True}
    return json.dumps({"ztp": {"01-configuration": section}}, indent=1) + "\n"
