#!/usr/bin/env python3
"""Give a new switch its own configuration. Runs on the switch, at its first boot.

SONiC calls it from ztp.json, Cumulus Linux finds it by the word CUMULUS-AUTOPROVISIONING, EOS
runs what DHCP names. It needs Python 3.7 and nothing else. A switch that was configured before
is left alone; a file whose SHA-256 is not the manifest's is not installed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

SERVER = "http://ztp.invalid"  # the web server's copy of the rendered tree; set when it is rendered
ROOT = Path(os.environ.get("ZERO_TOUCH_ROOT", "/"))
TRIES, WAIT_S, TIMEOUT_S = 10, 6, 30
WORK = ROOT / "tmp" / "zero-touch"
FACTORY_NAMES = ("", "sonic", "cumulus", "localhost")


class Refusal(Exception):  # noqa: N818 - it is no error to leave a switch alone
    """Why the switch is left as it is."""


def fetch(path: str) -> bytes:
    """Return a file of the server; the network may need a minute after boot."""
    for attempt in range(TRIES):
        try:
            with urllib.request.urlopen(f"{SERVER}/{path}", timeout=TIMEOUT_S) as answer:  # noqa: S310 - the site's own server
                return bytes(answer.read())
        except OSError as error:
            if attempt == TRIES - 1 or getattr(error, "code", 0) == 404:
                raise Refusal(f"{SERVER}/{path}: {error}") from error
            time.sleep(WAIT_S)
    raise AssertionError


def verified(path: str, digests: dict[str, str]) -> bytes:
    """Return a file that is what the manifest says it is."""
    data = fetch(path)
    found = hashlib.sha256(data).hexdigest()
    if found != digests.get(path):
        raise Refusal(f"{SERVER}/{path} has SHA-256 {found}, the manifest {digests.get(path)}")
    return data


def run(*command: str) -> str:
    """Run a program of the switch and return what it printed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return done.stdout


def system() -> str:
    """Return what the switch runs."""
    if (ROOT / "etc/sonic").is_dir():
        return "sonic"
    return "nvue" if (ROOT / "usr/bin/nv").exists() else "eos"


def require_new(kind: str) -> None:
    """Raise Refusal if the switch has a configuration.

    SONiC and Cumulus Linux ship one, so what counts is that somebody named the switch.
    """
    files = {"sonic": "etc/sonic/config_db.json", "nvue": "etc/nvue.d/startup.yaml"}
    file = ROOT / files.get(kind, "mnt/flash/startup-config")
    text = file.read_text() if file.exists() else ""
    if kind == "eos":
        if text:
            raise Refusal(f"it is configured already: {file} is there")
        return
    if kind == "sonic":
        local = json.loads(text or "{}").get("DEVICE_METADATA", {}).get("localhost", {})
        names = [local.get("hostname", "")]
    else:  # any host name in the file, for YAML needs more than Python
        names = re.findall(r"""\bhostname["']?:[ \t]*["']?([^\s"',}]*)""", text)
    for name in names:
        if name not in FACTORY_NAMES:
            raise Refusal(f"it is configured already, as {name}")


def serial(kind: str) -> str:
    """Return the serial number on the chassis."""
    if kind == "eos":
        return str(
            json.loads(run("FastCli", "-p", "15", "-c", "show version | json"))["serialNumber"]
        )
    found = re.search(r"Serial Number\s+0x23\s+\d+\s+(\S+)", run("decode-syseeprom"))
    return found.group(1) if found else ""


def name_of(kind: str, switches: dict[str, dict[str, str]]) -> str:
    """Return the switch's name: by its serial number, or by the name that DHCP gave it.

    NVUE does not take a name from DHCP.
    """
    number = serial(kind)
    given = "" if kind == "nvue" else socket.gethostname().split(".")[0]
    name = switches["serials"].get(number, given)
    if name not in switches["files"]:
        called = f" or is called {name}" if name else ""
        raise Refusal(f"no switch of the site has serial {number}{called}")
    return name


def install(kind: str, data: bytes) -> None:
    """Make the configuration the switch's own, for every boot from now on."""
    WORK.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = WORK / "configuration"
    file.write_bytes(data)
    if kind == "sonic":
        run("config", "load", "-y", str(file))
        run("config", "save", "-y")
        run("config", "reload", "-y")
    elif kind == "nvue":
        run("nv", "config", "patch", str(file))  # leaves the factory's login in
        run("nv", "config", "apply", "-y")
        run("nv", "config", "save")
    else:  # EOS restarts with it when this ends well
        (ROOT / "mnt/flash/startup-config").write_bytes(data)


def main() -> int:
    """Return 0 when the switch is configured or was before, 1 when it could not be."""
    kind = system()
    try:
        require_new(kind)
    except Refusal as reason:
        print(f"zero touch: left alone: {reason}")
        return 0
    try:
        files = json.loads(fetch("manifest.json"))["files"]
        digests = {entry["path"]: entry["sha256"] for entry in files}
        switches = json.loads(verified("ztp/switches.json", digests))
        name = name_of(kind, switches)
        install(kind, verified(switches["files"][name], digests))
    except (Refusal, OSError, subprocess.CalledProcessError) as reason:
        print(f"zero touch: {reason}", file=sys.stderr)
        return 1
    print(f"zero touch: this is {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
