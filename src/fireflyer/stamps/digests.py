"""What a role on a host is made from, as one digest: the role, and each variable that it can read.

A role reads a variable by its name, so the names in its files are followed through the values of
variables to further names. What cannot be told apart by reading is taken as a whole: a digest that
changes too often costs a run of the role, one that changes too rarely leaves a host as it was.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from fireflyer.folders import digest_of_folder
from fireflyer.stamps.roles import Role

Groups: TypeAlias = Mapping[str, Sequence[str]]

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_GROUP = re.compile(r"""(?<![\w.'"])groups(?:\.(\w+)|\[\s*['"](\w+)['"]\s*\])""")
_GROUPS = re.compile(r"""(?<![\w.'"])groups\s*[\[.|]|\bin groups\b""")
_TEMPLATE = re.compile(r"\{[{%]")
_FILLED = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_ALL = ("groups", "hostvars")
_OF_THE_RUN = re.compile(
    r"ansible_(play|run|forks|check|diff|version|verbosity|limit|config|skip|inventory_sources)\w*"
    r"|playbook_dir|inventory_(dir|file)|omit|environment|hostvars|vars|groups"
)
"""Variables that say how Ansible is run, and not how a host shall be."""
_ANY_NAME = re.compile(r"""['"](?:ansible\.builtin\.)?(?:vars|varnames)['"]|\bvars\[""")
"""What reads a variable whose name may be put together."""
_OWN = ("inventory_hostname", "inventory_hostname_short", "group_names")
"""Variables that every host has its own of, which says nothing of the others."""


class RawVariables(Protocol):
    """Ansible's `hostvars`: a host's variables before templates are filled in."""

    def raw_get(self, host_name: str, /) -> Mapping[str, Any]:
        """Return the variables of a host."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A text that is read as one: a value, or a file of a role."""

    paths: frozenset[str]
    groups: tuple[str, ...] | None
    """The groups it names; None if it may read any."""
    elsewhere: bool
    """Whether it reads variables of other hosts."""


@dataclass(slots=True)
class Digests:
    """Digests of roles on hosts. It remembers what hosts share, so one serves a whole site."""

    hostvars: RawVariables
    groups: Groups
    _raw: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)
    _values: dict[int, tuple[Any, str, _Unit]] = field(default_factory=dict)
    _texts: dict[str, _Unit] = field(default_factory=dict)
    _scopes: dict[tuple[tuple[str, ...] | None, str], str] = field(default_factory=dict)

    def of(self, role: Role, host: str) -> str:
        """Return the digest of a role on a host."""
        variables = self.variables(host)
        own = tuple(f"{name}_" for name in role.names)
        units = [self._unit(text, prose=True) for text in role.texts]
        units.append(
            _Unit(frozenset(n for n in variables if n.startswith(own)), (), elsewhere=False)
        )
        lines = {f"role {role.digest}"}
        seen: set[str] = set()
        while units:
            unit = units.pop()
            lines |= self._of_groups(unit)
            for path in unit.paths:
                if unit.elsewhere:
                    lines.add(self._of_others(path, unit.groups))
                if path in seen:
                    continue
                seen.add(path)
                found = self._resolve(variables, path)
                if found is not None:
                    _, digest, inner = found
                    lines.add(f"{path} {digest}")
                    units.append(inner)
        return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()

    def variables(self, host: str) -> Mapping[str, Any]:
        """Return the variables of a host, which are asked for once."""
        if host not in self._raw:
            self._raw[host] = self.hostvars.raw_get(host)
        return self._raw[host]

    def _resolve(self, variables: Mapping[str, Any], path: str) -> tuple[Any, str, _Unit] | None:
        """Return the value at `a.b.c`, or at as much of it as there are keys, with its digest."""
        name, *keys = path.split(".")
        if name not in variables:
            return None
        value = variables[name]
        if name.endswith("_source_dir") and Path(str(value)).is_absolute():
            value = [value, digest_of_folder(Path(str(value)))]
        for key in keys:
            if not isinstance(value, Mapping):
                break
            if key not in value:
                if hasattr(value, key):  # a method: `.items()`
                    break
                return None
            value = value[key]
        return self._value(value)

    def _value(self, value: Any) -> tuple[Any, str, _Unit]:
        if (known := self._values.get(id(value))) is not None:
            return known
        text = json.dumps(value, default=_spelt)
        digest = hashlib.sha256(text.encode()).hexdigest()
        unit = self._unit(text) if _TEMPLATE.search(text) else _NOTHING
        # The value is kept, so that no other takes its id.
        self._values[id(value)] = (value, digest, unit)
        return self._values[id(value)]

    def _unit(self, text: str, prose: bool = False) -> _Unit:
        """Return what a text mentions; in prose a single word is a variable in a template only."""
        if text not in self._texts:
            if not self._known:
                self._known = {name for host in self.groups["all"] for name in self.variables(host)}
                self._known -= {name for name in self._known if _OF_THE_RUN.fullmatch(name)}
            mentioned = set(_PATH.findall(text))
            if prose:
                filled = set(_PATH.findall(" ".join(_FILLED.findall(text))))
                mentioned = {path for path in mentioned if "_" in path or path in _ALL} | filled
            elsewhere = any(path.split(".")[0] == "hostvars" for path in mentioned)
            paths = {path for path in mentioned if path.split(".")[0] in self._known}
            if elsewhere:  # `hostvars.mg01.fabric_names`, `item.fabric_names`
                parts = {name for path in mentioned - paths for name in path.split(".")}
                paths |= parts & self._known
            if _ANY_NAME.search(text):
                paths = self._known
            named = tuple(sorted({a or b for a, b in _GROUP.findall(text)}))
            every_one_named = len(_GROUPS.findall(text)) == len(_GROUP.findall(text))
            self._texts[text] = _Unit(
                paths=frozenset(paths),
                groups=named if every_one_named else None,
                elsewhere=elsewhere,
            )
        return self._texts[text]

    def _of_groups(self, unit: _Unit) -> set[str]:
        named = self.groups if unit.groups is None else unit.groups
        return {f"group {name} {self._members(name)}" for name in named}

    def _members(self, group: str) -> str:
        text = ",".join(self.groups.get(group, ()))
        return hashlib.sha256(text.encode()).hexdigest()

    def _of_others(self, path: str, groups: tuple[str, ...] | None) -> str:
        """Return the digest of the values at a path on all hosts that a text may read them of."""
        if (groups, path) not in self._scopes:
            scope = groups if groups else ("all",)
            hosts = dict.fromkeys(host for name in scope for host in self.groups.get(name, ()))
            if path in _OWN:
                hosts = {}
            values = (self._resolve(self.variables(host), path) for host in hosts)
            digests = sorted({value[1] for value in values if value is not None})
            self._scopes[groups, path] = hashlib.sha256("".join(digests).encode()).hexdigest()
        return f"others {path} {self._scopes[groups, path]}"


_NOTHING = _Unit(paths=frozenset(), groups=(), elsewhere=False)


def _spelt(value: Any) -> str:
    """Spell what JSON cannot: of a vaulted value its ciphertext, so that no secret is digested."""
    ciphertext = getattr(value, "_ciphertext", None)
    return str(ciphertext) if ciphertext is not None else repr(value)
