"""Make every edit in a copy of the program, and run the replica's tests on it.

    .venv-pulumi/bin/python -m tests.mutations_replica [--part N/M]

Prints each edit that was not found, and exits with 1 if less than 95 % of the edits of meaning
were, or if a harmless one was: these are the control, on which every test passes. Pulumi and its
providers are imported once; each copy is tested in a process that begins with them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.mutations_replica.edits import HARMLESS, MEANING, Edit

REPO = Path(__file__).parents[2]
GOAL = 0.95
PASSED, FAILED = 0, 1
"""Exit codes of pytest."""
OPERATE = "tests/unit/test_replica_operate.py"
ALL = (OPERATE, "tests/replica", "--ignore=tests/replica/test_edits.py")
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
    "aws/image": ("tests/replica/test_aws_image.py",),
    "aws": ("tests/replica/test_aws_network.py", "tests/replica/test_aws.py"),
    "azure/stop": ("tests/replica/test_azure_end.py",),
    "azure/watch": ("tests/replica/test_azure_end.py",),
    "azure/running": ("tests/replica/test_running.py",),
    "azure/ask": ("tests/replica/test_ask_azure.py",),
    "azure": ("tests/replica/test_azure_network.py", "tests/replica/test_azure.py"),
}
"""The tests that are likely to find an edit of a file: they are run before the others."""


def main() -> int:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="1/1", help="such as 1/2: every second edit")
    part, parts = map(int, parser.parse_args().part.split("/"))
    preload()
    found, missed, wrong = 0, list[Edit](), list[Edit]()
    edits = [(edit, True) for edit in MEANING] + [(edit, False) for edit in HARMLESS]
    for edit, meaning in edits[part - 1 :: parts]:
        began = time.monotonic()
        fails = tested(edit)
        print(f"{'found' if fails else 'passed':8}{time.monotonic() - began:6.1f} s  {edit.file}:"
              f" {edit.old.strip().splitlines()[0][:70]}", flush=True)  # fmt: skip
        found += meaning and fails
        if meaning and not fails:
            missed.append(edit)
        if not meaning and fails:
            wrong.append(edit)
    all_of = found + len(missed)
    print(f"{found} of {all_of} edits of meaning found; {len(wrong)} harmless ones refused")
    for edit in missed + wrong:
        print(f"  {edit.file}: {edit.old!r} -> {edit.new!r}")
    return int(found < GOAL * all_of or bool(wrong))


def tested(edit: Edit) -> bool:
    """Return whether a test fails on a copy of the program with an edit made."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        copy(folder)
        file = folder / "pulumi" / "infra" / edit.file
        text = file.read_text()
        assert text.count(edit.old) == 1, f"{edit.file}: {text.count(edit.old)} x {edit.old!r}"
        file.write_text(text.replace(edit.old, edit.new))
        for tests in rounds(edit):
            child = os.fork()
            if child == 0:
                run(folder, tests)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            # Whatever else it is, the tests did not run: nothing was found.
            assert code in (PASSED, FAILED), f"pytest ended with {code}"
            if code == FAILED:
                return True
        return False


def copy(folder: Path) -> None:
    """Copy what tests read; what they only import of `src` is the repository's."""
    skip = shutil.ignore_patterns("__pycache__", "golden")
    for name in ("pulumi", "tests"):
        shutil.copytree(REPO / name, folder / name, ignore=skip)
    for name in ("src", "inventory", "hardware", "templates", "Makefile", "pyproject.toml"):
        (folder / name).symlink_to(REPO / name)


def rounds(edit: Edit) -> tuple[tuple[str, ...], ...]:
    """Return the tests by rounds: first those that are likely to find an edit, then all."""
    name = edit.file.removesuffix(".py")
    first = FIRST.get(name) or FIRST.get(name.partition("/")[0]) or ("tests/replica/test_laws.py",)
    return (first, ALL)


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
