"""Zero-touch provisioning: the script, what it reads, and the DHCP options that name it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import fireflyer
from fireflyer.model.fabric import Fabric
from fireflyer.prove.files import plain_json
from fireflyer.prove.files.marked_yaml import Tree, flattened
from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

SCRIPT, SWITCHES = "ztp/zero_touch.py", "ztp/switches.json"
SONIC, OPTIONS = "ztp/ztp.json", "ztp/dhcp-options.conf"
_CODES = {"sonic": (67, SONIC), "nvue": (239, SCRIPT), "eos": (67, SCRIPT)}
"""The DHCP option that each system takes its script from (RFC 2132 option 67; Cumulus 239)."""
_ONIE = 114
_ENDING = {"sonic": ".json", "nvue": ".yaml", "eos": ".cfg"}
_OPTION = re.compile(r'dhcp-option-force=tag:switch,(\d+),"?([^"]*)"?')


def ztp(fabric: Fabric, tree: Path) -> tuple[Finding, ...]:
    """Return where the files for new switches differ from the fabric."""
    url, options = fabric.intent.switch_management.ztp_url, switch_options(fabric)
    if not options or fabric.system not in _ENDING:
        return ()
    switches: dict[str, Tree] = {
        "serials": {s.serial: s.name for s in fabric.switches if s.serial},
        "files": {
            s.name: f"{fabric.system}/{s.name}{_ENDING[fabric.system]}" for s in fabric.switches
        },
    }
    findings = [
        *read(tree, SCRIPT, lambda text: _script(text, url)),
        *read(tree, SWITCHES, lambda text: _json(SWITCHES, text, switches)),
        *read(tree, OPTIONS, lambda text: _options(text, options)),
    ]
    if fabric.system == "sonic":
        plugin: Tree = {
            "ztp": {
                "01-configuration": {
                    "plugin": {"url": {"source": f"{url}/{SCRIPT}"}},
                    "halt-on-failure": True,
                }
            }
        }
        findings += read(tree, SONIC, lambda text: _json(SONIC, text, plugin))
    return tuple(findings)


def switch_options(fabric: Fabric) -> dict[str, str]:
    """Return the DHCP options of a new switch, by code; none where nothing is provisioned."""
    management = fabric.intent.switch_management
    if not management.ztp_url or fabric.system not in _CODES:
        return {}
    code, first = _CODES[fabric.system]
    options = {str(code): f"{management.ztp_url}/{first}"}
    if management.onie_image_url:
        options[str(_ONIE)] = management.onie_image_url
    return options


def _json(path: str, text: str, planned: Tree) -> Iterator[Finding]:
    findings: list[Finding] = []
    seen = plain_json.load(path, text, findings)
    yield from findings
    if seen is not None:
        plan = {name: {"value": value} for name, value in flattened(planned)}
        rows = [Row(name, {"value": value}) for name, value in flattened(seen)]
        yield from row_findings(path, plan, rows)


def _options(text: str, planned: Mapping[str, str]) -> Iterator[Finding]:
    rows = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if match := _OPTION.fullmatch(line):
            rows.append(Row(f"option {match[1]}", {"value": match[2]}, number))
        else:
            yield fault(OPTIONS, f"{line} is no DHCP option for a switch", number)
    plan: dict[str, dict[str, Value]] = {
        f"option {code}": {"value": value} for code, value in planned.items()
    }
    yield from row_findings(OPTIONS, plan, rows)


def _script(text: str, url: str) -> Iterator[Finding]:
    """Compare the script with the program that the package ships, statement by statement."""
    source = Path(fireflyer.__file__).parent / "render" / "zero_touch.py"
    try:
        seen = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        yield fault(SCRIPT, f"is no Python: {error}", getattr(error, "lineno", 0) or 0)
        return
    if not text.startswith("#!/usr/bin/env python3\n"):
        yield fault(SCRIPT, "does not begin with #!/usr/bin/env python3: it would not run", 1)
    if "CUMULUS-AUTOPROVISIONING" not in text:
        yield fault(SCRIPT, "lacks the word CUMULUS-AUTOPROVISIONING, by which it is known", 1)
    shipped = [ast.dump(part) for part in ast.parse(source.read_text()).body]
    for number, part in enumerate(seen.body):
        if isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == "SERVER":
            if ast.unparse(part.value) != repr(url):
                message = f"SERVER is {ast.unparse(part.value)}, planned {url}"
                yield fault(SCRIPT, message, part.lineno)
        elif number >= len(shipped) or ast.dump(part) != shipped[number]:
            message = "is not the statement of the program that fireflyer ships"
            yield fault(SCRIPT, message, part.lineno)
    if len(seen.body) != len(shipped):
        yield fault(SCRIPT, f"has {len(seen.body)} statements, the program {len(shipped)}")
