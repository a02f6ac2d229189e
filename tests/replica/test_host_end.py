"""The program with which a host ends itself, run as it is, against a metadata service."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.replica.fake_metadata import FakeMetadata
from tests.stacks import PULUMI

END = datetime(2030, 1, 31, 18, tzinfo=UTC)
EXPIRES = "2030-01-31T18:00:00Z"
MINUTE = timedelta(minutes=1)
SYSTEMCTL = '#!/bin/sh\necho "$@" >> "$(dirname "$0")/called"\n'
both_providers = pytest.mark.parametrize("provider", ["aws", "azure"])


@dataclass(frozen=True, slots=True)
class Ran:
    """What a start of the program came to."""

    code: int
    ended: bool
    said: str


Start = Callable[..., Ran]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Return `start(fake, uptime_s=...)`, which runs the program once on one and the same host."""
    program = tmp_path / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text(SYSTEMCTL)
    program.chmod(0o755)

    def call(fake: FakeMetadata, uptime_s: float = 600.0, *, there: bool = True) -> Ran:
        (tmp_path / "uptime").write_text(f"{uptime_s} 1.0\n")
        called = program.parent / "called"
        called.unlink(missing_ok=True)
        fake.calls.clear()
        with fake.serve() as address:
            done = subprocess.run(
                [
                    sys.executable,
                    PULUMI / "infra" / "replica_end.py",
                    fake.provider,
                    f"--metadata={address if there else 'http://127.0.0.1:9'}",
                    f"--management={address}",
                    f"--read-last={tmp_path / 'last.json'}",
                    f"--uptime={tmp_path / 'uptime'}",
                ],
                env={"PATH": f"{program.parent}:/usr/bin:/bin", "http_proxy": "http://127.0.0.1:1"},
                capture_output=True,
                text=True,
                check=False,
            )
        assert "Traceback" not in done.stderr
        off = called.exists() and called.read_text() == "poweroff\n"
        assert not (off and fake.provider == "azure"), "powered off, it would be paid for"
        return Ran(done.returncode, off or bool(fake.calls), done.stdout)

    return call


@both_providers
def test_a_host_ends_itself_at_its_end_and_not_before(provider: str, start: Start) -> None:
    assert start(FakeMetadata(provider, END - MINUTE, EXPIRES)) == Ran(0, False, "")
    ran = start(FakeMetadata(provider, END, EXPIRES))
    assert (ran.code, ran.ended) == (0, True)
    assert ran.said == "the replica's time is over: 2030-01-31 18:00:00+00:00\n"


@both_providers
def test_a_later_end_counts_at_once(provider: str, start: Start) -> None:
    assert not start(FakeMetadata(provider, END - MINUTE, EXPIRES)).ended
    later = "2030-02-01T18:00:00Z"
    assert not start(FakeMetadata(provider, END + MINUTE, later)).ended
    assert start(FakeMetadata(provider, END + timedelta(days=1), later)).ended


@both_providers
def test_the_hosts_own_clock_does_not_count(provider: str, start: Start) -> None:
    """Which is years off END here, one way or the other."""
    past, future = "2001-01-01T00:00:00Z", "2099-01-01T00:00:00Z"
    assert not start(FakeMetadata(provider, datetime(2000, 1, 1, tzinfo=UTC), past)).ended
    assert start(FakeMetadata(provider, datetime(2100, 1, 1, tzinfo=UTC), future)).ended


@both_providers
def test_without_a_time_in_the_answer_the_hosts_clock_counts(provider: str, start: Start) -> None:
    assert start(FakeMetadata(provider, None, "2001-01-01T00:00:00Z")).ended
    assert not start(FakeMetadata(provider, None, "2099-01-01T00:00:00Z")).ended


def test_without_an_answer_the_end_that_was_read_last_counts(start: Start) -> None:
    over = FakeMetadata("aws", datetime(2000, 1, 1, tzinfo=UTC), "2001-01-01T00:00:00Z")
    assert not start(over).ended
    assert start(over, there=False).ended
    later = FakeMetadata("aws", datetime(2000, 1, 1, tzinfo=UTC), "2099-01-01T00:00:00Z")
    assert not start(later).ended
    assert not start(later, uptime_s=10e6, there=False).ended


@pytest.mark.parametrize("there", [True, False], ids=["without the tag", "without an answer"])
def test_an_end_that_was_never_read_is_a_day_after_the_start(there: bool, start: Start) -> None:
    fake = FakeMetadata("aws", END, None)
    assert not start(fake, uptime_s=24 * 3600 - 60, there=there).ended
    ran = start(fake, uptime_s=24 * 3600, there=there)
    assert ran.ended
    assert "the metadata service does not tell the end" in ran.said
    assert "time is over: a day after the start" in ran.said


def test_on_azure_a_refusal_is_a_failure_and_tried_again(start: Start) -> None:
    ran = start(FakeMetadata("azure", END, EXPIRES, refuses=True))
    assert ran.code == 1
    assert "cannot be deallocated, tried again in minutes: HTTP Error 404" in ran.said
    assert start(FakeMetadata("azure", END, EXPIRES)).code == 0
