"""One difference between fabric and observed, with what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Something that is not as planned."""

    check: str
    """Which check found it: cabling, log, connectivity, ..."""
    subject: str
    """What it is about; with `check` it names the finding from run to run."""
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.check}: {self.subject}: {self.message}; {self.remedy}"
