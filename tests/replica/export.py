"""Write what a stack would export: `python -m tests.replica.export STACK_FILE FOLDER`.

The program runs whole, in the environment that has Pulumi; instances are nobody's.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.replica.fake_aws import FakeAws
from tests.replica.fake_engine import run_program


def export(stack: Path, folder: Path) -> Path:
    """Run the program of a stack's file; write and return the inventory as `replica-up` does."""
    with tempfile.TemporaryDirectory() as program:
        engine = run_program(stack, FakeAws(), Path(program))
    file = folder / "inventory.json"
    file.write_text(json.dumps(engine.graph.outputs["inventory"], indent=1) + "\n")
    return file


if __name__ == "__main__":
    print(export(Path(sys.argv[1]), Path(sys.argv[2])))
