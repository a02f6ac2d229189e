"""torch's own tests of a c10d backend, run against this one: `DistributedTest` of torch's wheel.

    python torch_suite.py --backend hfreduce --ranks 3 --out results.json [NAME ...]

The tests take the backend for Gloo, so that none is left out because of a name; only
init_process_group() makes groups of `--backend`. A rank is a forked process.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import logging
import os
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

_MODULE = "torch.testing._internal.distributed.distributed_test"


def suite_of(backend: str, ranks: int) -> type[unittest.TestCase]:
    """Return torch's tests as a class whose ranks start groups of `backend`."""
    os.environ |= {
        "WORLD_SIZE": str(ranks),
        "BACKEND": "gloo",
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
        "UCX_WARN_UNUSED_ENV_VARS": "n",
        "INIT_METHOD": f"file://{tempfile.mkdtemp()}/again",  # of a test's second group
        "DISTRIBUTED_TESTS_DEFAULT_TIMEOUT": "60",
    }
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    module: Any = importlib.import_module(_MODULE)
    if backend == "hfreduce":
        importlib.import_module("hfreduce.torch")
    dist = torch.distributed
    start, dist.init_process_group = dist.init_process_group, None

    def init_process_group(*arguments: Any, **named: Any) -> None:
        start(*arguments, **named | {"backend": backend})

    dist.init_process_group = init_process_group

    class TorchSuite(module.TestDistBackend, module.DistributedTest._DistTestBase):  # type: ignore[misc]
        def setUp(self) -> None:
            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)
            torch.backends.cudnn.flags(enabled=True, allow_tf32=False).__enter__()

    return TorchSuite


class _Results(unittest.TestResult):
    """What became of each test: passed, failed (with the text) or skipped (with the reason)."""

    def __init__(self) -> None:
        super().__init__()
        self.of: dict[str, tuple[str, str]] = {}

    def _put(self, test: unittest.TestCase, outcome: str, text: str = "") -> None:
        self.of[test.id().rpartition(".")[2]] = (outcome, text)
        print(f"{outcome:8}{test.id().rpartition('.')[2]}", flush=True)

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        self._put(test, "passed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        self._put(test, "skipped", reason)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        self._put(test, "failed", self._exc_info_to_string(err, test))  # type: ignore[attr-defined]

    addError = addFailure  # noqa: N815


def main() -> None:
    """Run the tests that are named, or all, and write what became of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="hfreduce")
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    cases = suite_of(options.backend, options.ranks)
    names = options.names or unittest.TestLoader().getTestCaseNames(cases)
    results = _Results()
    logging.getLogger("torch").setLevel(logging.ERROR)
    with contextlib.suppress(KeyboardInterrupt):
        unittest.TestSuite(cases(name) for name in names).run(results)
    if options.out:
        options.out.write_text(json.dumps(results.of))
    outcomes = [outcome for outcome, _ in results.of.values()]
    print({kind: outcomes.count(kind) for kind in ("passed", "failed", "skipped")})
    sys.exit("failed" in outcomes)


if __name__ == "__main__":
    main()
