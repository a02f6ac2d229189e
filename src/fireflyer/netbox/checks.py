"""What NetBox would refuse, found before anything is written. The dry run makes the same checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fireflyer.errors import OperatingError
from fireflyer.netbox.client import Client, Options
from fireflyer.netbox.comparison import Compared
from fireflyer.netbox.kinds import cable_ends
from fireflyer.netbox.state import Item, State, Values

_SHOWN: Final = 20
"""Rows named in one message; of thousands, the first tell enough."""


def known_types(options: Options, rows: Sequence[Values]) -> list[Values]:
    """Return interfaces with types that this NetBox knows.

    Up to 4.6.8 InfiniBand's types are without a width: `infiniband-hdr` for
    `infiniband-hdr-4x`. The interface's speed says the rest.
    """
    known = options.choices.get("type")
    if known is None:
        return list(rows)
    return [
        {**row, "type": kind.removesuffix("-4x")}
        if (kind := row["type"]) not in known and kind.removesuffix("-4x") in known
        else row
        for row in rows
    ]


def shortened(lines: Sequence[str]) -> list[str]:
    """Return the first lines, and how many more there are."""
    more = len(lines) - _SHOWN
    return [*lines[:_SHOWN], *([f"and {more:,} more"] if more > 0 else [])]


def refuse(problems: Sequence[str], url: str) -> None:
    """Refuse to write if there is a problem.

    Raises:
        OperatingError: with a line for each, up to a limit.
    """
    if not problems:
        return
    text = "\n  ".join(shortened(problems))
    raise OperatingError(f"NetBox at {url} cannot take the site; nothing was written:\n  {text}")


def problems(
    compared: Mapping[str, Compared], state: State, options: Mapping[str, Options], client: Client
) -> list[str]:
    """Return what is in the way of the rows that are missing or differ, a line each."""
    found = []
    for name, table in compared.items():
        if table.missing and not options[name].writable:
            found.append(
                f"{table.table.file}: the token may not create objects of {table.kind.path}:"
                " give its user that permission"
            )
        else:
            found += _unknown_choices(table, options[name])
    found += _units(compared["devices"], compared["device-types"])
    found += _addresses(compared["ip-addresses"], client)
    found += _ports(compared["cables"], state)
    return found


def _unknown_choices(table: Compared, options: Options) -> Iterator[str]:
    """Yield each value that NetBox does not know, with the first row that has it."""
    seen = set()
    rows = [*table.missing, *(changed.row for changed in table.changed)]
    for column, known in options.choices.items():
        for row in rows:
            value = row.get(column, "")
            if value and value not in known and (column, value) not in seen:
                seen.add((column, value))
                yield f"{table.named(row)}: {column} {value} is unknown to this NetBox"


def _units(devices: Compared, types: Compared) -> Iterator[str]:
    """Yield devices whose rack units another device stands in."""
    heights = {row["model"]: int(row["u_height"]) for row in types.rows}
    taken: dict[tuple[str, int], str] = {}
    for item in devices.others:
        if item["rack"] and item["position"]:
            # its type may be another's, with a height that is not asked for: its lowest unit counts
            taken[item["rack"]["name"], int(item["position"])] = str(item["display"])
    for row in devices.missing:
        lowest = int(row["position"])
        for unit in range(lowest, lowest + heights[row["device_type"]]):
            if other := taken.get((row["rack"], unit)):
                yield f"{devices.named(row)}: {row['rack']} U{unit} is taken by {other}"
                break


def _addresses(addresses: Compared, client: Client) -> Iterator[str]:
    """Yield addresses that stand on something else already; in a VRF it is another address."""
    others: dict[str, Item] = {
        str(item["address"]).partition("/")[0]: item for item in addresses.others if not item["vrf"]
    }
    for row in addresses.missing:
        other = others.get(row["address"].partition("/")[0])
        if other is not None:
            yield (
                f"{addresses.named(row)} is in NetBox already, on {_holder(other, client)}:"
                " remove it there, or change cluster.addresses"
            )


def _holder(item: Item, client: Client) -> str:
    """Return what an address is assigned to, in words."""
    if not item["assigned_object_id"]:
        return "no interface"
    query = [("id", str(item["id"]))]
    shown = next(client.listed("ipam/ip-addresses", ("id", "assigned_object"), query), {})
    assigned = shown.get("assigned_object") or {}
    parent = assigned.get("device") or assigned.get("virtual_machine") or {}
    names = (parent.get("name"), assigned.get("name") or assigned.get("display"))
    return " ".join(str(name) for name in names if name) or "something else"


def _ports(cables: Compared, state: State) -> Iterator[str]:
    """Yield cables with an end in which there is another cable."""
    cable_in = {end: number for number, ends in state.ends.items() for end in ends}
    labels = {item["id"]: str(item["label"] or "") for item in cables.others}
    for row in cables.missing:
        for device, port in cable_ends(row):
            number = cable_in.get((device, port))
            if number is not None:
                label = labels.get(number) or f"#{number}"
                yield (
                    f"{cables.named(row)}: {device} {port} has another cable, {label}:"
                    " remove it in NetBox"
                )
                break
