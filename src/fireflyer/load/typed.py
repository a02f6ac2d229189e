"""Turn a document into a typed record, or into everything that is wrong with it."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from fireflyer.errors import IntentError, Problem
from fireflyer.load.document import Document
from fireflyer.model.base import DNS_NAME_PATTERN, NAME_PATTERN, Record

AnyRecord = TypeVar("AnyRecord", bound=Record)

_KINDS = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "tuple_type": "a list",
    "bool_type": "true or false",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dict_type": "a mapping",
}
_PATTERNS = {
    NAME_PATTERN: "must be lower-case letters, digits and dashes",
    DNS_NAME_PATTERN: "must be an IPv4 address or a DNS name in lower case",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "must be at least {}"),
    "greater_than": ("gt", "must be more than {}"),
    "less_than_equal": ("le", "must be at most {}"),
    "less_than": ("lt", "must be less than {}"),
}


def parse(document: Document, record: type[AnyRecord]) -> AnyRecord:
    """Return the document as a record.

    Raises:
        IntentError: with every unknown key, missing key, wrong type and bound broken.
    """
    try:
        return record.model_validate(document.data)
    except ValidationError as error:
        details = error.errors(include_url=False)
        raise IntentError(_problem(document, record, detail) for detail in details) from None


def _problem(document: Document, record: type[Record], error: ErrorDetails) -> Problem:
    key = ".".join(str(part) for part in error["loc"]) or "file"
    kind, context = error["type"], error.get("ctx", {})
    found = _shown(error["input"])
    if kind == "extra_forbidden":
        return document.problem(key, None, "unknown key", _did_you_mean(record, error["loc"]))
    if kind == "missing":
        return document.problem(key, None, "is missing", "add it")
    if kind in _KINDS:
        return document.problem(key, found, f"must be {_KINDS[kind]}", "change its type")
    if kind == "finite_number":
        return document.problem(key, found, "must be a finite number", "change the number")
    if kind in _BOUNDS:
        name, limit = _BOUNDS[kind]
        return document.problem(key, found, limit.format(context[name]), "change the number")
    if kind == "literal_error":
        return document.problem(key, found, f"must be {context['expected']}", "choose one")
    if kind == "string_pattern_mismatch":
        limit = _PATTERNS.get(context["pattern"], f"must match {context['pattern']}")
        return document.problem(key, found, limit, "rename it")
    if kind == "too_short":
        limit = f"must have at least {context['min_length']} entry"
        return document.problem(key, found, limit, "add one")
    if kind in ("too_long", "string_too_long"):
        limit = f"must have at most {context['max_length']}"
        unit = "characters" if kind == "string_too_long" else "entries"
        return document.problem(key, found, f"{limit} {unit}", "shorten it")
    if kind == "value_error":  # a validator of a record, whose message names key and value
        message = str(context["error"])
        shown = None if isinstance(error["input"], Mapping) else found
        return document.problem(key, shown, message, "correct it")
    return document.problem(key, found, error["msg"], "correct it")


def _shown(value: object) -> str:
    """Return a value as its owner would recognise it, never a page of it."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, tuple):
        return "a list" if value else "an empty list"
    return repr(value)


def _did_you_mean(record: type[Record], location: tuple[int | str, ...]) -> str:
    known = _fields(record, location[:-1])
    close = difflib.get_close_matches(str(location[-1]), known, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"remove it; known here: {', '.join(known)}" if known else "remove it"


def _fields(record: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Return the field names of the record at a location inside another."""
    current: type[BaseModel] | None = record
    for part in location:
        if isinstance(part, int):
            continue  # the entries of a list have one type
        if current is None or part not in current.model_fields:
            return []
        current = record_in(current.model_fields[part].annotation)
    return list(current.model_fields) if current else []


def record_in(annotation: Any) -> type[BaseModel] | None:
    """Return the record type inside `X`, `X | None`, `tuple[X, ...]` or an annotated one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) in (tuple, typing.Union, types.UnionType, typing.Annotated):
        for inner in typing.get_args(annotation):
            if found := record_in(inner):
                return found
    return None
