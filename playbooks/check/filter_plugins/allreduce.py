"""Jinja filter `allreduce_table`: what `hfreduce.check` measured, for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[str, Any]
HEAD = ("nodes", "ranks/node", "bytes", "GB/s", "bound", "share", "binds")


def allreduce_table(rows: Sequence[Row]) -> list[str]:
    """Return a line for the head and one for each measurement."""
    return ["{:>5} {:>10} {:>11} {:>7} {:>7} {:>6}  {}".format(*HEAD), *map(_line, rows)]


def _line(row: Row) -> str:
    rate, limit = row["gbytes_per_s"], row["bound_gbytes_per_s"]
    bound, share = (f"{limit:.2f}", f"{rate / limit:.0%}") if limit else ("-", "-")
    counts = f"{row['nodes']:>5} {row['ranks_per_node']:>10} {row['bytes']:>11,}"
    return f"{counts} {rate:>7.2f} {bound:>7} {share:>6}  {row['limit'] or 'not known'}"


class FilterModule:
    """What Ansible looks for in this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"allreduce_table": allreduce_table}
