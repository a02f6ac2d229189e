"""Prove an InfiniBand fabric: its files in ibsim and OpenSM, and every check on the result."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from fireflyer.design.subnets import subnet_fabric
from fireflyer.errors import OperatingError
from fireflyer.model.fabric import Fabric, Subnet
from fireflyer.prove.infiniband.dumps import read_links, read_subnet
from fireflyer.prove.infiniband.groups import Group, broadcast_group, group_findings
from fireflyer.prove.infiniband.netfile import disagreements as one_sided
from fireflyer.prove.infiniband.netfile import parse_netfile, read_netfile, reconciled
from fireflyer.prove.infiniband.paths import ask_paths
from fireflyer.prove.infiniband.programs import require_simulator
from fireflyer.prove.infiniband.second_judge import Verdict, disagreements, judge
from fireflyer.prove.infiniband.simulator import Simulator, simulator, view
from fireflyer.prove.infiniband.standby import files_of, host_of, standby_findings
from fireflyer.prove.infiniband.subnet_manager import subnet_manager
from fireflyer.prove.infiniband.tables import read_tables
from fireflyer.render import artefacts
from fireflyer.render.opensm import FILES, directory_of
from fireflyer.verify.cabling import SeenLink, adapters_as_planned, cabling_findings
from fireflyer.verify.finding import Finding
from fireflyer.verify.hops import paths
from fireflyer.verify.link_load import LinkLoad, link_loads, load_findings
from fireflyer.verify.log import FAILED, UP, log_findings
from fireflyer.verify.qos import path_findings, table_findings
from fireflyer.verify.routing import Walk, routing_findings, walk
from fireflyer.verify.shifts import ShiftRate, shift_findings, shift_rates


@dataclass(frozen=True, slots=True, kw_only=True)
class SubnetProof:
    """What was proved of one subnet."""

    name: str
    links: int
    walk: Walk
    verdict: Verdict
    loads: tuple[LinkLoad, ...]
    shifts: tuple[ShiftRate, ...]
    ports_with_tables: int
    paths_asked: int
    group: Group | None
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InfinibandProof:
    """What was proved, and what was found."""

    links: int
    """Of all subnets."""
    subnets: tuple[SubnetProof, ...]
    findings: tuple[Finding, ...]
    """Of the netfile, of the cables, and of every subnet."""


def prove_infiniband(
    fabric: Fabric, tree: Path, progress: Callable[[str], None]
) -> InfinibandProof:
    """Load the rendered tree into real software and check what it computed.

    Subnets are proved one after the other in one ibsim, each from its first manager's port.

    Raises:
        OperatingError: a program or a file is missing, or a program refuses its input.
    """
    require_simulator()
    findings: list[Finding] = []
    hosts = [host_of(subnet.managers[0]) for subnet in fabric.subnets]
    with tempfile.TemporaryDirectory(prefix="fireflyer-prove-") as scratch:
        folder = Path(scratch)
        netfile, edits = _usable(fabric, tree / "ibsim" / "fabric.net", hosts, folder)
        findings += edits
        progress("ibsim: loading the fabric")
        with simulator(netfile, hosts[0], folder) as sim:
            progress("ibnetdiscover: comparing every link with the plan")
            views = [view(sim, host, folder / str(index)) for index, host in enumerate(hosts)]
            seen = [_links(view, tree) for view in views]
            every = {link.pair: link for links in seen for link in links}
            findings += cabling_findings(fabric, tuple(every.values()))
            proofs = [
                _prove_subnet(fabric, subnet, view, links, tree, progress)
                for subnet, view, links in zip(fabric.subnets, views, seen, strict=True)
            ]
    findings += [finding for proof in proofs for finding in proof.findings]
    return InfinibandProof(links=len(every), subnets=tuple(proofs), findings=tuple(findings))


def _links(sim: Simulator, tree: Path) -> tuple[SeenLink, ...]:
    links = read_links(sim.run("ibnetdiscover"))
    if not links:
        raise OperatingError(
            f"{sim.host} has no link in {tree}/ibsim/fabric.net, and OpenSM runs there;"
            " cable it, or name another host in cluster.services.subnet_manager"
        )
    return links


def _prove_subnet(
    fabric: Fabric,
    subnet: Subnet,
    sim: Simulator,
    links: tuple[SeenLink, ...],
    tree: Path,
    progress: Callable[[str], None],
) -> SubnetProof:
    """Route one subnet with its own OpenSM and check its tables."""
    part = subnet_fabric(fabric, subnet)
    said = f"{subnet.name}: " if subnet.folder else ""
    findings: list[Finding] = []
    files = files_of(tree, subnet, subnet.managers[0])
    progress(f"{said}OpenSM: routing the fabric")
    with subnet_manager(sim, files, FILES, directory_of(subnet)) as opensm:
        findings += log_findings(opensm.said_until(UP, FAILED))
        routed = read_subnet(part, links, opensm.folder)
        progress(f"{said}walking every pair of end ports; ibdmchk does the same")
        walked = walk(part, routed)
        verdict = judge(sim)
        findings += routing_findings(walked)
        progress(f"{said}counting flows on every link; shift permutations")
        hops = paths(part, routed)
        loads = link_loads(part, hops)
        shifts = tuple(shift_rates(part, hops))
        findings += load_findings(loads) + shift_findings(shifts)
        if adapters_as_planned(part, links):  # else the two count different things
            findings += disagreements(walked, verdict)
        progress(f"{said}reading SL2VL and VL arbitration back from every switch")
        tables = tuple(read_tables(sim, routed))
        seen_ports = int((routed.neighbour >= 0).sum() + (routed.end_port > 0).sum())
        findings += table_findings(fabric.intent.traffic, tables, seen_ports)
        answers = ask_paths(sim, part, routed)
        findings += path_findings(answers)
        group = broadcast_group(sim)
        findings += group_findings(group, subnet, fabric.traffic_default.sl)
        if others := subnet.managers[1:]:
            progress(f"{said}OpenSM of {', '.join(m.host for m in others)}: standing by")
            findings += standby_findings(subnet, sim, tree)
    return SubnetProof(
        name=subnet.name,
        links=len(links),
        walk=walked,
        verdict=verdict,
        loads=loads,
        shifts=shifts,
        ports_with_tables=len(tables),
        paths_asked=len(answers),
        group=group,
        findings=tuple(replace(found, subject=said + found.subject) for found in findings),
    )


def _usable(
    fabric: Fabric, netfile: Path, hosts: Iterable[str], folder: Path
) -> tuple[Path, tuple[Finding, ...]]:
    """Return a netfile that ibsim takes: the rendered one, or a copy where its ends agree.

    Raises:
        OperatingError: it cannot be read, or lacks a subnet manager's adapter.
    """
    found = read_netfile(netfile)
    described = {node.description for node in found.nodes.values()}
    for host in hosts:
        if host not in described:
            raise OperatingError(
                f'{netfile} has no adapter "{host}", and OpenSM runs there; give it its name back'
            )
    torn = one_sided(found)
    if not torn:
        return netfile, ()
    rendered = parse_netfile(artefacts(fabric, ("ibsim",))["ibsim/fabric.net"], "the rendering")
    copy = folder / "fabric.net"
    copy.write_text(reconciled(found, rendered))
    node, port = torn[0]
    message = (
        f"{len(torn)} lines name a far end that does not name them back, the first is line"
        f" {found.line[torn[0]]}, {found.nodes[node].description} port {port};"
        " the edited end counts"
    )
    remedy = "change both ends of a link"
    return copy, (Finding("artefact", "ends of links", message, remedy),)
