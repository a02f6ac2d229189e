"""What `plan` accepts, `prove` finds nothing in: intents of every shape in real software.

InfiniBand is routed by OpenSM on ibsim, every subnet of it; Ethernet's files are read by the
switches' checkers and by FRR. The small fabric of FRR routers that `prove` also raises is left out:
it is scaled down to one of few shapes, which tests/prove/test_frr.py has.
Findings of `balance`, `capacity` and `shift` are not counted under three layers: with a few nodes
and trunks OpenSM's ftree gives one link up to five destinations, and others none. The shipped
sites are held to their limits.
`make test` tries the same few each time; `FIREFLYER_PROOFS=200` tries so many, other ones each
time, as `make test-full` does.
"""

from __future__ import annotations

import os
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, settings
from tests.any_intent import as_text, intents, written

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.prove import prove
from fireflyer.render import GROUPS, batches
from fireflyer.render.tree import write_tree

PROVE = import_module("fireflyer.prove.prove")
ALL_PROVERS = PROVE.provers
PROOFS = int(os.environ.get("FIREFLYER_PROOFS", "12"))


def provers(fabric: Fabric) -> dict[str, Any]:
    """Return every check suite but the living fabric."""
    return {name: suite for name, suite in ALL_PROVERS(fabric).items() if name != "routing"}


@settings(
    max_examples=PROOFS,
    derandomize="FIREFLYER_PROOFS" not in os.environ,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # a smaller example takes many proofs
    suppress_health_check=list(HealthCheck),
)
@given(intents())
def test_a_valid_intent_is_proved_without_a_finding(cluster: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fabric = design(load_site(written(Path(folder), as_text(cluster))))
        tree = Path(folder) / "tree"
        write_tree(tree, fabric.intent.name, batches(fabric, GROUPS), GROUPS)
        with patch.object(PROVE, "provers", provers):
            proof = prove(fabric, tree, lambda _: None)
    assert proof.failures == ()
    three_layers = fabric.intent.fabric.layers == 3
    uneven = ("balance", "capacity", "shift") if three_layers else ()
    found = [finding for finding in proof.findings if finding.check not in uneven]
    assert found == []
