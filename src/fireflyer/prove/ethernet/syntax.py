"""Every rendered FRR file, read by FRR's own parser (vtysh -C)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from fireflyer.errors import OperatingError
from fireflyer.prove.programs import run
from fireflyer.verify.finding import Finding

WORKERS = 2
FILES_A_RUN = 64
"""Reading its own grammar costs vtysh six times what a file does, so it gets many at once."""
BETWEEN = "interface lo\nexit\n"
"""Stands between two files: whatever block the first left open, it is closed."""
_ERROR = re.compile(r"^line (\d+): (.*)$")
_TIMEOUT_S = 120


def syntax_findings(files: Sequence[Path], scratch: Path) -> tuple[Finding, ...]:
    """Return one finding for each file with a line that FRR does not know.

    Raises:
        OperatingError: vtysh failed in another way.
    """
    rest = iter(files)
    runs = list(iter(lambda: tuple(islice(rest, FILES_A_RUN)), ()))
    with ThreadPoolExecutor(WORKERS) as pool:
        found = pool.map(lambda run: _read(run[1], scratch / f"{run[0]}.conf"), enumerate(runs))
        return tuple(finding for findings in found for finding in findings)


def _read(files: Iterable[Path], scratch: Path) -> list[Finding]:
    firsts: list[int] = []
    texts: list[str] = []
    named = list(files)
    line = 1
    for file in named:
        text = file.read_text(errors="replace")
        text += "" if text.endswith("\n") else "\n"
        texts += [text, BETWEEN]
        firsts.append(line)
        line += text.count("\n") + BETWEEN.count("\n")
    scratch.write_text("".join(texts))
    errors: dict[Path, list[tuple[int, str]]] = {}
    for number, said in _errors(scratch):
        index = bisect_right(firsts, number) - 1
        errors.setdefault(named[index], []).append((number - firsts[index] + 1, said))
    return [_finding(file, lines) for file, lines in errors.items()]


def _errors(file: Path) -> list[tuple[int, str]]:
    command = ("vtysh", "-C", "-f", str(file))
    done = run(*command, name="vtysh -C", timeout_s=_TIMEOUT_S, check=False)
    lines = (done.stdout + done.stderr).splitlines()
    found = {(int(m[1]), m[2]) for m in map(_ERROR.match, lines) if m}
    if done.returncode and not found:
        raise OperatingError(f"vtysh -C failed with {done.returncode}: {' '.join(lines)[-200:]}")
    return sorted(found)


def _finding(file: Path, lines: list[tuple[int, str]]) -> Finding:
    number, said = lines[0]
    more = f", and {len(lines) - 1} more lines" if len(lines) > 1 else ""
    return Finding(
        "syntax", f"frr/{file.name}", f"line {number}: {said}{more}", "render the site again"
    )
