"""Ask ibdmchk, which shares no code with ours, about the same forwarding tables."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fireflyer.errors import OperatingError
from fireflyer.prove.infiniband.simulator import Simulator
from fireflyer.verify.finding import Finding
from fireflyer.verify.routing import Walk

_MISSING = re.compile(r"Found (\d+) missing paths out of:(\d+) paths")
_SCANNED = re.compile(r"Scanned:(\d+) CA to CA paths")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What ibdmchk says of the routes."""

    pairs: int
    unreachable: int
    loop: bool | None
    """None where it did not look: it does so when every pair is connected."""


def judge(simulator: Simulator) -> Verdict:
    """Run ibdmchk on OpenSM's dumps.

    It prints its verdict and then crashes more often than not, so its text counts and its
    exit status does not.

    Raises:
        OperatingError: it gave no verdict.
    """
    (simulator.folder / "opensm.mcfdbs").touch()
    said = simulator.run(
        "ibdmchk",
        *("-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs"),
        check=False,
    )
    return read_verdict(said)


def read_verdict(said: str) -> Verdict:
    """Return the verdict in ibdmchk's text."""
    missing, scanned = _MISSING.search(said), _SCANNED.search(said)
    clean, found = "no credit loops found" in said, "credit loops in routing" in said
    if not (missing or (scanned and clean != found)):
        last = said.strip().splitlines()[-1:] or ["it said nothing"]
        raise OperatingError(f"ibdmchk gave no verdict; its last line: {last[0]}")
    pairs = int(missing[2] if missing else scanned[1])  # type: ignore[index]
    return Verdict(pairs, int(missing[1]) if missing else 0, found if clean or found else None)


def disagreements(ours: Walk, theirs: Verdict) -> tuple[Finding, ...]:
    """Return where the two judges differ; then neither can be trusted."""
    findings = []
    for what, mine, other in (
        ("pairs of end ports", ours.pairs, theirs.pairs),
        ("pairs without a path", ours.unreachable, theirs.unreachable),
        ("credit loops", bool(ours.loop), theirs.loop),
    ):
        if other is not None and mine != other:
            message = f"this program counts {mine}, ibdmchk {other}"
            findings.append(Finding("judges", what, message, "report it: one of the two is wrong"))
    return tuple(findings)
