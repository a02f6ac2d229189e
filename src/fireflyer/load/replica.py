"""Read a replica: its intent out of a stack's file, and the instance types there are."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fireflyer.errors import IntentError, Problem
from fireflyer.load.document import Document, frozen, read
from fireflyer.load.site import Site, load_site
from fireflyer.load.typed import parse
from fireflyer.model.instance import Cloud, Instances, InstanceType, Provider
from fireflyer.model.replica import ReplicaFile, ReplicaIntent
from fireflyer.paths import HARDWARE, INVENTORY

PROJECT = "fireflyer-replica"
"""Name of the Pulumi project, which its keys in a stack's file begin with."""
MAIL = "alarm_email"
"""Key of the receiver of alarms; its value is encrypted."""
SITE_KEY = "replica.of"


@dataclass(frozen=True, slots=True)
class Replica:
    """A replica's intent, its site, and what a provider rents."""

    name: str
    """Of its own, in names and tags at the provider; a stack's only replica has the stack's."""
    document: Document
    intent: ReplicaIntent
    expires: str | None
    alarms_told: bool
    """Whether alarms and the budget have a receiver."""
    site: Site
    instances: Instances


def load_replica(file: Path) -> Replica:
    """Read `Pulumi.<stack>.yaml` as it stands, the site it names and the instance types.

    What Pulumi adds, such as values of an environment, is not in it: see `configured_replica`.

    Raises:
        IntentError: with everything wrong in the intent and the catalogue; then in the site.
    """
    whole = read(file)
    config = whole.data.get("config") if isinstance(whole.data, Mapping) else None
    if not isinstance(config, Mapping):
        config = {}
    if isinstance(whole.data, Mapping) and whole.data.get("environment"):
        limit = "adds values that Pulumi's engine alone can read, and it was not asked"
        remedy = "install the engine (docs/replica.md), or write the values into the file"
        raise IntentError([whole.problem("environment", None, limit, remedy)])
    own = {
        str(key).removeprefix(f"{PROJECT}:"): value
        for key, value in config.items()
        if str(key).startswith(f"{PROJECT}:")
    }
    return _replica(file, own, _own_lines(whole))


def configured_replica(name: str, values: Mapping[str, str], file: Path) -> Replica:
    """Read a replica from a stack's configuration as Pulumi has it; `file` tells the lines.

    `values` are by whole key, objects as JSON, secrets as plain text: of the stack's file, of
    another one, of environments, of the project, whatever applies.

    Raises:
        IntentError: with everything wrong in the intent and the catalogue; then in the site.
    """
    own: dict[str, object] = {
        key.removeprefix(f"{PROJECT}:"): value
        for key, value in values.items()
        if key.startswith(f"{PROJECT}:")
    }
    if (text := values.get(f"{PROJECT}:replica")) is not None:
        with suppress(ValueError):
            own["replica"] = frozen(json.loads(text))
    lines: Mapping[str, int] = {}
    with suppress(IntentError):  # without such a file the values are elsewhere
        whole = read(file)
        lines = {
            key: line
            for key, line in _own_lines(whole).items()
            if _part(whole.data, f"config.{PROJECT}:{key}") == _part(own, key)
        }
    return dataclasses.replace(_replica(file, own, lines), name=name)


def _replica(file: Path, own: Mapping[str, object], lines: Mapping[str, int]) -> Replica:
    problems: list[Problem] = []
    data = {key: own[key] for key in ("replica", "expires") if key in own}
    document = Document(file=file, data=data, lines=lines)
    try:
        if "replica" not in own:
            limit = "is missing"
            remedy = "copy pulumi/Pulumi.smoke.yaml and change it"
            whole = Document(file=file, data=None, lines={})
            raise IntentError([whole.problem(f"config.{PROJECT}:replica", None, limit, remedy)])
        parsed = parse(document, ReplicaFile)
    except IntentError as error:
        problems += error.problems
    try:
        instances = load_instances()
    except IntentError as error:
        problems += error.problems
    if problems:
        raise IntentError(problems)
    known = sorted(path.parents[2].name for path in INVENTORY.glob("*/group_vars/all/cluster.yml"))
    if parsed.replica.of not in known:
        limit = "is no site of inventory/"
        remedy = f"use one of {', '.join(known)}"
        raise IntentError([document.problem(SITE_KEY, parsed.replica.of, limit, remedy)])
    return Replica(
        name=file.name.removeprefix("Pulumi.").removesuffix(".yaml"),
        document=document,
        intent=parsed.replica,
        expires=parsed.expires,
        alarms_told=bool(own.get(MAIL)),
        site=load_site(INVENTORY / parsed.replica.of),
        instances=instances,
    )


def _own_lines(whole: Document) -> Mapping[str, int]:
    """Return the lines of what of a stack's file is the replica's."""
    start = f"config.{PROJECT}:"
    return {
        key.removeprefix(start): line for key, line in whole.lines.items() if key.startswith(start)
    }


def _part(data: object, key: str) -> object:
    """Return a value by its dotted key; `parts` of what has parts, which are compared alone.

    >>> _part({"a": {"b": (5, 6)}}, "a.b.1"), _part({"a": 5}, "a.b"), _part({"a": {"b": 5}}, "a")
    (6, None, 'parts')
    """
    for part in key.split("."):
        if isinstance(data, Mapping):
            data = data.get(part)
        elif isinstance(data, tuple) and part.isdigit() and int(part) < len(data):
            data = data[int(part)]
        else:
            return None
    return "parts" if isinstance(data, (Mapping, tuple)) else data


def load_instances(folder: Path = HARDWARE) -> Instances:
    """Read `clouds/<provider>.yml` and `instances/<provider>/<type>.yml`.

    Raises:
        IntentError: with everything wrong in all the files.
    """
    types: dict[tuple[Provider, str], InstanceType] = {}
    clouds: dict[Provider, Cloud] = {}
    problems: list[Problem] = []
    for file in sorted(folder.glob("clouds/*.yml")):
        try:
            cloud = parse(read(file), Cloud)
            clouds[cloud.provider] = cloud
        except IntentError as error:
            problems += error.problems
    for file in sorted(folder.glob("instances/*/*.yml")):
        try:
            document = read(file)
            found = parse(document, InstanceType)
        except IntentError as error:
            problems += error.problems
            continue
        expected = Path("instances") / found.provider / f"{found.type}.yml"
        if file.relative_to(folder) != expected:
            limit = f"the file is {file.relative_to(folder)}"
            problems.append(document.problem("type", found.type, limit, f"move it to {expected}"))
        types[found.provider, found.type] = found
    if problems:
        raise IntentError(problems)
    return Instances(clouds, types)
