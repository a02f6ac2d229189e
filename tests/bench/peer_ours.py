"""Run by `tests.bench.peers`: one zone of EOS switches by this project, its modules read first."""

from __future__ import annotations

import argparse
import gc
import time
from pathlib import Path

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.render import eos


def main() -> None:
    """Write a configuration for each switch, then the seconds that it took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("site", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--took", type=Path, required=True)
    options = parser.parse_args()
    gc.disable()  # as the command does
    start = time.monotonic()
    for name, text in eos.files(design(load_site(options.site))):
        (options.out / name).write_text(text)
    options.took.write_text(f"{time.monotonic() - start}")


if __name__ == "__main__":
    main()
