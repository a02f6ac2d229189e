"""Prove an InfiniBand fabric: its files in ibsim and OpenSM, and every check on the result."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fireflyer.errors import OperatingError
from fireflyer.model.fabric import Fabric, Role
from fireflyer.prove.infiniband.dumps import read_links, read_subnet
from fireflyer.prove.infiniband.netfile import disagreements as one_sided
from fireflyer.prove.infiniband.netfile import parse_netfile, read_netfile, reconciled
from fireflyer.prove.infiniband.paths import ask_paths
from fireflyer.prove.infiniband.programs import require_simulator
from fireflyer.prove.infiniband.second_judge import Verdict, disagreements, judge
from fireflyer.prove.infiniband.simulator import simulator
from fireflyer.prove.infiniband.subnet_manager import subnet_manager
from fireflyer.prove.infiniband.tables import read_tables
from fireflyer.render import artefacts
from fireflyer.render.opensm import FILES
from fireflyer.verify.cabling import adapters_as_planned, cabling_findings
from fireflyer.verify.finding import Finding
from fireflyer.verify.log import log_findings
from fireflyer.verify.qos import path_findings, table_findings
from fireflyer.verify.routing import Balance, Walk, balance, routing_findings, walk


@dataclass(frozen=True, slots=True, kw_only=True)
class InfinibandProof:
    """What was proved, and what was found."""

    links: int
    walk: Walk
    verdict: Verdict
    balances: tuple[Balance, ...]
    ports_with_tables: int
    paths_asked: int
    findings: tuple[Finding, ...]


def prove_infiniband(
    fabric: Fabric, tree: Path, progress: Callable[[str], None]
) -> InfinibandProof:
    """Load the rendered tree into real software and check what it computed.

    Raises:
        OperatingError: a program or a file is missing, or a program refuses its input.
    """
    require_simulator()
    findings: list[Finding] = []
    manager = fabric.intent.services.subnet_manager[0]
    host = f"{manager} {fabric.node[manager].ports[0].hca}"
    with tempfile.TemporaryDirectory(prefix="fireflyer-prove-") as folder:
        netfile = tree / "ibsim" / "fabric.net"
        netfile, edits = _usable(fabric, netfile, host, Path(folder))
        findings += edits
        progress("ibsim: loading the fabric")
        with simulator(netfile, host, Path(folder)) as sim:
            progress("ibnetdiscover: comparing every link with the plan")
            links = read_links(sim.run("ibnetdiscover"))
            if not links:
                raise OperatingError(
                    f"{host} has no link in {tree}/ibsim/fabric.net, and OpenSM runs there;"
                    " cable it, or name another host in cluster.services.subnet_manager"
                )
            findings += cabling_findings(fabric, links)
            progress("OpenSM: routing the fabric")
            with subnet_manager(sim, tree / "opensm" / manager, FILES) as opensm:
                findings += log_findings(opensm.said)
                subnet = read_subnet(fabric, links, opensm.folder)
                progress("walking every pair of end ports; ibdmchk does the same")
                walked = walk(fabric, subnet)
                verdict = judge(sim)
                balances = tuple(balance(fabric, subnet, r) for r in (Role.STORAGE, Role.COMPUTE))
                findings += routing_findings(walked, balances)
                if adapters_as_planned(fabric, links):  # else the two count different things
                    findings += disagreements(walked, verdict)
                progress("reading SL2VL and VL arbitration back from every switch")
                tables = tuple(read_tables(sim, subnet))
                seen_ports = int((subnet.neighbour >= 0).sum() + (subnet.end_port > 0).sum())
                findings += table_findings(fabric.intent.traffic, tables, seen_ports)
                answers = ask_paths(sim, fabric, subnet)
                findings += path_findings(answers)
    return InfinibandProof(
        links=len(links),
        walk=walked,
        verdict=verdict,
        balances=balances,
        ports_with_tables=len(tables),
        paths_asked=len(answers),
        findings=tuple(findings),
    )


def _usable(
    fabric: Fabric, netfile: Path, host: str, folder: Path
) -> tuple[Path, tuple[Finding, ...]]:
    """Return a netfile that ibsim takes: the rendered one, or a copy where its ends agree.

    Raises:
        OperatingError: it cannot be read, or lacks the subnet manager's adapter.
    """
    found = read_netfile(netfile)
    if host not in {node.description for node in found.nodes.values()}:
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
