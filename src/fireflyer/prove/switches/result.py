"""What a check of switch configurations says of itself beside its findings."""

from __future__ import annotations

from dataclasses import dataclass, field

from fireflyer.verify.finding import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchCheck:
    """One checker's work on the configurations of a site."""

    checker: str
    """The software and its version, or the rules that stood in for it."""
    files: int
    """Configurations that it read."""
    findings: tuple[Finding, ...] = ()
    skipped: str = ""
    """Why it did not run, and how to have it run; empty where it ran."""
    notes: tuple[str, ...] = field(default=())
    """What the intent asks for and this system has no configuration for."""
