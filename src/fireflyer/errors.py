"""What is wrong with an input, said so that the reader can mend it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong with one value of an input file."""

    where: str
    """File and line, such as `inventory/lab/group_vars/all/cluster.yml:12`."""
    key: str
    """Dotted path of the value in the file."""
    value: str
    """The value as the file has it; empty where there is none."""
    limit: str
    """What the value must be."""
    remedy: str
    """What to change."""

    def __str__(self) -> str:
        is_value = f" is {self.value}" if self.value else ""
        return f"{self.where}: {self.key}{is_value}: {self.limit}; {self.remedy}"


class IntentError(ValueError):
    """An intent that cannot be built. Holds every problem of the phase that found them."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Keep the problems in the order in which they were found."""
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class OperatingError(RuntimeError):
    """Something outside the intent is in the way: a missing program, a folder not ours."""
