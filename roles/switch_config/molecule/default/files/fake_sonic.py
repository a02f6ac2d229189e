#!/usr/bin/env python3
"""Stands for SONiC's `config`, `sonic-cfggen` and `vtysh`, as far as the role uses them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

STATE = Path("/var/lib")
RUNNING, SAVED = STATE / "fake_running", STATE / "fake_saved"
PEER_ASN = "65100"


def config(words: list[str]) -> int:
    """Do `config WORDS`; a file that SONiC's models would refuse is refused."""
    verb, *rest = [word for word in words if not word.startswith("-")]
    checkpoint = STATE / f"fake_checkpoint_{rest[0]}" if rest else STATE
    if verb == "replace":
        wanted = json.loads(Path(rest[0]).read_text())
        if bad := [name for name in wanted.get("PORT", {}) if not name.startswith("Ethernet")]:
            print(f"Failed to replace config: Data Loading Failed: {bad}", file=sys.stderr)
            return 2
        if "--dry-run" not in words:
            whole = [{"op": "replace", "path": "", "value": wanted}]
            print(f"Patch Applier: Patch: {json.dumps(whole)}")
            RUNNING.write_text(json.dumps(wanted))
    elif verb == "checkpoint":
        checkpoint.write_text(RUNNING.read_text())
    elif verb == "rollback":
        RUNNING.write_text(checkpoint.read_text())
    elif verb == "delete-checkpoint":
        checkpoint.unlink()
    elif verb == "save":
        SAVED.write_text(RUNNING.read_text())
    else:
        return 2
    return 0


def main(name: str, words: list[str]) -> int:
    """Be the program of this name."""
    running = json.loads(RUNNING.read_text())
    if name == "config":
        return config(words)
    if name == "sonic-cfggen":
        print(json.dumps(running, indent=4))
    else:
        peers = {
            key.partition("|")[2]: {"state": "Established" if row["asn"] == PEER_ASN else "Active"}
            for key, row in running.get("BGP_NEIGHBOR", {}).items()
        }
        print(json.dumps({"ipv4Unicast": {"peers": peers}}))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[0]).name, sys.argv[1:]))
