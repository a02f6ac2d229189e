"""Hurt a living fabric and heal it, with traffic under way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from fireflyer.design.bgp import HOLD_S
from fireflyer.model.fabric import Layer
from fireflyer.prove.ethernet.checks import QUIET_S, Settled, route_findings, settle
from fireflyer.prove.ethernet.expected import Plan, Routes
from fireflyer.prove.ethernet.living import Living
from fireflyer.prove.ethernet.traffic import FLIGHT_S, Loss, Traffic
from fireflyer.prove.part import Progress
from fireflyer.verify.finding import Finding

AFTER_S = 1.0
"""Traffic is watched for so long once the routes have settled."""
_AROUND = "though every route leads around it"
_HEALED = "after it was healed and every route is back"
_Act: TypeAlias = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One thing that breaks."""

    name: str
    cables: frozenset[str]
    """Cables that are of no use then."""
    hurt: _Act
    heal: _Act


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a trial did to the fabric."""

    name: str
    narrowed: str
    """Next hops of the routes that lost some, before and after, such as `8 to 6`."""
    routes_s: float
    """Until every switch routed around it."""
    back_s: float
    """Until every switch routed as before, once it was healed."""
    failing: Loss
    healing: Loss
    after: Loss
    """With the routes settled and the fault still there: what is lost now stays lost."""
    findings: tuple[Finding, ...]


def trials(living: Living) -> Iterator[Trial]:
    """Yield what is broken, one after the other: a spine, its daemon, a cable, a silent cable."""
    plan = living.plan
    spine = next(living.fabric.switches_of(Layer.SPINE)).name
    other = list(living.fabric.switches_of(Layer.SPINE))[-1].name
    cables = frozenset(cables_of(plan, spine))
    yield Trial(
        name=f"{spine} loses power",
        cables=cables,
        hurt=lambda: living.set_links(cables, up=False),
        heal=lambda: living.set_links(cables, up=True),
    )
    yield Trial(
        name=f"bgpd of {other} crashes",
        cables=frozenset(cables_of(plan, other)),
        hurt=lambda: living.kill_routing(other),
        heal=lambda: living.start_routing([other], ("bgpd",)),
    )
    cable = min(cables)
    low, up = plan.cables[cable]
    at = f"{low[0]} {low[1]} to {up[0]} {up[1]}"
    yield Trial(
        name=f"cable {at} is pulled",
        cables=frozenset((cable,)),
        hurt=lambda: living.set_links((cable,), up=False),
        heal=lambda: living.set_links((cable,), up=True),
    )
    yield Trial(
        name=f"cable {at} falls silent",
        cables=frozenset((cable,)),
        hurt=lambda: living.set_silent(cable, silent=True),
        heal=lambda: living.set_silent(cable, silent=False),
    )


def cables_of(plan: Plan, switch: str) -> Iterable[str]:
    """Return the cables of a switch that lead to others."""
    return (name for name, ends in plan.cables.items() if switch in (ends[0][0], ends[1][0]))


def attempt(
    living: Living, trial: Trial, flows: Traffic, progress: Progress, quiet_s: float = QUIET_S
) -> Outcome:
    """Run a trial on a fabric that is well, and leave it well."""
    progress(trial.name)
    well = living.plan.routes()
    designed = living.plan.routes(trial.cables)
    began = time.monotonic()
    trial.hurt()
    around = settle(living, designed, quiet_s)
    time.sleep(AFTER_S + FLIGHT_S)
    watched = time.monotonic() - FLIGHT_S
    mended = time.monotonic()
    trial.heal()
    back = settle(living, well, quiet_s)
    time.sleep(AFTER_S + FLIGHT_S)
    ended = time.monotonic() - FLIGHT_S
    flows.catch_up()
    failing = flows.loss(began, watched)
    after = flows.loss(max(around.at_s, began), watched)
    again = flows.loss(max(back.at_s, mended), ended)
    findings = [
        *_route_findings(trial, (designed, around), (well, back)),
        *_outage_findings(trial, failing),
        *_loss_findings(trial, after if around.right else None, _AROUND),
        *_loss_findings(trial, again if back.right else None, _HEALED),
    ]
    return Outcome(
        name=trial.name,
        narrowed=narrowed(well, designed),
        routes_s=around.at_s - began,
        back_s=back.at_s - mended,
        failing=failing,
        healing=flows.loss(mended, ended),
        after=after,
        findings=tuple(findings),
    )


def narrowed(well: Routes, hurt: Routes) -> str:
    """Return the widest group of next hops that lost some, before and after.

    >>> narrowed({"a": {"n": frozenset("123")}}, {"a": {"n": frozenset("12")}})
    '3 to 2'
    """
    both = [
        (len(hops), len(hurt[switch].get(network, ())))
        for switch, table in well.items()
        for network, hops in table.items()
    ]
    before, now = max(((b, n) for b, n in both if 0 < n < b), default=(0, 0))
    return f"{before} to {now}"


def _route_findings(
    trial: Trial, around: tuple[Routes, Settled], back: tuple[Routes, Settled]
) -> Iterator[Finding]:
    for when, (designed, settled) in (("when", around), ("after", back)):
        if not settled.right:
            yield from route_findings(f"{when} {trial.name}", designed, settled.routes)


def cuts_off(living: Living, trial: Trial) -> int:
    """Return how many leaves with hosts lose the way to another that they had."""
    well, hurt = living.plan.routes(), living.plan.routes(trial.cables)
    networks = {str(host.port.network) for host in living.hosts.values()}
    return sum(
        bool((well.get(leaf, {}).keys() - hurt.get(leaf, {}).keys()) & networks)
        for leaf in living.hosts
    )


def _loss_findings(trial: Trial, loss: Loss | None, when: str) -> Iterator[Finding]:
    if loss is not None and loss.lost:
        message = f"{loss.lost} of {loss.sent} datagrams, of {loss.flows} flows, are lost {when}"
        remedy = "look for a switch that forwards to where it has no route"
        yield Finding("traffic", trial.name, message, remedy)


def _outage_findings(trial: Trial, failing: Loss) -> Iterator[Finding]:
    if failing.outage_s > HOLD_S:
        message = (
            f"a flow had nothing through for {failing.outage_s:.1f} s; a neighbour that says"
            f" nothing is given up after {HOLD_S} s at the latest"
        )
        remedy = "see that bfdd runs on every switch"
        yield Finding("failover", trial.name, message, remedy)
