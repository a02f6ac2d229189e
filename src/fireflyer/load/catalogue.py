"""Read the hardware models: one YAML file each under `hardware/`."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from fireflyer.errors import IntentError, Problem
from fireflyer.load.document import read
from fireflyer.load.typed import parse
from fireflyer.model.cable_parts import CableFamily
from fireflyer.model.hardware import Catalogue, NodeModel, SwitchModel
from fireflyer.paths import HARDWARE

Model = TypeVar("Model", SwitchModel, NodeModel, CableFamily)


def load_catalogue(folder: Path = HARDWARE) -> Catalogue:
    """Read every model.

    Raises:
        IntentError: with everything wrong in all the files; a file that is not named after
            its model is wrong too.
    """
    problems: list[Problem] = []
    switches = _read_folder(folder / "switches", SwitchModel, problems)
    nodes = _read_folder(folder / "nodes", NodeModel, problems)
    cables = _read_folder(folder / "cables", CableFamily, problems)
    of_speed: dict[tuple[str, int], str] = {}
    for family in cables.values():
        key = (family.technology, family.gbps)
        if (first := of_speed.setdefault(key, family.name)) != family.name:
            where = f"{folder}/cables/{family.name}.yml:1"
            limit = f"{first} is for that speed of {family.technology} too"
            remedy = "put the offers of one speed into one file"
            value = str(family.gbps)
            problems.append(
                Problem(where=where, key="gbps", value=value, limit=limit, remedy=remedy)
            )
    if problems:
        raise IntentError(problems)
    return Catalogue(
        switches=switches,
        nodes=nodes,
        cables={(family.technology, family.gbps): family for family in cables.values()},
    )


def _read_folder(folder: Path, kind: type[Model], problems: list[Problem]) -> dict[str, Model]:
    models: dict[str, Model] = {}
    for file in sorted(folder.glob("*.yml")):
        try:
            document = read(file)
            model = parse(document, kind)
        except IntentError as error:
            problems += error.problems
            continue
        if model.name != file.stem:
            remedy = f"rename the file to {model.name}.yml or the model to {file.stem}"
            limit = f"the file is named {file.name}"
            problems.append(document.problem("name", model.name, limit, remedy))
        models[model.name] = model
    if not models and not problems:
        where = f"{folder}:1"
        remedy = "run fireflyer from the repository it was installed from"
        problems.append(
            Problem(where=where, key="folder", value="", limit="holds no model", remedy=remedy)
        )
    return models
