"""Print the bench's table: `python -m tests.mutations [--seed N] [--count N] [--harmless]`."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from tests.mutations.bench import outcomes, table, trees


def main() -> None:
    """Edit so many files and print what was seen."""
    parser = argparse.ArgumentParser(prog="tests.mutations", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--harmless", action="store_true", help="edits without a meaning")
    parser.add_argument("--list", action="store_true", help="print each edit that was not read")
    options = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fireflyer-mutations-") as folder:
        rendered = trees(Path(folder))
        found = list(outcomes(rendered, options.seed, options.count, harmless=options.harmless))
    for name, tree in rendered.items():
        for finding in sorted(tree.before):
            print(f"{name}: before any edit: {finding}")
    wrong = [o for o in found if o.seen not in ("reading", "quiet")]
    for outcome in wrong if options.list else []:
        print(f"{outcome.seen}: {outcome.site}: {outcome.path}: {outcome.edit}:")
        print(f"    {outcome.difference}")
        if outcome.said:
            print(f"    {outcome.said}")
    print(table(found))
    print(f"seed {options.seed}, {len(found)} edits, {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
