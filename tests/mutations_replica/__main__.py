"""Make every edit in a copy of the program, and run the replica's tests on it.

    .venv-pulumi/bin/python -m tests.mutations_replica [--part N/M] [--jobs N] [--results FILE]

Prints each edit that was not found, and exits with 1 if less than 95 % of the edits of meaning
were, or if a harmless one was: these are the control, made in one copy together, on which every
test passes. Pulumi and its providers are imported once; each copy is tested in a process that
begins with them. What stands in the file of results is not tested again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.mutations_replica.edits import HARMLESS, MEANING, Edit

REPO = Path(__file__).parents[2]
GOAL = 0.95
PASSED, FAILED, INTERRUPTED = 0, 1, 2
"""Exit codes of pytest. Interrupted: what an edit let through ended the run. Were it something
else, the harmless edits would be refused too."""
OPERATE, STACK = "tests/unit/test_replica_operate.py", "tests/unit/test_replica_stack.py"
ALL = (OPERATE, STACK, "tests/replica", "--ignore=tests/replica/test_edits.py")
FIRST = {
    "operate": (OPERATE,),
    "preview": (OPERATE,),
    "interrupt": (OPERATE,),
    "replica_end": ("tests/replica/test_host_end.py",),
    "aws/stop": ("tests/replica/test_aws_end.py",),
    "aws/end_instances": ("tests/replica/test_aws_end.py",),
    "aws/watch": ("tests/replica/test_aws_end.py",),
    "aws/running": ("tests/replica/test_running.py",),
    "aws/ask": ("tests/replica/test_ask.py",),
    "aws/rights": ("tests/replica/test_rights_aws.py",),
    "aws/policy": ("tests/replica/test_rights_aws.py",),
    "aws/permissions": ("tests/replica/test_rights_aws.py",),
    "azure/permissions": ("tests/replica/test_rights_azure.py",),
    "replica": ("tests/replica/test_two.py", "tests/replica/test_laws.py"),
    "checks": ("tests/replica/test_program.py",),
    "stack": (STACK, OPERATE),
    "tags": ("tests/replica/test_two.py", "tests/replica/test_laws.py"),
    "aws/image": ("tests/replica/test_aws_image.py",),
    "aws": ("tests/replica/test_aws_network.py", "tests/replica/test_aws.py"),
    "azure/stop": ("tests/replica/test_azure_end.py",),
    "azure/watch": ("tests/replica/test_azure_end.py",),
    "azure/running": ("tests/replica/test_running.py",),
    "azure/ask": ("tests/replica/test_ask_azure.py",),
    "azure": ("tests/replica/test_azure_network.py", "tests/replica/test_azure.py"),
}
"""The tests that are likely to find an edit of a file: they are run before the others."""


OTHERS: Mapping[str, tuple[str, ...]] = {
    "aws": ("*azure*",),
    "azure": ("*_aws*", "test_moto.py", "test_ask.py"),
}
"""Tests that no edit below a folder can touch."""
ALONE = ("operate", "stack", "preview", "interrupt")
"""Modules that the program does not import, and of the tests one file alone."""


def main() -> int:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="1/1", help="such as 1/2: every second edit")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="edits at a time")
    parser.add_argument("--results", type=Path, help="where each result is added as it is there")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    preload()
    cases = [(edit,) for edit in MEANING][part - 1 :: parts] + [HARMLESS] * (part == 1)
    known = dict(read_results(options.results))
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        for edits, fails, took_s in pool.imap_unordered(
            timed, [edits for edits in cases if edits not in known]
        ):
            known[edits] = fails
            edit = edits[0]
            print(f"{'found' if fails else 'passed':8}{took_s:6.1f} s  {edit.file}:"
                  f" {edit.old.strip().splitlines()[0][:70]}", flush=True)  # fmt: skip
            if options.results is not None:
                with options.results.open("a") as file:
                    file.write(json.dumps([edits, fails]) + "\n")
    missed = [edits[0] for edits in cases if edits != HARMLESS and not known[edits]]
    refused = list(HARMLESS) if known.get(HARMLESS) else []
    all_of = len(cases) - (HARMLESS in cases)
    print(f"{all_of - len(missed)} of {all_of} edits of meaning found;"
          f" harmless ones {'refused' if refused else 'passed'}")  # fmt: skip
    for edit in missed + refused:
        print(f"  {edit.file}: {edit.old!r} -> {edit.new!r}")
    return int(len(missed) > (1 - GOAL) * all_of or bool(refused))


def read_results(file: Path | None) -> Iterator[tuple[tuple[Edit, ...], bool]]:
    """Yield what an earlier run found."""
    if file is not None and file.exists():
        for line in file.read_text().splitlines():
            edits, fails = json.loads(line)
            yield tuple(Edit(*edit) for edit in edits), fails


def timed(edits: tuple[Edit, ...]) -> tuple[tuple[Edit, ...], bool, float]:
    """Return edits, whether a test fails on them, and how long that took in seconds."""
    began = time.monotonic()
    return edits, tested(edits), time.monotonic() - began


def tested(edits: tuple[Edit, ...]) -> bool:
    """Return whether a test fails on a copy of the program with edits made."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        copy(folder)
        for edit in edits:
            file = folder / "pulumi" / "infra" / edit.file
            text = file.read_text()
            assert text.count(edit.old) == 1, f"{edit.file}: {text.count(edit.old)} x {edit.old!r}"
            file.write_text(text.replace(edit.old, edit.new))
        for tests in rounds(edits):
            child = os.fork()
            if child == 0:
                run(folder, tests)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            # Whatever else it is, the tests did not run: nothing was found.
            assert code in (PASSED, FAILED, INTERRUPTED), f"pytest ended with {code}"
            if code != PASSED:
                return True
        return False


def copy(folder: Path) -> None:
    """Copy what tests read; what they only import of `src` is the repository's."""
    skip = shutil.ignore_patterns("__pycache__", "golden")
    for name in ("pulumi", "tests"):
        shutil.copytree(REPO / name, folder / name, ignore=skip)
    for name in ("src", "inventory", "hardware", "templates", "Makefile", "pyproject.toml"):
        (folder / name).symlink_to(REPO / name)


def rounds(edits: tuple[Edit, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the tests by rounds: first those that are likely to find an edit, then all."""
    if len(edits) > 1:
        return (ALL,)
    name = edits[0].file.removesuffix(".py")
    provider = name.partition("/")[0]
    first = FIRST.get(name) or FIRST.get(provider) or ("tests/replica/test_laws.py",)
    if name in ALONE:
        return (first,)
    others = [f"--ignore-glob=tests/replica/{glob}" for glob in OTHERS.get(provider, ())]
    return (first, (*ALL, *others))


def run(folder: Path, tests: tuple[str, ...]) -> None:
    """Run the tests in this process until the first one fails, and exit."""
    os.chdir(folder)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != REPO]
    for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
        del sys.modules[name]
    import pytest

    code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests])
    os._exit(int(code))


def preload() -> None:
    """Import what the program and its tests import, but not these."""
    import azure.identity  # noqa: F401
    import boto3
    import moto.server  # noqa: F401
    import pulumi.automation  # noqa: F401
    import pulumi_aws
    import pulumi_azure_native

    import fireflyer.design.replica  # noqa: F401

    # Their modules are imported when one looks inside.
    for name in ("ec2", "iam", "sns", "sqs", "ssm", "scheduler", "budgets", "cloudwatch",
                 "route53", "vpc"):  # fmt: skip
        hasattr(getattr(pulumi_aws, name), "Provider")
    for name in ("authorization", "compute", "consumption", "logic", "managedidentity", "monitor",
                 "network", "privatedns", "resources"):  # fmt: skip
        hasattr(getattr(pulumi_azure_native, name), "Provider")
    boto3.client("ec2", region_name="us-east-1")


if __name__ == "__main__":
    sys.exit(main())
