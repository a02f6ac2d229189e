"""Compare what routers hold with what the plan says they should."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from fireflyer.prove.ethernet.expected import Plan, Routes
from fireflyer.prove.ethernet.living import Living
from fireflyer.verify.finding import Finding

POLL_S = 0.1
QUIET_S = 30.0
"""Routers that changed no route for so long have settled, right or wrong: three hold times."""
LIMIT_S = 180.0
_MOST = 8
"""Findings of one kind that are printed one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The routes, once they were as designed or stopped changing."""

    routes: Routes
    right: bool
    at_s: float
    """When they first were so, on the monotonic clock."""


def settle(living: Living, expected: Routes, quiet_s: float = QUIET_S) -> Settled:
    """Wait until every switch routes as expected, or until nothing changes any more."""
    began = changed = time.monotonic()
    last: Routes = {}
    while True:
        found = living.routes()
        now = time.monotonic()
        if found == expected:
            return Settled(routes=found, right=True, at_s=now)
        if found != last:
            last, changed = found, now
        if now - changed > quiet_s or now - began > LIMIT_S:
            return Settled(routes=found, right=False, at_s=changed)
        time.sleep(POLL_S)


def route_findings(when: str, expected: Routes, found: Routes) -> list[Finding]:
    """Return one finding for each switch that does not route as designed."""
    findings = []
    for switch, routes in expected.items():
        seen = found.get(switch, {})
        wrong = sorted(p for p in routes.keys() | seen.keys() if routes.get(p) != seen.get(p))
        if wrong:
            first = wrong[0]
            message = (
                f"{when}: {len(wrong)} of {len(routes)} routes are not as designed; to {first}"
                f" it has {_hops(seen.get(first))}, designed {_hops(routes.get(first))}"
            )
            remedy = "mend the sessions that are not up, then compare frr/ with the rendering"
            findings.append(Finding("routing", switch, message, remedy))
    if len(findings) <= _MOST:
        return findings
    more = ", ".join(finding.subject for finding in findings[_MOST:])
    message = f"{when}: routes of {len(findings) - _MOST} more switches: {more}"
    return [*findings[:_MOST], Finding("routing", "more", message, findings[0].remedy)]


def session_findings(living: Living) -> list[Finding]:
    """Return one finding for each BGP session of the plan that is not up, with what FRR says."""
    findings = []
    for switch, sessions in living.sessions().items():
        remedy = f"compare its neighbours in frr/{switch}.conf with theirs"
        planned = {port: far for (name, port), far in living.plan.far.items() if name == switch}
        lacking = sorted(planned.keys() - sessions.keys())
        if len(sessions) < len(planned):
            names = "" if len(lacking) == len(planned) else f", none at {', '.join(lacking[:4])}"
            message = f"has {len(sessions)} sessions, {len(planned)} are designed{names}"
            findings.append(Finding("session", switch, message, remedy))
        for name, session in sorted(sessions.items()):
            if (state := session.get("bgpState")) != "Established":
                why = session.get("lastNotificationReason") or session.get("lastResetDueTo")
                towards = f" with {planned[name]}" if name in planned else ""
                message = f"its session{towards} is {state}" + (f" ({why})" if why else "")
                findings.append(Finding("session", f"{switch} {name}", message, remedy))
    return findings[:_MOST]


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """Every path that the switches' own routes allow, from each leaf to each host network."""

    pairs: int
    reached: int
    longest_hops: int
    widest: int
    """Next hops of the widest group."""
    across: int
    """Pairs in different zones, or planes."""
    around_gateway: int
    """Pairs in different zones with a path that does not go through both gateways."""


def walk(plan: Plan, routes: Routes, networks: Mapping[str, str]) -> Walked:
    """Follow the routes as packets would.

    Args:
        plan: who is at each end of a cable.
        routes: as the switches have them.
        networks: the host network of each leaf.
    """
    pairs = reached = longest = across = around = 0
    for source in networks:
        for target, network in networks.items():
            if source == target:
                continue
            pairs += 1
            paths = _paths(source, target, network, routes, plan)
            if not paths:
                continue
            reached += 1
            longest = max(longest, *(len(path) for path in paths))
            if (home := plan.tree_of(source)) != (away := plan.tree_of(target)):
                across += 1
                around += any(not _through(plan, path, home, away) for path in paths)
    widest = max((len(hops) for table in routes.values() for hops in table.values()), default=0)
    return Walked(
        pairs=pairs,
        reached=reached,
        longest_hops=longest,
        widest=widest,
        across=across,
        around_gateway=around,
    )


def _paths(
    source: str,
    target: str,
    network: str,
    routes: Routes,
    plan: Plan,
) -> list[tuple[str, ...]]:
    """Return the paths of switches, trunks counted once; none if one of them ends or loops."""
    done: list[tuple[str, ...]] = []
    front: list[tuple[str, ...]] = [(source,)]
    while front:
        path = front.pop()
        if path[-1] == target:
            done.append(path)
            continue
        hops = routes.get(path[-1], {}).get(network, frozenset())
        ends = ((path[-1], hop) for hop in hops)
        following = {plan.far[end] for end in ends if end in plan.far}
        if not following or following & set(path):
            return []
        front += [(*path, switch) for switch in sorted(following)]
    return done


def _through(plan: Plan, path: tuple[str, ...], home: str | None, away: str | None) -> bool:
    """Return whether a path leaves its zone and enters the other through a gateway leaf."""
    seen = {plan.tree_of(switch) for switch in path if switch in plan.gateways}
    return {home, away} <= seen


def _hops(interfaces: frozenset[str] | None) -> str:
    if not interfaces:
        return "no route"
    shown = sorted(interfaces)
    more = f" and {len(shown) - 4} more" if len(shown) > 4 else ""
    return f"{len(shown)} next hops ({', '.join(shown[:4])}{more})"
