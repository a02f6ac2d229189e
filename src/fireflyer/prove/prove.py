"""Prove a site: its rendered files in ibsim and OpenSM, and every check on the result."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fireflyer.errors import OperatingError
from fireflyer.model.fabric import Fabric, Port, Role
from fireflyer.prove.artefacts import artefact_findings
from fireflyer.prove.dumps import read_links, read_subnet
from fireflyer.prove.paths import ask_paths
from fireflyer.prove.programs import require_programs
from fireflyer.prove.second_judge import Verdict, disagreements, judge
from fireflyer.prove.simulator import simulator
from fireflyer.prove.subnet_manager import subnet_manager
from fireflyer.prove.tables import read_tables
from fireflyer.verify.cabling import cabling_findings
from fireflyer.verify.finding import Finding
from fireflyer.verify.log import log_findings
from fireflyer.verify.qos import path_findings, table_findings
from fireflyer.verify.routing import Balance, Walk, balance, routing_findings, walk


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was proved, and what was found."""

    links: int
    walk: Walk
    verdict: Verdict
    balances: tuple[Balance, ...]
    ports_with_tables: int
    paths_asked: int
    findings: tuple[Finding, ...]
    seconds: float


def prove(fabric: Fabric, tree: Path, progress: Callable[[str], None]) -> Proof:
    """Load the rendered tree into real software and check what it computed.

    Raises:
        OperatingError: a program or a file is missing, or a program refuses its input.
    """
    start = time.monotonic()
    require_programs()
    tree = tree.resolve()
    findings = list(artefact_findings(fabric, tree))
    manager = fabric.intent.services.subnet_manager[0]
    host = f"{manager} {fabric.node[manager].ports[0].hca}"
    with tempfile.TemporaryDirectory(prefix="fireflyer-prove-") as folder:
        progress("ibsim: loading the fabric")
        with simulator(tree / "ibsim" / "fabric.net", host, Path(folder)) as sim:
            progress("ibnetdiscover: comparing every link with the plan")
            links = read_links(sim.run("ibnetdiscover"))
            if not links:
                raise OperatingError(
                    f"{host} has no link in {tree}/ibsim/fabric.net, and OpenSM runs there;"
                    " cable it, or name another host in cluster.services.subnet_manager"
                )
            findings += cabling_findings(fabric, links)
            progress("OpenSM: routing the fabric")
            with subnet_manager(sim, tree / "opensm" / manager) as opensm:
                findings += log_findings(opensm.said)
                subnet = read_subnet(fabric, links, opensm.folder)
                progress("walking every pair of end ports; ibdmchk does the same")
                walked = walk(fabric, subnet)
                verdict = judge(sim)
                balances = tuple(balance(fabric, subnet, r) for r in (Role.STORAGE, Role.COMPUTE))
                findings += routing_findings(walked, balances)
                findings += disagreements(walked, verdict)
                progress("reading SL2VL and VL arbitration back from every switch")
                tables = tuple(read_tables(sim, subnet))
                findings += table_findings(fabric.intent.traffic, tables, _switch_ports(fabric))
                answers = ask_paths(sim, fabric, subnet)
                findings += path_findings(answers)
    return Proof(
        links=len(links),
        walk=walked,
        verdict=verdict,
        balances=balances,
        ports_with_tables=len(tables),
        paths_asked=len(answers),
        findings=tuple(findings),
        seconds=time.monotonic() - start,
    )


def _switch_ports(fabric: Fabric) -> int:
    """Return the number of cabled switch ports."""
    ends: list[Port] = [end for cable in fabric.cables for end in (cable.a, cable.z)]
    return sum(end.device in fabric.switch for end in ends)
