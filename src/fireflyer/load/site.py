"""A site: everything that design needs to know."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fireflyer.errors import IntentError, Problem
from fireflyer.load.assets import Assets, load_assets
from fireflyer.load.catalogue import load_catalogue
from fireflyer.load.document import Document, read
from fireflyer.load.typed import parse
from fireflyer.model.hardware import Catalogue
from fireflyer.model.intent import Cluster, IntentFile

INTENT = Path("group_vars/all/cluster.yml")
ASSETS = Path("assets.csv")


@dataclass(frozen=True, slots=True)
class Site:
    """What a person wrote of one cluster, and the hardware there is."""

    folder: Path
    document: Document
    cluster: Cluster
    catalogue: Catalogue
    assets: Assets


def load_site(folder: Path) -> Site:
    """Read `inventory/<site>`.

    Raises:
        IntentError: with everything wrong in the intent, the asset list and the catalogue.
    """
    problems: list[Problem] = []
    try:
        document = read(folder / INTENT)
        cluster = parse(document, IntentFile).cluster
    except IntentError as error:
        problems += error.problems
    try:
        assets = load_assets(folder / ASSETS)
    except IntentError as error:
        problems += error.problems
    try:
        catalogue = load_catalogue()
    except IntentError as error:
        problems += error.problems
    if problems:
        raise IntentError(problems)
    return Site(
        folder=folder,
        document=document,
        cluster=cluster,
        catalogue=catalogue.of_type(cluster.fabric.technology),
        assets=assets,
    )
