"""Fields of NetBox's objects: what a row wants of one, and what NetBox shows."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from fireflyer.netbox.state import State, Values


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of an object. A row whose column is empty says nothing about it."""

    name: str
    """In the API."""
    column: str
    """In the row."""
    wanted: Callable[[Values, State], object]
    """The value to write; None while NetBox lacks the object that it refers to."""
    shown: Callable[[Any], object] = lambda value: value
    """The same value as NetBox shows it."""
    text: Callable[[Any], str] = str
    """What NetBox shows, for a person."""
    once: bool = False
    """Set on creation and left alone after: it changes in the course of operation."""


def text(name: str, *, once: bool = False) -> Field:
    """Return a field that is written as the row has it."""
    return Field(name=name, column=name, wanted=lambda row, _: row[name], once=once)


def choice(name: str, *, once: bool = False) -> Field:
    """Return a field with a list of values."""
    return Field(
        name=name,
        column=name,
        wanted=lambda row, _: row[name],
        shown=_chosen,
        text=_chosen,
        once=once,
    )


def _chosen(value: Any) -> str:
    """Return a choice, which some fields show with its label."""
    return str(value["value"] if isinstance(value, dict) else value or "")


def number(name: str, *, shown: Callable[[Any], object] = lambda value: value) -> Field:
    """Return a field that holds a whole number."""
    return Field(name=name, column=name, wanted=lambda row, _: int(row[name]), shown=shown)


def decimal(name: str) -> Field:
    """Return a field with two decimal places."""
    return Field(
        name=name,
        column=name,
        wanted=lambda row, _: round(float(row[name]), 2),
        shown=lambda value: None if value is None else round(float(value), 2),
        text=lambda value: "" if value is None else f"{float(value):g}",
    )


def flag(name: str) -> Field:
    """Return a field that is true or false."""
    return Field(
        name=name,
        column=name,
        wanted=lambda row, _: row[name] == "true",
        text=lambda value: str(bool(value)).lower(),
    )


def reference(
    name: str, table: str, key: Callable[[Values], Hashable], *, once: bool = False
) -> Field:
    """Return a field that names a row of another table."""
    return Field(
        name=name,
        column=name,
        wanted=lambda row, state: state.id_of(table, key(row)),
        shown=lambda value: value["id"] if value else None,
        text=lambda value: str(value["display"]) if value else "",
        once=once,
    )
