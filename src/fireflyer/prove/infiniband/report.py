"""What an InfiniBand proof says, for a person and for a program."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from fireflyer.prove.infiniband.groups import Group
from fireflyer.prove.infiniband.prove import InfinibandProof, SubnetProof
from fireflyer.verify.link_load import LinkLoad
from fireflyer.verify.shifts import ShiftRate

_LOOPS = {True: "some", False: "none", None: "did not look"}


def as_json(proof: InfinibandProof) -> dict[str, object]:
    """Return the figures as a JSON object: those of the only subnet, or of each by its name."""
    if len(proof.subnets) == 1:
        return _subnet_json(proof.subnets[0])
    return {
        "links": proof.links,
        "subnets": {subnet.name: _subnet_json(subnet) for subnet in proof.subnets},
    }


def _subnet_json(proof: SubnetProof) -> dict[str, object]:
    walk, verdict = proof.walk, proof.verdict
    return {
        "links": proof.links,
        "pairs": walk.pairs,
        "unreachable": walk.unreachable,
        "out_of_zone": walk.out_of_zone,
        "credit_loop": list(walk.loop),
        "longest_hops": walk.longest_hops,
        "ibdmchk": asdict(verdict),
        "link_loads": [
            {
                "pattern": load.pattern,
                "layer": load.layer,
                "links": load.links,
                "idle": load.idle,
                "worst_group": load.group,
                "max": round(load.maximum, 3),
                "mean": round(load.mean, 3),
                "max_over_mean": round(load.ratio, 3),
                "limit": load.limit if math.isfinite(load.limit) else None,
                "usable_gbps": round(load.usable_gbps),
                "planned_gbps": load.planned_gbps,
            }
            for load in proof.loads
        ],
        "shifts": [asdict(rate) for rate in proof.shifts],
        "ports_with_tables": proof.ports_with_tables,
        "paths_asked": proof.paths_asked,
        "ipoib_group": asdict(proof.group) if proof.group else None,
    }


def as_lines(proof: InfinibandProof) -> tuple[str, ...]:
    """Return the figures, a line each, subnet by subnet."""
    if len(proof.subnets) == 1:
        return _subnet_lines(proof.subnets[0])
    lines = [
        f"subnets               {len(proof.subnets):>12}",
        f"{'links seen':<22}{proof.links:>12,}",
    ]
    for subnet in proof.subnets:
        lines.append(f"subnet {subnet.name}")
        lines += [f"  {line}" for line in _subnet_lines(subnet)]
    return tuple(lines)


def _subnet_lines(proof: SubnetProof) -> tuple[str, ...]:
    walk, verdict = proof.walk, proof.verdict
    return (
        f"links seen            {proof.links:>12,}",
        f"pairs of end ports    {walk.pairs:>12,}   ibdmchk {verdict.pairs:,}",
        f"  without a path      {walk.unreachable:>12,}   ibdmchk {verdict.unreachable:,}",
        f"  leaving their zone  {walk.out_of_zone:>12,}   of those inside one zone",
        f"credit loops          {'some' if walk.loop else 'none':>12}"
        f"   ibdmchk {_LOOPS[verdict.loop]}",
        f"longest path          {walk.longest_hops:>12}   switches",
        *_loads(proof.loads),
        *_shifts(proof.shifts),
        f"SL2VL, VL arbitration {proof.ports_with_tables:>12,}   ports read back",
        f"service levels        {proof.paths_asked:>12}   path records asked for",
        *_group(proof.group),
    )


def _loads(loads: Sequence[LinkLoad]) -> Iterator[str]:
    """Yield the worst group of every layer, pattern by pattern."""
    for pattern, found in groupby(loads, key=lambda load: load.pattern):
        yield f"{pattern}: destinations on the fullest link of the worst group"
        for load in found:
            limit = f"limit {load.limit:g}" if math.isfinite(load.limit) else "no limit held"
            yield (
                f"  {load.layer:<20}{load.maximum:>12.4g}   over mean {load.mean:.2f}, {limit},"
                f" at {load.group}; {load.usable_gbps / 1000:.1f} of"
                f" {load.planned_gbps / 1000:.1f} Tb/s"
            )


def _shifts(rates: Sequence[ShiftRate]) -> Iterator[str]:
    """Yield the rate of shifts, zone by zone and order by order."""
    for rate in rates:
        limit = f"limit {rate.limit:.2f}" if rate.limit else "no limit held"
        yield (
            f"{f'shifts, {rate.tree} by {rate.order}':<22}{rate.mean:>12.3f}   of line rate,"
            f" {limit}, worst shift {rate.worst:.3f}, {rate.shifts} shifts of {rate.ports} ports"
        )


def _group(found: Group | None) -> tuple[str, ...]:
    """Return what the IPoIB group is; ibsim's ports could not join one of more than 2048."""
    if found is None:
        return ()
    said = f"bytes, {found.gbps} Gb/s; no port joins it: ibsim's have MTU 2048"
    return (f"IPoIB group           {found.mtu_bytes or 0:>12,}   {said}",)
