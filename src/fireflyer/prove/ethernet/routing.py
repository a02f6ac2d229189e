"""Prove the routing: a small fabric of the site's shape, alive, looked at, hurt and healed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from fireflyer.errors import OperatingError
from fireflyer.model.fabric import Fabric
from fireflyer.prove.ethernet.checks import (
    QUIET_S,
    Walked,
    route_findings,
    session_findings,
    settle,
    walk,
)
from fireflyer.prove.ethernet.kernel import room_for_neighbours
from fireflyer.prove.ethernet.living import Living, living
from fireflyer.prove.ethernet.neighbours import cabling, lldp
from fireflyer.prove.ethernet.traffic import INTERVAL_S, Traffic, reachable, traffic
from fireflyer.prove.ethernet.trials import Outcome, attempt, cuts_off, trials
from fireflyer.prove.part import Progress
from fireflyer.render import frr
from fireflyer.render.switch_files import ENDINGS
from fireflyer.verify.finding import Finding

WARM_UP_S = 1.0
"""Traffic before the first trial, which must arrive whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """What a living fabric did."""

    switches: int
    cables: int
    hosts: int
    routes: int
    """In all kernels together."""
    converged_s: float
    """From the start of the daemons to every designed route in every kernel."""
    links_heard: int
    """By LLDP."""
    walked: Walked
    flows: int
    sent: int
    """Datagrams in all, those for which there must be no way left out."""
    refused: int
    """Flows for which there must be no way, and was none."""
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]


def configurations(fabric: Fabric) -> Mapping[str, str]:
    """Return each switch's FRR configuration."""
    return {name.removesuffix(ENDINGS["frr"]): text for name, text in frr.files(fabric)}


def prove_routing(
    small: Fabric,
    configs: Mapping[str, str],
    progress: Progress,
    *,
    quiet_s: float = QUIET_S,
    hurt: bool = True,
) -> Routing:
    """Bring a fabric to life and check everything.

    Args:
        small: what one machine can run; the plan.
        configs: what each of its routers is given.
        progress: told what is being done.
        quiet_s: routers that changed no route for so long have settled.
        hurt: whether to break things, once all is as designed.

    Raises:
        OperatingError: a program is missing or fails.
    """
    with (
        room_for_neighbours(len(small.cables)) as notes,
        living(small, configs) as alive,
    ):
        progress(f"FRR: starting {len(configs)} routers")
        began = time.monotonic()
        alive.start_routing(configs)
        for name, said in alive.failures().items():
            raise OperatingError(f"FRR does not start as {name}: {said}")
        with lldp(alive):
            progress("FRR: waiting for every designed route in every kernel")
            designed = alive.plan.routes()
            settled = settle(alive, designed, quiet_s)
            progress("lldpd: comparing neighbours with the plan")
            heard, findings = cabling(alive)
        found = list(findings)
        if not settled.right:
            found += [
                *session_findings(alive),
                *route_findings("at first", designed, settled.routes),
            ]
        networks = {leaf: str(host.port.network) for leaf, host in alive.hosts.items()}
        walked = walk(alive.plan, settled.routes, networks)
        found += _walk_findings(alive, walked)
        outcomes: list[Outcome] = []
        progress("traffic between hosts of different leaves")
        with traffic(alive) as flows:
            time.sleep(WARM_UP_S)
            found += _warm_up_findings(flows, settled.right)
            if not any(flow.open for flow in flows.flows):
                notes.append("note: no traffic, fewer than two leaves have hosts")
            for trial in trials(alive) if hurt and not found else ():
                if cut := cuts_off(alive, trial):
                    notes.append(f"note: not tried, {cut} leaves would be cut off: {trial.name}")
                    continue
                outcomes.append(attempt(alive, trial, flows, progress, quiet_s))
                found += outcomes[-1].findings
                if outcomes[-1].findings:
                    break
        found += _stray_findings(flows)
        shut = sum(not flow.open for flow in flows.flows)
        return Routing(
            switches=len(configs),
            cables=len(alive.plan.cables),
            hosts=len(alive.hosts),
            routes=sum(len(table) for table in settled.routes.values()),
            converged_s=settled.at_s - began,
            links_heard=heard,
            walked=walked,
            flows=len(flows.flows) - shut,
            sent=flows.ticks * (len(flows.flows) - shut),
            refused=shut - len(flows.strays()),
            outcomes=tuple(outcomes),
            notes=tuple(notes),
            findings=tuple(found),
        )


def _walk_findings(alive: Living, walked: Walked) -> list[Finding]:
    findings = []
    wanted = sum(len(others) for others in reachable(alive).values())
    if walked.reached != wanted:
        message = f"{walked.reached} of {walked.pairs} pairs of leaves have a path, not {wanted}"
        remedy = "mend the routes that are not as designed"
        findings.append(Finding("connectivity", "pairs of leaves", message, remedy))
    if walked.around_gateway:
        message = f"{walked.around_gateway} pairs in two zones have a path around a gateway leaf"
        remedy = "look for a cable between zones that is not planned"
        findings.append(Finding("zone", "paths between zones", message, remedy))
    return findings


def _warm_up_findings(flows: Traffic, routed: bool) -> list[Finding]:
    end = time.monotonic() - WARM_UP_S / 4
    flows.catch_up()
    loss = flows.loss(end - WARM_UP_S / 4, end)
    if not routed or not loss.lost:
        return []
    message = f"{loss.lost} of {loss.sent} datagrams, of {loss.flows} flows, are lost at rest"
    remedy = "every route is as designed: look at what forwards"
    return [Finding("traffic", "at rest", message, remedy)]


def _stray_findings(flows: Traffic) -> list[Finding]:
    return [
        Finding(
            "zone",
            f"{flow.source} to {flow.target}",
            "datagrams arrive though no cable joins their planes",
            "look for a cable between planes that is not planned",
        )
        for flow in flows.strays()
    ]


def lines(found: Routing) -> tuple[str, ...]:
    """Return the figures for a person."""
    walked = found.walked
    shown = [
        f"routers {found.switches}, cables {found.cables}, hosts {found.hosts}",
        f"converged in {found.converged_s:.1f} s: {found.routes:,} routes in kernels,"
        f" at most {walked.widest} next hops",
        f"leaf to leaf: {walked.reached} of {walked.pairs} pairs have a path, at most"
        f" {walked.longest_hops} switches; {_across(walked)}",
        f"LLDP: {found.links_heard} of {found.cables} cables heard",
        f"traffic: {found.flows} flows, one datagram each every {INTERVAL_S * 1000:.0f} ms,"
        f" {found.sent:,} in all{_refused(found)}",
    ]
    for one in found.outcomes:
        shown.append(
            f"{one.name}: next hops {one.narrowed}; {one.failing.flows} flows lost"
            f" {one.failing.lost} datagrams, the longest outage {one.failing.outage_s * 1000:.0f}"
            f" ms; routed around in {one.routes_s:.1f} s, back in {one.back_s:.1f} s with"
            f" {one.healing.lost} lost"
        )
    return (*shown, *found.notes)


def _refused(found: Routing) -> str:
    return f"; {found.refused} flows between planes did not arrive" if found.refused else ""


def _across(walked: Walked) -> str:
    if not walked.across:
        return "none leaves its tree"
    around = walked.around_gateway or "none"
    return f"{walked.across} lead to another zone, {around} of them around a gateway leaf"


def data(found: Routing) -> Mapping[str, object]:
    """Return the figures for a program."""
    return {
        "routers": found.switches,
        "cables": found.cables,
        "routes": found.routes,
        "converged_s": round(found.converged_s, 1),
        "links_heard": found.links_heard,
        "pairs": found.walked.pairs,
        "reached": found.walked.reached,
        "longest_switches": found.walked.longest_hops,
        "flows": found.flows,
        "sent": found.sent,
        "refused": found.refused,
        "trials": [
            {
                "name": one.name,
                "next_hops": one.narrowed,
                "lost": one.failing.lost,
                "flows_hit": one.failing.flows,
                "outage_ms": round(one.failing.outage_s * 1000),
                "routed_around_s": round(one.routes_s, 1),
                "back_s": round(one.back_s, 1),
                "lost_coming_back": one.healing.lost,
            }
            for one in found.outcomes
        ],
    }
