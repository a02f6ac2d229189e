"""The page that says what each export is for: one table for the tree and for docs/exports.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

INDEX: Final = "README.md"


@dataclass(frozen=True, slots=True)
class Export:
    """One folder of exports."""

    program: str
    """What reads it, and from which version on."""
    on: str
    """Fabrics that have it."""
    load: str
    """How to load it, from the folder `exports/`."""
    checked: str
    """What read it, by version, and what that gave back."""


EXPORTS: Final[Mapping[str, Export]] = {
    "air": Export(
        "NVIDIA Air, JSON import",
        "Ethernet, SONiC, NVUE, FRR",
        "Create Simulation, file `air/topology.json`",
        "read back in the tests; port names as in NVIDIA's samples; not imported",
    ),
    "astra-sim": Export(
        "ASTRA-sim, ns-3 and analytical back ends",
        "both",
        "`--network-configuration=astra-sim/analytical.yml`, or `TOPOLOGY_FILE` of ns-3",
        "the analytical back ends' own parsers (November 2024): every file, by the one it is for;"
        " read back in the tests",
    ),
    "containerlab": Export(
        "containerlab of 2026; cEOS from 4.28",
        "Ethernet, SONiC, NVUE, EOS, FRR",
        "`containerlab deploy -t containerlab/SITE.clab.yml`, in the rendered tree",
        "published schema of August 2026: no error, 1,474 nodes and 3,264 links; not deployed",
    ),
    "cvt": Export(
        "NVIDIA's cable validation tool, P2P sheet",
        "both",
        "upload `cvt/p2p.xlsx`, on InfiniBand with `cvt/hca-mapping.csv`",
        "openpyxl 3.1: every link",
    ),
    "dnsmasq": Export(
        "dnsmasq",
        "both",
        "`conf-file=dnsmasq/management.conf`",
        "dnsmasq 2.90 `--test`",
    ),
    "hfreduce": Export(
        "rank order and double binary tree of a whole zone or site",
        "both",
        "`tree_order` in `src/fireflyer/design/rank_order.py` for other jobs",
        "read back in the tests",
    ),
    "htsim": Export(
        "htsim's fat tree, a file a tree",
        "two layers",
        "`-topo htsim/TREE.topo`",
        "read back in the tests",
    ),
    "ibdiagnet": Export(
        "ibdiagnet, UFM, cable validation",
        "InfiniBand",
        "`IBDM_IBNL_PATH=ibdiagnet/ibnl ibtopodiff -t ibdiagnet/SITE.topo`",
        "ibtopodiff 1.5.7: every system and adapter",
    ),
    "kea": Export(
        "Kea DHCPv4",
        "both",
        "`kea-dhcp4 -c kea/kea-dhcp4.conf`",
        "Kea 2.2 `-t`",
    ),
    "kubernetes": Export(
        "Kubernetes; topograph 0.3 and 1.0 labels; Slinky's operator",
        "both",
        "`kubectl apply --server-side -f kubernetes/nodes.yaml` on nodes that have joined",
        "kubectl 1.32 `label --local`: every node; labels and ConfigMap read back in the tests",
    ),
    "librenms": Export(
        "LibreNMS, `add_device` of API v0",
        "both",
        "a POST to `/api/v0/devices` for each object of `librenms/devices.json`",
        "read back in the tests against the API's published fields",
    ),
    "nautobot": Export(
        "Nautobot 3.2, CSV import: `shared/`, then `site/`, in the order of the files' numbers",
        "both",
        "import file by file, each as the model that it is named after",
        "Nautobot 3.2.7's own parser and serializers took two labs whose devices have the same"
        " names; read back in the tests",
    ),
    "nccl": Export(
        "NCCL, `NCCL_TOPO_FILE`, with GPUs whose model has `cpus.cpuid`",
        "both",
        "`NCCL_TOPO_FILE=nccl/MODEL.xml`, once the model has `bus_id`",
        "NCCL 2.22 and 2.27, their own reader, merge and path search: processors and types of path"
        " as the model has them; the same rules, written anew, in the tests",
    ),
    "netbox": Export(
        "NetBox's bulk import: `shared/`, then `site/`, in the order of the files' numbers",
        "both",
        "import file by file, or `fireflyer export-netbox`",
        "NetBox 4.7.3: every file of the lab imported, and `export-netbox` found no difference"
        " after; read back in the tests",
    ),
    "netlab": Export(
        "netlab",
        "Ethernet, SONiC, NVUE, EOS, FRR",
        "`netlab create netlab/topology.yml`, then `netlab up --no-config`",
        "netlab 26.10 `create`: links, ports and management addresses read back",
    ),
    "oxidized": Export(
        "Oxidized, CSV source",
        "switches with a system",
        "merge `oxidized/source.yml` into its configuration",
        "read back in the tests; models that its sources have",
    ),
    "prometheus": Export(
        "Prometheus: targets (file_sd) and the expected state of every port",
        "both",
        "`file_sd_configs`; `expected.prom` by node exporter's textfile collector",
        "Prometheus 2.42 and node exporter 1.5: a leaf's links by query; `promtool`",
    ),
    "ptm": Export(
        "Cumulus PTM, cable validation",
        "Ethernet",
        "`/etc/ptm.d/topology.dot`",
        "gvpr of Graphviz 2.42: every link",
    ),
    "simgrid": Export(
        "SimGrid 3.32; a platform for each plane that no cable joins",
        "both",
        '`Engine.load_platform("simgrid/platform.xml")`',
        "SimGrid 3.32: flows at full speed, trunks shared",
    ),
    "ufm": Export(
        "UFM's NDT comparison, switches and hosts apart; not matched by its default filter",
        "InfiniBand",
        "upload `ufm/switches.ndt.csv` and `ufm/hosts.ndt.csv`",
        "read back in the tests; not by a UFM",
    ),
}


def page(site: str, names: Mapping[str, Sequence[str]]) -> str:
    """Return the index of a site's exports: program, how to load it, files."""
    rows = [
        (
            f"`{folder}/`",
            EXPORTS[folder].program,
            EXPORTS[folder].load.replace("SITE", site),
            _listed(files),
        )
        for folder, files in names.items()
    ]
    return f"# Exports of {site}\n\n" + _table(("folder", "for", "load", "files"), rows)


def reference() -> str:
    """Return the table of docs/exports.md."""
    rows = [
        (f"`{folder}/`", export.program, export.on, export.checked)
        for folder, export in EXPORTS.items()
    ]
    return _table(("folder of `exports/`", "for", "on", "checked with"), rows)


_MOST_NAMED = 4


def _listed(files: Sequence[str]) -> str:
    named = ", ".join(f"`{name}`" for name in files[:_MOST_NAMED])
    more = len(files) - _MOST_NAMED
    return named + (f" and {more} more" if more > 0 else "")


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)
