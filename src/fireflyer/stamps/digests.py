"""What a role on a host is made from, as one digest: the role, and each variable that it can read.

A role reads a variable by its name, so the names in its files are followed through the values of
variables to further names. What cannot be told apart by reading is taken as a whole: a digest that
changes too often costs a run of the role, one that changes too rarely leaves a host as it was.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from fireflyer.folders import digest_of_folder
from fireflyer.stamps.roles import Role

Groups: TypeAlias = Mapping[str, Sequence[str]]

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_GROUP = re.compile(r"""(?<![\w.'"])groups(?:\.(\w+)|\[\s*['"](\w+)['"]\s*\])""")
_GROUPS = re.compile(
    r"""(?<![\w.'"])groups\s*[\[.|]|\bin groups\b|['"]extract['"]\s*,\s*groups\b"""
)
_TEMPLATE = re.compile(r"\{[{%]")
_FILLED = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_ALL = ("groups", "hostvars")
_OF_THE_RUN = re.compile(
    r"ansible_(play|run|forks|check|diff|version|verbosity|limit|config|skip|inventory_sources)\w*"
    r"|playbook_dir|inventory_(dir|file)|omit|environment|hostvars|vars|groups"
)
"""Variables that say how Ansible is run, and not how a host shall be."""
_ANY_NAME = re.compile(
    r"""['"](?:ansible\.builtin\.)?(?:vars|varnames)['"]
    |(?<![\w./'"-])vars\s*(?:\[|\.\w)""",
    re.VERBOSE,
)
"""What reads a variable whose name may be put together."""
_LITERAL = re.compile(
    r"""\bhostvars\s*(?:\.\w+|\[(?:[^\[\]]|\[[^\[\]]*\])*\])\s*  # of which host
        (?:\.(?!get\b|items\b|keys\b|values\b)\w+|\[\s*['"]\w+['"]\s*\])  # which variable
    |['"]extract['"]\s*,\s*hostvars\s*,\s*\[?\s*['"]\w+['"]\s*[\]),]
    |\bin\ hostvars\b(?!\s*[.\[])""",
    re.VERBOSE,
)
"""Uses of `hostvars` that name the variable which they read, or none."""
_NAMED_GROUP = r"""groups(?:\.\w+|\[\s*['"]\w+['"]\s*\])"""
_OF_GROUP = re.compile(
    rf"""hostvars\[\s*{_NAMED_GROUP}\s*\|\s*(?:first|last)\s*\]
    |{_NAMED_GROUP}\s*\|\s*map\(\s*['"]extract['"]\s*,\s*hostvars\b""",
    re.VERBOSE,
)
"""What reads variables of the hosts of a group that is named, and of no other."""
_OWN = ("inventory_hostname", "inventory_hostname_short")
"""Variables that every host has its own of, which says nothing of the others."""


class RawVariables(Protocol):
    """Ansible's `hostvars`: a host's variables before templates are filled in."""

    def raw_get(self, host_name: str, /) -> Mapping[str, Any]:
        """Return the variables of a host."""

    def __getitem__(self, host_name: str, /) -> Mapping[str, Any]:
        """Return the variables of a host, their templates filled in when they are asked for."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A text that is read as one: a value, or a file of a role."""

    paths: frozenset[str]
    groups: tuple[str, ...] | None
    """The groups it names; None if it may read any."""
    elsewhere: tuple[str, ...] = ()
    """Groups of the hosts whose variables it reads."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A path among the variables of the hosts of groups."""

    groups: tuple[str, ...]
    path: str


@dataclass(slots=True)
class Digests:
    """Digests of roles on hosts. It remembers what hosts share, so one serves a whole site."""

    hostvars: RawVariables
    groups: Groups
    _raw: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)
    _values: dict[int, tuple[Any, str, _Unit]] = field(default_factory=dict)
    _texts: dict[str, _Unit] = field(default_factory=dict)
    _others: dict[_Place, str] = field(default_factory=dict)
    _places: dict[_Place, tuple[str, list[_Unit]]] = field(default_factory=dict)

    def of(self, role: Role, host: str) -> str:
        """Return the digest of a role on a host."""
        variables = self.variables(host)
        own = tuple(f"{name}_" for name in role.names)
        units = [self._unit(text, prose=True) for text in role.texts]
        units.append(_Unit(frozenset(n for n in variables if n.startswith(own)), ()))
        lines = {f"role {role.digest}"}
        seen: set[str] = set()
        while units:
            unit = units.pop()
            lines |= self._of_groups(unit)
            for path in unit.paths:
                if unit.elsewhere:
                    lines.add(self._of_others(_Place(unit.elsewhere, path)))
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

    def value(self, host: str, name: str, default: Any = None) -> Any:
        """Return a host's variable, with its template filled in if it is one."""
        value = self.variables(host).get(name, default)
        return self.hostvars[host][name] if _TEMPLATE.search(str(value)) else value

    def _resolve(self, variables: Mapping[str, Any], path: str) -> tuple[Any, str, _Unit] | None:
        """Return the value at `a.b.c`, or at as much of it as there are keys, with its digest."""
        name, *keys = path.split(".")
        if name not in variables:
            return None
        value = variables[name]
        if name.endswith("_source_dir") and Path(str(value)).is_absolute():
            value = [value, digest_of_folder(Path(str(value)))]
        if name.endswith("_ssh_ca") and value:
            value = [value, _public_half(str(self.value(variables["inventory_hostname"], name)))]
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
        digest = hashlib.sha256(json.dumps(value, default=_spelt).encode()).hexdigest()
        text = "\n".join(_strings(value))
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
            uses = len(re.findall(r"\bhostvars\b", text))
            if _ANY_NAME.search(text) or uses > len(_LITERAL.findall(text)):
                paths = self._known
            named = tuple(sorted({a or b for a, b in _GROUP.findall(text)}))
            every_one_named = len(_GROUPS.findall(text)) == len(_GROUP.findall(text))
            every_one_named &= set(named) <= self.groups.keys()  # and not `groups.items()`
            tied = len(_OF_GROUP.findall(text)) == uses
            self._texts[text] = _Unit(
                paths=frozenset(paths),
                groups=named if every_one_named else None,
                elsewhere=(named if tied and every_one_named else ("all",)) if elsewhere else (),
            )
        return self._texts[text]

    def _of_groups(self, unit: _Unit) -> set[str]:
        named = self.groups if unit.groups is None else unit.groups
        return {f"group {name} {self._members(name)}" for name in named}

    def _members(self, group: str) -> str:
        text = ",".join(self.groups.get(group, ()))
        return hashlib.sha256(text.encode()).hexdigest()

    def _of_others(self, place: _Place) -> str:
        """Return a digest of what hosts have at a place and of all that goes into it."""
        if place not in self._others:
            lines: set[str] = set()
            seen: set[_Place] = set()
            places = [place]
            while places:
                if (at := places.pop()) in seen:
                    continue
                seen.add(at)
                line, units = self._at(at)
                lines.add(line)
                for unit in units:
                    lines |= self._of_groups(unit)
                    for path in unit.paths:
                        places.append(_Place(at.groups, path))
                        if unit.elsewhere:
                            places.append(_Place(unit.elsewhere, path))
            self._others[place] = hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()
        return f"others {place.path} {self._others[place]}"

    def _at(self, place: _Place) -> tuple[str, list[_Unit]]:
        """Return a line for what hosts have at a place, and what those values mention.

        Where all have the same it is no matter who they are: a host more that has it, too, changes
        nothing.
        """
        if place not in self._places:
            hosts = dict.fromkeys(h for name in place.groups for h in self.groups.get(name, ()))
            if place.path in _OWN:
                hosts = {}
            values = {host: self._resolve(self.variables(host), place.path) for host in hosts}
            there = {host: value for host, value in values.items() if value is not None}
            digests = {digest for _, digest, _ in there.values()}
            if len(digests) > 1 or 0 < len(there) < len(hosts):
                pairs = "".join(f"{host} {digest}\n" for host, (_, digest, _) in there.items())
                digests = {hashlib.sha256(pairs.encode()).hexdigest()}
            units = {id(unit): unit for _, _, unit in there.values() if unit is not _NOTHING}
            line = f"{','.join(place.groups)} {place.path} {''.join(digests)}"
            self._places[place] = (line, list(units.values()))
        return self._places[place]


_NOTHING = _Unit(paths=frozenset(), groups=())


def _strings(value: Any) -> Iterator[str]:
    """Yield the strings in a value, as they are read."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _strings(item)
    elif isinstance(value, list | tuple | set):
        for item in value:
            yield from _strings(item)


def _public_half(key: str) -> str:
    """Return the public half of a key that is named by it or by the private one, if it is there."""
    try:
        path = Path(key if key.endswith(".pub") else f"{key}.pub").expanduser()
        return path.read_text()
    except (OSError, ValueError, RuntimeError):  # no such file, or no path at all
        return ""


def _spelt(value: Any) -> str:
    """Spell what JSON cannot: of a vaulted value its ciphertext, so that no secret is digested."""
    ciphertext = getattr(value, "_ciphertext", None)
    return str(ciphertext) if ciphertext is not None else repr(value)
