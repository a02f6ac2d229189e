"""Read SONiC's `config_db.json` back: every table, row and field against the plan."""

from __future__ import annotations

import json
import re
from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.prove.switches.result import SwitchCheck
from fireflyer.prove.switches.sonic_planned import planned
from fireflyer.prove.switches.values import Values, add, check_values, spread

_RANGED = frozenset({"BUFFER_PG", "BUFFER_QUEUE", "QUEUE"})
"""Tables whose last key may be a range of numbers, such as 1-3."""
_RANGE = re.compile(r"(.*\|)(\d+)-(\d+)")
_SETS = frozenset({"pfc_enable", "pfcwd_sw_enable"})
"""Fields that are numbers with commas between, in any order."""


class _TwiceError(ValueError):
    """A key that stands twice in one object: a reader takes the last."""


def check(fabric: Fabric, tree: Path) -> SwitchCheck:
    """Compare the configurations below `tree/sonic` with the fabric."""
    count, findings = check_values(fabric, tree, "sonic", ".json", read, planned)
    return SwitchCheck(
        checker="this project's reader of config_db.json", files=count, findings=findings
    )


def read(text: str) -> tuple[Values, list[str]]:
    """Return every value of a configuration; a text that is no JSON has none."""
    values: Values = {}
    try:
        for table, rows in json.loads(text, object_pairs_hook=_object).items():
            if not rows:
                values[table,] = ""
            for row, fields in rows.items():
                found = {name: _value(name, value) for name, value in fields.items()}
                for one in _rows(table, row):
                    add(values, table, one, found)
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        return {}, [f"cannot be read: {type(error).__name__}: {error}"]
    return values, [] if values else ["has no table"]


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _TwiceError(f"{twice} stands twice in one object")
    return found


def _value(field: str, value: object) -> str:
    """Return a field as text, with sets in order."""
    if isinstance(value, list):
        return ",".join(sorted(str(one) for one in value))
    if isinstance(value, dict):
        raise TypeError(f"{field} is an object, not a text")
    return ",".join(sorted(str(value).split(","))) if field in _SETS else str(value)


def _rows(table: str, row: str) -> list[str]:
    """Return the rows that a row with a range of numbers stands for."""
    if table in _RANGED and (match := _RANGE.fullmatch(row)):
        return [f"{match[1]}{number}" for number in spread(match[2], match[3])] or [row]
    return [row]
