#!/usr/bin/python3
"""End this host once its replica's time is over; a timer of systemd's starts this on every host.

The end is the tag `expires` of the machine, as the provider's metadata service has it, and the
time is the one in the service's answer: a host's clock may be wrong. Without an answer the end
that was read last counts, by the host's clock; if none was ever read, a day after the start.
It needs nothing but Python. Exit code 0: done, or not yet; 1: the end could not be made.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import urllib.request
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from pathlib import Path

UNKNOWN_S = 24 * 3600
PATIENCE_S = 10
UTC = timezone.utc  # noqa: UP017 - an image's Python may be older than 3.11
FORMAT = "%Y-%m-%dT%H:%M:%SZ"
IDENTITY = (
    "/metadata/identity/oauth2/token?api-version=2018-02-01"
    "&resource=https%3A%2F%2Fmanagement.azure.com%2F"
)


def call(url: str, headers: dict[str, str], method: str = "GET") -> tuple[str, datetime | None]:
    """Return a body and the time in the answer, None without one."""
    data = b"" if method == "POST" else None
    request = urllib.request.Request(url, headers=headers, method=method, data=data)  # noqa: S310
    # A proxy of the site's has no part in this.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=PATIENCE_S) as answer:
        date = answer.headers.get("Date")
        return answer.read().decode(), parsedate_to_datetime(date) if date else None


def ask_aws(at: str) -> tuple[str, datetime | None, str]:
    """Return the machine's end, the time, and no id: powered off, it is not paid for."""
    seconds = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    token, _ = call(at + "/latest/api/token", seconds, "PUT")
    tag = at + "/latest/meta-data/tags/instance/expires"
    text, now = call(tag, {"X-aws-ec2-metadata-token": token})
    return text.strip(), now, ""


def ask_azure(at: str) -> tuple[str, datetime | None, str]:
    """Return the machine's end, the time, and its id."""
    where = at + "/metadata/instance/compute?api-version=2021-02-01"
    text, now = call(where, {"Metadata": "true"})
    found = json.loads(text)
    tags = {tag["name"]: tag["value"] for tag in found["tagsList"]}
    return tags["expires"], now, found["resourceId"]


def deallocate(at: str, management: str, machine: str) -> None:
    """Have Azure take the machine back: one that is only powered off is paid for."""
    text, _ = call(at + IDENTITY, {"Metadata": "true"})
    bearer = {"Authorization": "Bearer " + json.loads(text)["access_token"]}
    call(f"{management}{machine}/deallocate?api-version=2024-07-01", bearer, "POST")


def moment(text: str) -> datetime:
    """Return the time that a text names."""
    return datetime.strptime(text, FORMAT).replace(tzinfo=UTC)


def read_last(file: Path) -> tuple[datetime | None, str]:
    """Return the end and the id that an earlier start wrote down."""
    try:
        text, machine = json.loads(file.read_text())
        return moment(text), machine
    except (OSError, ValueError):
        return None, ""


def main() -> int:
    """End the host if it is time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("provider", choices=["aws", "azure"])
    parser.add_argument("--metadata", default="http://169.254.169.254")
    parser.add_argument("--management", default="https://management.azure.com")
    parser.add_argument("--read-last", type=Path, default=Path("/var/lib/replica-end.json"))
    parser.add_argument("--uptime", type=Path, default=Path("/proc/uptime"))
    options = parser.parse_args()
    now: datetime | None = None
    expires: datetime | None = None
    machine = ""
    try:
        ask = ask_aws if options.provider == "aws" else ask_azure
        text, now, machine = ask(options.metadata)
        expires = moment(text)
        options.read_last.write_text(json.dumps([text, machine]))
    except (OSError, ValueError, KeyError) as error:
        print(f"the metadata service does not tell the end: {error}")
        now = None
        expires, machine = read_last(options.read_last)
    if expires is None:
        over = float(options.uptime.read_text().split()[0]) >= UNKNOWN_S
    else:
        over = (now or datetime.now(UTC)) >= expires
    if not over:
        return 0
    print(f"the replica's time is over: {expires or 'a day after the start'}")
    if options.provider == "aws":
        return subprocess.run(["systemctl", "poweroff"], check=False).returncode  # noqa: S607
    try:
        deallocate(options.metadata, options.management, machine)
    except (OSError, ValueError, KeyError) as error:
        print(f"cannot be deallocated, tried again in minutes: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
