"""Every `config_db.json` against SONiC's own YANG models, by libyang's yanglint."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fireflyer.errors import OperatingError
from fireflyer.model.fabric import Fabric
from fireflyer.prove.programs import found, run
from fireflyer.prove.switches.result import SwitchCheck
from fireflyer.prove.switches.sonic_tables import TABLES
from fireflyer.prove.switches.sonic_xml import UnknownRowError, xml
from fireflyer.render.switch_files import file_path
from fireflyer.verify.finding import Finding

VARIABLE = "FIREFLYER_SONIC_YANG"
"""Environment variable that names the folder of SONiC's models."""
FOLDER = Path("build/sonic-yang-models")
"""That folder where the variable is not set; `scripts/sonic-yang-models` makes it."""
NO_MODELS = (
    f"no SONiC YANG models: `scripts/sonic-yang-models` fetches them from SONiC's repository into"
    f" {FOLDER}, `scp -r admin@SWITCH:/usr/local/yang-models {FOLDER}` copies a switch's own"
    f" ({VARIABLE} names another folder)"
)
CHECK = "sonic"
REMEDY = "mend the file, or render the site again"
_NAMESPACE = re.compile(r'\bnamespace\s+"([^"]+)"')
_ERROR = re.compile(r"^libyang err : (.*)$", re.MULTILINE)
_FAILED = re.compile(r'Failed to parse input data file "([^"]+)"')
BATCH = 16
"""Files one yanglint reads: it keeps every one in memory to its end."""
_TIMEOUT_S = 600


def check(fabric: Fabric, tree: Path, models: Path | None = None) -> SwitchCheck:
    """Validate the configurations below `tree/sonic`.

    Args:
        fabric: The fabric the tree was rendered from.
        tree: A rendered tree.
        models: Folder of SONiC's models (sonic-buildimage, src/sonic-yang-models);
            `models_folder` where it is not given.

    Raises:
        OperatingError: the folder has no models, or they cannot be read.
    """
    files = sorted((tree / "sonic").glob("*.json"))
    models = models or models_folder()
    if models is None:
        return SwitchCheck(checker="yanglint", files=0, skipped=NO_MODELS)
    if found("yanglint") is None:
        reason = "yanglint is not there: apt-get install libyang2-tools"
        return SwitchCheck(checker="yanglint", files=0, skipped=reason)
    namespaces = _namespaces(models)
    batches = [files[first : first + BATCH] for first in range(0, len(files), BATCH)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        checked = pool.map(lambda batch: _check_batch(models, namespaces, batch), batches)
        findings = [finding for part in checked for finding in part]
    return SwitchCheck(checker=_version(), files=len(files), findings=tuple(findings))


def models_folder() -> Path | None:
    """Return the folder of SONiC's models: the variable's, else `FOLDER` where there is one."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    return FOLDER if FOLDER.is_dir() else None


def _check_batch(
    models: Path, namespaces: Mapping[str, str], files: Sequence[Path]
) -> list[Finding]:
    findings: list[Finding] = []
    with tempfile.TemporaryDirectory(prefix="fireflyer-yang-") as folder:
        written = []
        for file in files:
            target = Path(folder) / f"{file.stem}.xml"
            try:
                target.write_text(xml(json.loads(file.read_bytes()), namespaces))
            except (UnknownRowError, ValueError, AttributeError) as error:
                findings.append(Finding(CHECK, file_path("sonic", file.stem), str(error), REMEDY))
            else:
                written.append(target)
        return findings + _validate(models, written)


def _namespaces(models: Path) -> Mapping[str, str]:
    """Return the namespace of every module that is rendered."""
    needed = sorted({model.module for model in TABLES.values()})
    missing = [name for name in needed if not (models / f"{name}.yang").is_file()]
    if missing:
        raise OperatingError(
            f"the folder of SONiC's models {models} lacks {', '.join(missing[:3])}.yang; make it"
            f" with `scripts/sonic-yang-models`, or let {VARIABLE} name one with all models"
        )
    spaces = {}
    for name in needed:
        match = _NAMESPACE.search((models / f"{name}.yang").read_text())
        if match is None:
            raise OperatingError(f"{models / name}.yang names no namespace; it is damaged")
        spaces[name] = match[1]
    return spaces


def _validate(models: Path, files: list[Path]) -> list[Finding]:
    """Return the first fault of each file; yanglint stops at a faulty one, so it goes on after."""
    findings: list[Finding] = []
    modules = sorted(models.glob("sonic-*.yang"))
    while files:
        read = (str(path) for path in (models, *modules, *files))
        done = run("yanglint", "-t", "config", "-p", *read, timeout_s=_TIMEOUT_S, check=False)
        if done.returncode == 0:
            break
        failed = _FAILED.search(done.stderr)
        said = _ERROR.findall(done.stderr)
        if failed is None:
            last = (said or done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise OperatingError(f"yanglint could not read the models in {models}: {last}")
        name = Path(failed[1])
        message = said[-1] if said else "yanglint refuses it"
        findings.append(Finding(CHECK, file_path("sonic", name.stem), message, REMEDY))
        files = files[files.index(name) + 1 :]
    return findings


def _version() -> str:
    done = run("yanglint", "--version", timeout_s=_TIMEOUT_S, check=False)
    return done.stdout.strip() or "yanglint"
