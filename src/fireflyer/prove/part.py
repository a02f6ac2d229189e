"""What one piece of real software was given, and what it said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TypeAlias

from fireflyer.verify.finding import Finding

Progress: TypeAlias = Callable[[str], None]
"""Told what is being done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a proof."""

    name: str
    """What was proved, such as infiniband or sonic."""
    used: str
    """The software and its version; the rules that stood in for it where there is none."""
    lines: tuple[str, ...]
    """Its figures, for a person."""
    data: Mapping[str, object] = field(default_factory=dict)
    """The same, for a program."""
    findings: tuple[Finding, ...] = ()
    skipped: str = ""
    """Why it did not run, and how to have it run; empty where it ran."""
    failed: str = ""
    """Why it could not be brought to an end; empty where it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was proved of a site, and what was found."""

    parts: tuple[Part, ...]
    findings: tuple[Finding, ...]
    """Of every part, after those on the artefacts themselves."""
    seconds: float

    @property
    def failures(self) -> tuple[str, ...]:
        """What kept parts from their end."""
        return tuple(part.failed for part in self.parts if part.failed)

    def part(self, name: str) -> Part:
        """Return the part of a name."""
        return next(part for part in self.parts if part.name == name)


def as_json(proof: Proof) -> dict[str, object]:
    """Return the proof as one JSON object."""
    return {
        "parts": {
            part.name: {
                "used": part.used,
                "skipped": part.skipped,
                "failed": part.failed,
                **part.data,
            }
            for part in proof.parts
        },
        "findings": [asdict(finding) for finding in proof.findings],
        "seconds": round(proof.seconds, 1),
    }


def as_text(proof: Proof) -> str:
    """Return the proof as a page."""
    lines: list[str] = []
    for part in proof.parts:
        lines.append(f"{part.name}: {part.used}")
        lines += [f"  {line}" for line in part.lines]
        if part.skipped:
            lines.append(f"  skipped: {part.skipped}")
        if part.failed:
            lines.append(f"  failed: {part.failed}")
    lines.append(f"time: {proof.seconds:.1f} s")
    if proof.findings:
        lines += [f"finding: {finding}" for finding in proof.findings]
        return "\n".join([*lines, f"{len(proof.findings)} finding(s)"])
    if proof.failures:
        return "\n".join([*lines, "not proved: a part failed; no findings in the others"])
    skipped = sum(bool(part.skipped) for part in proof.parts)
    said = f"; {skipped} part(s) skipped, see above" if skipped else ""
    return "\n".join([*lines, f"proved: no findings{said}"])
