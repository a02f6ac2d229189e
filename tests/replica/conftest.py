"""Programs run once for all the tests that look at what they declared."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.replica.fake_aws import FakeAws
from tests.replica.fake_azure import FakeAzure
from tests.replica.fake_engine import FakeEngine, FakeProvider, Graph, run_program
from tests.stacks import READY, make_stack

from fireflyer.design.replica import plan_replica
from fireflyer.load import replica as load
from fireflyer.load.replica import load_replica
from fireflyer.model.replica_plan import ReplicaPlan

# The catalogue and the sites are frozen data that no test here changes; they are read once.
for name in ("load_instances", "load_site"):
    setattr(load, name, functools.cache(getattr(load, name)))
MAIL = "somebody@example.org"
Ran = tuple[ReplicaPlan, FakeEngine]
FAKES: Mapping[str, Callable[[], FakeProvider]] = {"aws": FakeAws, "azure": FakeAzure}
Run = Callable[..., tuple[ReplicaPlan, Graph]]


@functools.cache
def _ran(base: str, changes: tuple[tuple[str, str], ...], preview: bool) -> Ran:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        found = {**READY, **{key: eval(value) for key, value in changes}}
        file = make_stack(folder / "stack", base, found)
        plan = plan_replica(load_replica(file))
        engine = run_program(
            file,
            FAKES[plan.intent.provider](),
            folder / "program",
            preview=preview,
            config={"alarm_email": MAIL},
        )
    return plan, engine


@pytest.fixture(scope="session")
def run() -> Run:
    """Return `run(example, changes, preview=False)`: the plan, and what the program declared."""

    def call(
        base: str, changes: Mapping[str, Any] | None = None, *, preview: bool = False
    ) -> tuple[ReplicaPlan, Graph]:
        frozen = tuple(sorted((key, repr(value)) for key, value in (changes or {}).items()))
        plan, engine = _ran(base, frozen, preview)
        return plan, engine.graph

    return call
