"""Filters of the role switch_config: candidates, differences, health. Tasks move text only."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import yaml

PLATFORM_FIELDS = {
    "DEVICE_METADATA": ("platform", "hwsku", "mac"),
    "PORT": ("lanes", "alias", "index", "subport"),
}
"""SONiC tables whose rows also hold what the platform put there: rows and fields that the rendered
file lacks stay, and of these fields the switch's own value stays. Other tables that the rendered
file has are its own; tables it lacks are left alone."""
REFUSED_FIELDS = {"platform": "its image", "hwsku": "its SKU", "lanes": "its SKU or breakout"}
"""Fields that show, where they differ, that the file is for another switch, and what to check."""
MASK = "********"
SECRETS = re.compile(
    r"\$(?:1|5|6|y|7|2[aby]?|argon2\w*)\$[^\s\"',]+"  # crypt(5)
    r"|(?<=secret )\S.*|(?<=password )\S.*|(?<=auth sha )\S+|(?<=priv aes )\S+"
    r"|(?<=priv aes-128 )\S+|(?<=key 7 )\S+|(?<=key 0 )\S+|(?<=key 8a )\S+|(?<=community )\S+"
    r"|(?<=password: )\S.*|(?<=passphrase: )\S.*|(?<=encrypt-aes: )\S.*|(?<=encrypt-des: )\S.*"
    r"|(?<=PASSWORD\": \")[^\"]+|(?<=passkey\": \")[^\"]+|(?<=secret\": \")[^\"]+"
)


def lines(text: str) -> list[str]:
    """Return the commands of a CLI configuration: no comments, no empty lines, no `end`."""
    kept = (line.rstrip() for line in text.splitlines())
    return [line for line in kept if line and line[0] not in "!#" and line != "end"]


def merged(rendered: str, secrets: str | None, system: str, running: str) -> str:
    """Return what to apply: the rendered file, what the Vault adds and what the platform keeps."""
    secrets = secrets or ""  # an empty template is None
    if system == "sonic":
        added = json.loads(secrets or "{}")
        return json.dumps(_sonic(json.loads(rendered), added, running), indent=2)
    if system == "nvue":
        document = yaml.safe_load(rendered)
        parts = document if isinstance(document, list) else [{"set": document}]
        body = next(part for part in parts if "set" in part)
        body["set"] = _deep(body["set"], yaml.safe_load(secrets) or {})
        return str(yaml.safe_dump(parts, sort_keys=False))
    extra = "".join(f"{line}\n" for line in lines(secrets))
    return f"{extra}{rendered.rstrip()}\n"


def _sonic(rendered: dict[str, Any], secrets: dict[str, Any], running: str) -> dict[str, Any]:
    before: dict[str, Any] = json.loads(running or "{}")
    wanted = _deep(rendered, secrets)
    refused: list[str] = []
    for table, names in PLATFORM_FIELDS.items():
        there = before.get(table, {})
        for row, fields in wanted.get(table, {}).items():
            own = {name: there[row][name] for name in names if name in there.get(row, {})}
            refused += [
                f"{name} of {row} is {own[name]}, the file has {fields[name]}: check {hint}"
                for name, hint in REFUSED_FIELDS.items()
                if name in own and name in fields and own[name] != fields[name]
            ]
            wanted[table][row] = {**there.get(row, {}), **fields, **own}
        if table in wanted:
            wanted[table] = {**there, **wanted[table]}
    if refused:
        more = f"; {len(refused) - 3} more" if len(refused) > 3 else ""
        raise ValueError(f"The file is for another switch: {'; '.join(refused[:3])}{more}")
    return {**before, **wanted}


def _deep(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    found = dict(below)
    for key, value in above.items():
        old = found.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        found[key] = _deep(old, value) if both else value  # type: ignore[arg-type]
    return found


def missing(candidate: str, running: str) -> list[str]:
    """Return the commands that the running configuration does not show, in order."""
    there = {line.strip() for line in lines(running)}
    return [line for line in lines(candidate) if line.strip() not in there]


def difference(candidate: str, running: str, system: str) -> str:
    """Return what would change, for a system that cannot say it itself."""
    if system == "sonic":
        before, after = (
            json.dumps(json.loads(text), indent=2, sort_keys=True).splitlines()
            for text in (running, candidate)
        )
        return "\n".join(difflib.unified_diff(before, after, "running", "wanted", lineterm="", n=2))
    return "\n".join(f"+{line}" for line in missing(candidate, running))


def masked(text: str, *secrets: Iterable[Mapping[str, str]]) -> str:
    """Return a text for the screen: no hash and no key in it."""
    known = {
        value
        for users in secrets
        for user in users
        for name, value in user.items()
        if value and name not in ("name", "authorized_key")
    }
    for value in sorted(known, key=len, reverse=True):
        text = text.replace(value, MASK)
    return SECRETS.sub(MASK, text)


def _peers(text: str | list[Any], system: str) -> dict[str, dict[str, Any]]:
    """Return what a switch that speaks BGP says of each neighbour."""
    if isinstance(text, list):  # eAPI: an answer a command
        text = json.dumps(text[-1]) if isinstance(text[-1], dict) else str(text[-1])
    found = json.loads(text or "{}")
    families = [found.get("vrfs", {}).get("default", {})] if system == "eos" else found.values()
    return {
        name: peer
        for family in families
        if isinstance(family, dict)
        for name, peer in family.get("peers", {}).items()
    }


def sessions(text: str | list[Any], system: str) -> dict[str, bool]:
    """Return what a switch has sessions with, and whether each is up.

    Ethernet: BGP neighbours. InfiniBand: ports with a cable, up when they are active.
    """
    if system == "mlnxos":
        blocks = re.split(r"(?m)^(?=IB\d+/\S+ state)", str(text))[1:]
        return {
            block.split(maxsplit=1)[0]: bool(re.search(r"Logical port state\s*:\s*Active", block))
            for block in blocks
            if re.search(r"Physical port state\s*:\s*LinkUp", block)
        }
    state = "peerState" if system == "eos" else "state"
    return {name: peer[state] == "Established" for name, peer in _peers(text, system).items()}


def lost(before: Mapping[str, bool], after: Mapping[str, bool]) -> list[str]:
    """Return sessions that were up and are not; one that is no longer configured is no loss.

    That a switch has none left at all is one, whatever its configuration says.
    """
    were_up = [name for name, up in before.items() if up]
    if were_up and not any(after.values()):
        return sorted(were_up)
    return sorted(name for name in were_up if not after.get(name, True))


def peer_lost(before: str, now: str, system: str, switch: str) -> list[str]:
    """Return sessions of a peer that were up before and are not now, but those with one switch.

    FRR and what is made of it say what a neighbour calls itself, EOS how it is described;
    InfiniBand ports say neither, so that all of them count.
    """
    readings = () if system == "mlnxos" else (_peers(before, system), _peers(now, system))
    with_it = {
        name
        for peers in readings
        for name, peer in peers.items()
        if switch in (peer.get("hostname"), peer.get("desc"), peer.get("description"))
    }
    then, after = (
        {name: up for name, up in sessions(text, system).items() if name not in with_it}
        for text in (before, now)
    )
    return lost(then, after)


def down(found: Mapping[str, bool]) -> list[str]:
    """Return the sessions that are not up."""
    return sorted(name for name, up in found.items() if not up)


def minutes(seconds: int) -> int:
    """Return whole minutes, rounded up."""
    return -(-int(seconds) // 60)


def clock(seconds: int) -> str:
    """Return HH:MM:SS."""
    return f"{int(seconds) // 3600:02d}:{int(seconds) % 3600 // 60:02d}:{int(seconds) % 60:02d}"


def after(clock_text: str, seconds: int) -> str:
    """Return when a job must run, from what `show clock` of MLNX-OS prints."""
    time = re.search(r"Time:\s*(\S+)", clock_text)
    date = re.search(r"Date:\s*(\S+)", clock_text)
    if not time or not date:
        raise ValueError(f"`show clock` printed no time and date: {clock_text!r}")
    now = datetime.strptime(f"{date[1]} {time[1]}", "%Y/%m/%d %H:%M:%S")
    return f"{now + timedelta(seconds=int(seconds)):%H:%M:%S date %Y/%m/%d}"


def quoted(commands: Iterable[str]) -> str:
    """Return commands as the arguments of one `cli -h`: each in quotes, for a shell."""
    inner = " ".join('"' + command.replace('"', '\\"') + '"' for command in commands)
    return "'" + inner.replace("'", "'\\''") + "'"


class FilterModule:
    """What Ansible looks for in this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        found = (lines, merged, missing, difference, masked, sessions, lost, peer_lost, down,
                 minutes, clock, after, quoted)  # fmt: skip
        return {f"switch_{function.__name__}": function for function in found}
