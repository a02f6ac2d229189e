"""Raise, use and remove the lab: `python -m tests.lab up|down|status|job|ssh`."""

from __future__ import annotations

import argparse
import os
import sys

from tests.images.engine import EngineError, prepare
from tests.lab import access, lab
from tests.lab.site import LabError


def tell(text: str) -> None:
    """Print progress as it comes."""
    print(text, flush=True)


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    up = verbs.add_parser("up", help="raise what is missing and apply the playbooks")
    up.add_argument("--again", action="store_true", help="apply every role once more")
    verbs.add_parser("down", help="remove the lab's containers, networks and files")
    verbs.add_parser("status", help="show the hosts and what Slurm thinks of them")
    verbs.add_parser("job", help="run a job on every node")
    ssh = verbs.add_parser("ssh", help="log in to a host, or run a command there")
    ssh.add_argument("host")
    ssh.add_argument("words", nargs=argparse.REMAINDER, metavar="command")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Return 0, 1 if something failed, or 3 if this machine cannot run a lab."""
    asked = parse(arguments)
    try:
        match asked.verb:
            case "up":
                lab.up(tell, again=asked.again)
            case "down":
                lab.down(tell)
            case "status":
                return 0 if lab.status(tell) else 1
            case "job":
                prepare()
                lab.job(tell, lab.require_up())
            case "ssh":
                prepare()
                lab.require_up()
                os.execvp("ssh", access.command(asked.host, *asked.words))
    except EngineError as error:
        print(f"lab: this machine cannot run it: {error}", file=sys.stderr)
        return 3
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
