"""Write `config_db.json` as the XML that SONiC's YANG models describe.

XML, because libyang asks typed values of JSON, and SONiC writes every value as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias
from xml.sax.saxutils import escape

from fireflyer.prove.switches.sonic_tables import TABLES, TableModel

Row: TypeAlias = Mapping[str, str | list[str]]
Config: TypeAlias = Mapping[str, Mapping[str, Row]]


class UnknownRowError(ValueError):
    """A table or a row that no model has a place for."""


def xml(config: Config, namespaces: Mapping[str, str]) -> str:
    """Return the tables module by module; namespaces are by module.

    Raises:
        UnknownRowError: a table, or a key with more or fewer parts than its lists.
    """
    modules: dict[str, list[str]] = {}
    for table, rows in config.items():
        model = TABLES.get(table)
        if model is None:
            raise UnknownRowError(f"table {table} is in no model that is known here")
        inside = "".join(_row(table, model, key, fields) for key, fields in rows.items())
        modules.setdefault(model.module, []).append(f"<{table}>{inside}</{table}>\n")
    return "".join(
        f'<{module} xmlns="{namespaces[module]}">\n{"".join(tables)}</{module}>\n'
        for module, tables in sorted(modules.items())
    )


def _row(table: str, model: TableModel, key: str, fields: Row) -> str:
    if not model.lists:
        return f"<{key}>{_leaves(fields)}</{key}>\n"
    parts = key.split("|")
    for name, keys in model.lists.items():
        if len(keys) == len(parts):
            found = _leaves(dict(zip(keys, parts, strict=True)))
            inside = _entries(table, model.entry, fields) if model.entry else _leaves(fields)
            return f"<{name}>{found}{inside}</{name}>\n"
    raise UnknownRowError(f"row {table}|{key} has {len(parts)} keys, no list of {table} has")


def _entries(table: str, entry: tuple[str, ...], fields: Row) -> str:
    key, value = entry
    return "".join(
        f"<{table}>{_leaves({key: name, value: found})}</{table}>" for name, found in fields.items()
    )


def _leaves(fields: Row) -> str:
    return "".join(
        f"<{name}>{escape(value)}</{name}>"
        for name, found in fields.items()
        for value in _of(found)
    )


def _of(found: str | list[str]) -> Iterator[str]:
    """Yield a leaf's value, or those of a list of leaves."""
    if isinstance(found, str):
        yield found
    else:
        yield from found
