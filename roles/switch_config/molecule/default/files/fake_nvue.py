#!/usr/bin/env python3
"""Stands for Cumulus Linux's `nv config` and `vtysh`, as far as the role uses them."""

from __future__ import annotations

import difflib
import json
import re
import sys
from pathlib import Path

STATE = Path("/var/lib")
RUNNING, PENDING = STATE / "fake_running", STATE / "fake_pending"
FORMER, SAVED = STATE / "fake_former", STATE / "fake_saved"


def config(words: list[str]) -> int:
    """Do `nv config WORDS`; an applied revision waits for its confirmation."""
    match words:
        case ["show", "-o", "yaml"]:
            print(RUNNING.read_text(), end="")
        case ["replace", file]:
            PENDING.write_text(Path(file).read_text())
        case ["diff"]:
            pair = (path.read_text().splitlines() for path in (RUNNING, PENDING))
            print("\n".join(difflib.unified_diff(*pair, lineterm="", n=0)))
        case ["detach"]:
            PENDING.unlink()
        case ["apply", "-y", "--confirm", minutes] if minutes.isdigit():
            FORMER.write_text(RUNNING.read_text())
            PENDING.rename(RUNNING)
        case ["apply", "--confirm-yes"]:
            FORMER.unlink()
        case ["apply", "--confirm-no"]:
            FORMER.rename(RUNNING)
        case ["save"]:
            SAVED.write_text(RUNNING.read_text())
        case _:
            print(f"nv config: not understood: {words}", file=sys.stderr)
            return 1
    return 0


def main(name: str, words: list[str]) -> int:
    """Be the program of this name."""
    if name == "nv":
        return config(words[1:])
    asns = re.findall(r"remote-as: (\d+)", RUNNING.read_text())
    peers = {
        f"10.0.0.{number}": {"state": "Established" if asn == "65100" else "Idle"}
        for number, asn in enumerate(asns, start=1)
    }
    print(json.dumps({"ipv4Unicast": {"peers": peers}}))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[0]).name, sys.argv[1:]))
