"""Edits of a role's tasks that change what it does: a task removed, a value turned round."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

TURNED = {
    "enabled: true": "enabled: false",
    "state: started": "state: stopped",
    "state: present": "state: absent",
    "state: absent": "state: present",
    "remove: true": "remove: false",
    "exclusive: true": "exclusive: false",
    'mode: "0600"': 'mode: "0644"',
    'mode: "0440"': 'mode: "0644"',
    'mode: "0755"': 'mode: "0644"',
    'mode: "0400"': 'mode: "0444"',
    'mode: "0700"': 'mode: "0755"',
    "no_log: true": "no_log: false",
    "daemon_reload: true": "daemon_reload: false",
}
"""What a line says, and what it says turned round."""
LEFT_OUT = re.compile(
    r"""^[ ]+(
        -[ ]\{(template|file|content):.*\}  # one of several files
        | (notify|read_by|validate|become_user|until):[ ]\S.*
    )$""",
    re.VERBOSE,
)
"""Lines that a role can be without and still be read. Without a `changed_when` it is the second run
of the whole scenario that notices."""
PASSIVE = {
    "ansible.builtin.debug", "ansible.builtin.set_fact", "ansible.builtin.stat",
    "ansible.builtin.slurp", "ansible.builtin.find", "ansible.builtin.pause",
}  # fmt: skip
"""Actions that only read or say: without them a role changes no less."""
LISTS = ("block", "rescue", "always")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One file of a role with one thing changed."""

    role: str
    file: Path
    """Below the folder of roles."""
    line: int
    """Counted from 1, where the change is."""
    what: str
    text: str
    """The whole file, changed."""


def sample(roles: Path, role: str, count: int, seed: int) -> list[Edit]:
    """Return edits of a role, the same for the same seed: half of them removals at least."""
    found = list(edits(roles, role))
    removed = [edit for edit in found if edit.what.startswith("removed")]
    turned = [edit for edit in found if not edit.what.startswith("removed")]
    draw = random.Random(seed)
    draw.shuffle(removed)
    draw.shuffle(turned)
    few = turned[: count // 2]
    return (few + removed)[:count]


def edits(roles: Path, role: str) -> Iterator[Edit]:
    """Yield every edit of a role's tasks and handlers."""
    for folder in ("tasks", "handlers"):
        for path in sorted((roles / role / folder).glob("*.yml")):
            text = path.read_text()
            for line, what, changed in _of_text(text):
                yield Edit(
                    role=role, file=path.relative_to(roles), line=line, what=what, text=changed
                )


def _of_text(text: str) -> Iterator[tuple[int, str, str]]:
    lines = text.splitlines(keepends=True)
    for first, last, column, name, action in _tasks(yaml.compose(text)):
        if action in PASSIVE:
            continue
        # A list keeps an item, and whoever asks what a task found is told that it was left out.
        instead = f"{' ' * (column - 2)}- name: Removed\n{' ' * column}ansible.builtin.meta: noop\n"
        yield (
            first + 1,
            f"removed: {name}",
            "".join(lines[:first]) + instead + "".join(lines[last:]),
        )
    for number, line in enumerate(lines):
        for before, after in TURNED.items():
            if re.search(rf"(?<![\w-]){re.escape(before)}(?![\w-])", line):
                turned = [*lines[:number], line.replace(before, after), *lines[number + 1 :]]
                yield number + 1, f"{before} is {after}", "".join(turned)
        if LEFT_OUT.match(line.rstrip("\n")) and not _alone(lines, number):
            left = [*lines[:number], *lines[number + 1 :]]
            yield number + 1, f"left out: {line.strip()}", "".join(left)


def _alone(lines: list[str], number: int) -> bool:
    """Return whether a line is the only item of its list, which without it would be no list."""
    if not lines[number].lstrip().startswith("- "):
        return False
    start = lines[number][: lines[number].index("- ") + 2]
    around = lines[max(number - 1, 0) : number] + lines[number + 1 : number + 2]
    return not any(line.startswith(start) for line in around)


def _tasks(node: yaml.Node | None) -> Iterator[tuple[int, int, int, str, str]]:
    """Yield of each task its first line, the one after its last, column, name and action."""
    if not isinstance(node, yaml.SequenceNode):
        return
    for item in node.value:
        keys = {key.value: value for key, value in item.value}
        if any(part in keys for part in LISTS):
            for part in LISTS:
                yield from _tasks(keys.get(part))
            continue
        action = next((key for key in keys if "." in key), "")
        end = item.end_mark.line + (1 if item.end_mark.column else 0)
        name = str(keys["name"].value) if "name" in keys else action
        yield item.start_mark.line, end, item.start_mark.column, name, action
