"""Read what a subnet manager says: it goes on after almost any error, saying SUBNET UP."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from fireflyer.verify.finding import Finding

BAD = re.compile(
    r"\bERR\b|PARSE ERROR|Unrecognized token|Invalid Cached Option|[Ff]all(?:ing|en)? ?back"
    r"|no root nodes|cannot parse|Errors during|[Dd]uplicate|[Ff]ailed|not found"
)
UP = "SUBNET UP"
"""After the first sweep; the dumps are whole before it is said."""
FAILED = "Errors during initialization"
STANDBY = "Entering STANDBY state"
MASTER = "Entering MASTER state"
_STAMP = re.compile(r"^\w{3} \d{2} [\d:]+ \d+ \[[0-9A-F]+\] 0x[0-9a-f]+ -> ")


def log_findings(lines: Iterable[str], wanted: str = UP) -> tuple[Finding, ...]:
    """Return each kind of error or fallback line once, and the lack of the `wanted` words."""
    said = Counter[str]()
    first: dict[str, str] = {}
    up = False
    for line in lines:
        text = _STAMP.sub("", line.strip())
        up |= wanted in text
        if BAD.search(text):
            kind = re.sub(r"0x[0-9a-fA-F]+|\d+", "N", text)
            said[kind] += 1
            first.setdefault(kind, text)
    findings = [
        Finding(
            "log",
            first[kind],
            f"OpenSM said so {count} times" if count > 1 else "OpenSM said so",
            "mend the file or the link it names; OpenSM goes on without it",
        )
        for kind, count in said.items()
    ]
    if not up:
        findings.append(
            Finding("log", wanted, "OpenSM never said it", "read its log from the first error on")
        )
    return tuple(findings)
