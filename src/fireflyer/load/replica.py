"""Read a replica: its intent out of a stack's file, and the instance types there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fireflyer.errors import IntentError, Problem
from fireflyer.load.document import Document, read
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

    stack: str
    document: Document
    intent: ReplicaIntent
    expires: str | None
    alarms_told: bool
    """Whether alarms and the budget have a receiver."""
    site: Site
    instances: Instances


def load_replica(file: Path) -> Replica:
    """Read `Pulumi.<stack>.yaml`, the site it names and the instance types.

    Raises:
        IntentError: with everything wrong in the intent and the catalogue; then in the site.
    """
    problems: list[Problem] = []
    try:
        whole = read(file)
        document = _own_part(whole)
        told = f"config.{PROJECT}:{MAIL}" in whole.lines
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
        stack=file.name.removeprefix("Pulumi.").removesuffix(".yaml"),
        document=document,
        intent=parsed.replica,
        expires=parsed.expires,
        alarms_told=told,
        site=load_site(INVENTORY / parsed.replica.of),
        instances=instances,
    )


def _own_part(whole: Document) -> Document:
    """Return what of a stack's file is the replica's, with the lines it has there."""
    config = whole.data.get("config") if isinstance(whole.data, Mapping) else None
    prefix = f"{PROJECT}:"
    if not isinstance(config, Mapping) or f"{prefix}replica" not in config:
        limit = "is missing"
        remedy = "copy pulumi/Pulumi.smoke.yaml and change it"
        raise IntentError([whole.problem(f"config.{prefix}replica", None, limit, remedy)])
    data = {
        str(key).removeprefix(prefix): value
        for key, value in config.items()
        if str(key) in (f"{prefix}replica", f"{prefix}expires")
    }
    start = f"config.{prefix}"
    lines = {
        key.removeprefix(start): line for key, line in whole.lines.items() if key.startswith(start)
    }
    return Document(file=whole.file, data=data, lines=lines)


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
