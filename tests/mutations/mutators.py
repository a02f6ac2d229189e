"""Edits that change what a file means. They know its text and nothing of what reads it.

Each takes a random source, a path and a text, and returns another text, or None where the file
gives no occasion.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tests.mutations.text import ADDRESS, NUMBER, TOKEN, code, family, meaningful

Mutator: TypeAlias = Callable[[random.Random, str, str], str | None]


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def delete_line(rng: random.Random, path: str, text: str) -> str | None:
    """Delete a line."""
    lines, places = _lines(text), meaningful(path, text)
    if len(places) < 2:
        return None
    del lines[rng.choice(places)]
    return "".join(lines)


def duplicate_line(rng: random.Random, path: str, text: str) -> str | None:
    """Write a line twice; in a file of commands that is the same command, so rows only."""
    lines, places = _lines(text), meaningful(path, text)
    if family(path) not in ("csv", "zpl") or len(places) < 2:
        return None
    place = rng.choice(places[1:])
    lines.insert(place, lines[place])
    return "".join(lines)


def move_line(rng: random.Random, path: str, text: str) -> str | None:
    """Move a line into another section: below a line that is indented otherwise."""
    if family(path) not in ("lines", "yaml"):
        return None
    lines, places = _lines(text), meaningful(path, text)
    indented = [n for n in places if lines[n].startswith(" ")]
    if len(indented) < 2:
        return None
    place = rng.choice(indented)
    near = [n for n in places if abs(n - place) < 3]
    others = [n for n in indented if n not in near and abs(n - place) > 5]
    if not others:
        return None
    target = rng.choice(others)
    line = lines.pop(place)
    lines.insert(target if target < place else target - 1, line)
    return "".join(lines)


def truncate(rng: random.Random, path: str, text: str) -> str | None:
    """Cut the text off at the end of a line in its second half."""
    places = meaningful(path, text)
    if len(places) < 4:
        return None
    lines = _lines(text)
    return "".join(lines[: rng.choice(places[len(places) // 2 : -1])])


def _tokens(path: str, text: str, pattern: re.Pattern[str]) -> list[tuple[int, int]]:
    """Return the places of tokens outside of comments, as spans of the text."""
    spans, at, lines = [], 0, _lines(text)
    places = set(meaningful(path, text))
    for number, line in enumerate(lines):
        if number in places:
            kept = code(path, line)
            spans += [
                (at + m.start(), at + m.end())
                for m in TOKEN.finditer(kept)
                if pattern.fullmatch(m[0])
            ]
        at += len(line)
    return spans


def _changed(
    rng: random.Random,
    path: str,
    text: str,
    pattern: re.Pattern[str],
    change: Callable[[str, list[str]], str],
) -> str | None:
    """Change one token; `change` takes it and all tokens of the pattern, and returns another."""
    spans = _tokens(path, text, pattern)
    if not spans:
        return None
    first, last = rng.choice(spans)
    new = change(text[first:last], [text[slice(*span)] for span in spans])
    return text[:first] + new + text[last:]


def change_number(rng: random.Random, path: str, text: str) -> str | None:
    """Change a number by one, or double it."""

    def change(old: str, _: list[str]) -> str:
        if "." in old:
            return f"{float(old) + rng.choice((0.5, 2)):g}"
        number = int(old)
        new = rng.choice([number + 1, max(0, number - 1), number * 2 + 3])
        return f"{new:0{len(old)}d}"

    return _changed(rng, path, text, NUMBER, change)


def change_address(rng: random.Random, path: str, text: str) -> str | None:
    """Change an address: another of the file, or the next."""

    def change(old: str, every: list[str]) -> str:
        head, _, last = old.rpartition(".")
        return rng.choice([f"{head}.{(int(last) + 1) % 256}", rng.choice(every)])

    return _changed(rng, path, text, ADDRESS, change)


_NAME = re.compile(r"[A-Za-z_][\w-]*\d[\w-]*")
_WORD = re.compile(r"[A-Za-z_][\w-]*")
_HEX = re.compile(r"0x[0-9a-fA-F]+")


def change_name(rng: random.Random, path: str, text: str) -> str | None:
    """Put another name of the file in a name's place: a device, a port, a profile."""

    def change(old: str, every: list[str]) -> str:
        others = sorted(set(every) - {old})
        return rng.choice(others) if others else old + "9"

    return _changed(rng, path, text, _NAME, change)


def misspell(rng: random.Random, path: str, text: str) -> str | None:
    """Change a word: an option, a key, a value."""

    def change(old: str, _: list[str]) -> str:
        return rng.choice([old + "x", old[:-1] or "x", old[::-1]])

    return _changed(rng, path, text, _WORD, change)


def change_identifier(rng: random.Random, path: str, text: str) -> str | None:
    """Change one digit of a hexadecimal number."""

    def change(old: str, _: list[str]) -> str:
        at = rng.randrange(2, len(old))
        new = rng.choice([digit for digit in "0123456789abcdef" if digit != old[at].lower()])
        return old[:at] + new + old[at + 1 :]

    return _changed(rng, path, text, _HEX, change)


def swap_values(rng: random.Random, path: str, text: str) -> str | None:
    """Swap two unlike values: of a column, of a key, or the same words of two lines."""
    kind = family(path)
    if kind == "csv":
        rows = [row for row in csv.reader(io.StringIO(text)) if row]
        columns = [c for c in range(len(rows[0])) if len({row[c] for row in rows[1:]}) > 1]
        if not columns:
            return None
        column = rng.choice(columns)
        first = rng.choice(rows[1:])
        second = rng.choice([row for row in rows[1:] if row[column] != first[column]])
        first[column], second[column] = second[column], first[column]
        return _csv(rows)
    spans = _tokens(path, text, TOKEN)
    if len(spans) < 2:
        return None
    a = rng.choice(spans)
    first_text = text[slice(*a)]
    alike = [
        s
        for s in spans
        if text[slice(*s)] != first_text
        and first_text[0].isdigit() == text[s[0]].isdigit()
        and not (s[0] < a[1] and a[0] < s[1])
    ]
    if not alike:
        return None
    b = rng.choice(alike)
    (low, high) = sorted((a, b))
    return (
        text[: low[0]]
        + text[slice(*high)]
        + text[low[1] : high[0]]
        + text[slice(*low)]
        + text[high[1] :]
    )


def swap_ends(rng: random.Random, path: str, text: str) -> str | None:
    """Swap two unlike fields of a row."""
    if family(path) != "csv":
        return None
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    row = rng.choice(rows[1:] or rows)
    pairs = [(a, b) for a in range(len(row)) for b in range(a) if row[a] != row[b]]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    row[a], row[b] = row[b], row[a]
    return _csv(rows)


def _csv(rows: list[list[str]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def delete_rows(rng: random.Random, path: str, text: str) -> str | None:
    """Delete up to a hundred lines that follow each other."""
    lines, places = _lines(text), meaningful(path, text)
    if len(places) < 8:
        return None
    first = rng.randrange(1, len(places) - 2)
    gone = set(places[first : first + rng.randrange(2, 101)])
    return "".join(line for number, line in enumerate(lines) if number not in gone)


def change_json(rng: random.Random, path: str, text: str) -> str | None:
    """Delete, copy or replace a value somewhere in a JSON document."""
    if family(path) != "json":
        return None
    document = json.loads(text)
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        keys: Any = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            places.append((value, key))
            if isinstance(value[key], dict | list):
                walk(value[key])

    walk(document)
    if not places:
        return None
    holder, key = rng.choice(places)
    if rng.random() < 0.5:
        del holder[key]
    elif isinstance(holder, list):
        holder.insert(key, holder[key])
    else:
        holder[f"{key}9"] = holder.pop(key)
    return json.dumps(document, indent=1) + "\n"


MUTATORS: Mapping[str, Mutator] = {
    "delete line": delete_line,
    "delete rows": delete_rows,
    "duplicate row": duplicate_line,
    "move line": move_line,
    "swap values": swap_values,
    "swap fields": swap_ends,
    "number": change_number,
    "address": change_address,
    "name": change_name,
    "word": misspell,
    "identifier": change_identifier,
    "json value": change_json,
    "truncate": truncate,
}
"""Beside these the bench deletes whole files."""
