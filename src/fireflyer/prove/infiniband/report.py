"""What an InfiniBand proof says, for a person and for a program."""

from __future__ import annotations

from dataclasses import asdict

from fireflyer.prove.infiniband.groups import Group
from fireflyer.prove.infiniband.prove import InfinibandProof, SubnetProof
from fireflyer.verify.routing import Balance

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
        "balance": {
            b.kind: {
                "max": b.maximum,
                "mean": round(b.mean, 3),
                "max_over_mean": round(b.ratio, 3),
                "worst_leaf": b.leaf,
            }
            for b in proof.balances
        },
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
        *(_balance(found) for found in proof.balances),
        f"SL2VL, VL arbitration {proof.ports_with_tables:>12,}   ports read back",
        f"service levels        {proof.paths_asked:>12}   path records asked for",
        *_group(proof.group),
    )


def _balance(found: Balance) -> str:
    text = f"{found.maximum} over mean {found.mean:.2f} destinations an uplink, at {found.leaf}"
    return f"{found.kind + ' max/mean':<22}{found.ratio:>12.2f}   {text}"


def _group(found: Group | None) -> tuple[str, ...]:
    """Return what the IPoIB group is; ibsim's ports could not join one of more than 2048."""
    if found is None:
        return ()
    said = f"bytes, {found.gbps} Gb/s; no port joins it: ibsim's have MTU 2048"
    return (f"IPoIB group           {found.mtu_bytes or 0:>12,}   {said}",)
