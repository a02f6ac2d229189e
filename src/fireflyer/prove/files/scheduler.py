"""What Slurm's controller is told in the inventory: nodes, tree, devices, partitions."""

from __future__ import annotations

from collections.abc import Iterator

from fireflyer.model.fabric import Fabric, Node, Role
from fireflyer.prove.files.hostlists import expanded
from fireflyer.prove.files.marked_yaml import Marked, flattened
from fireflyer.prove.files.slurm import planned_switches
from fireflyer.verify.rows import Row, Value

_LISTS = {"names", "nodes", "switches"}
"""Values that are hostlists."""


def planned_slurm(fabric: Fabric) -> dict[str, dict[str, Value]]:
    """Return the planned rows of `fabric_slurm`: a node line, a switch, a partition each."""
    planned: dict[str, dict[str, Value]] = {}
    compute = list(fabric.nodes_of(Role.COMPUTE))
    zones = {zone: [node for node in compute if node.zone == zone] for zone in fabric.zones}
    for zone, nodes in zones.items():
        if nodes:
            planned[f"slurm nodes {_names(nodes)[0]}"] = _node_line(nodes, zone)
    for switch, below in planned_switches(fabric).items():
        planned[f"slurm topology {switch}"] = {
            "nodes": below.get("Nodes", ()),
            "switches": below.get("Switches", ()),
        }
    planned |= _gres(compute)
    if compute:
        planned["slurm partitions all"] = _partition(compute, default=True)
    for zone, nodes in zones.items():
        if len(zones) > 1 and nodes:
            planned[f"slurm partitions zone-{zone}"] = _partition(nodes, default=False)
    return planned


def _gres(compute: list[Node]) -> dict[str, dict[str, Value]]:
    """Return what each GPU's line says: who has such a GPU, and its NUMA node's cores."""
    planned: dict[str, dict[str, Value]] = {}
    for model in {node.model.name: node.model for node in compute}.values():
        hosts = _names([node for node in compute if node.model.name == model.name])
        count = model.cpus.sockets * model.cpus.cores_per_socket
        numas = [core * model.cpus.numa_count // count for core in range(count)]
        for number, gpu in enumerate(model.gpus):
            beside = [str(core) for core, numa in enumerate(numas) if numa == gpu.numa]
            planned[f"slurm gres gpu {gpu.model.lower()} {hosts[0]} /dev/nvidia{number}"] = {
                "nodes": hosts,
                "cores": ",".join(beside),
            }
    return planned


def _names(nodes: list[Node]) -> tuple[str, ...]:
    return tuple(sorted(node.name for node in nodes))


def _node_line(nodes: list[Node], zone: str) -> dict[str, Value]:
    model = nodes[0].model
    cpus = model.cpus
    kinds = {gpu.model.lower() for gpu in model.gpus}
    return {
        "names": _names(nodes),
        "cpus": cpus.sockets * cpus.cores_per_socket * cpus.threads_per_core,
        "sockets": cpus.sockets,
        "cores_per_socket": cpus.cores_per_socket,
        "threads_per_core": cpus.threads_per_core,
        "real_memory_mb": model.memory_mb,
        "gres": ",".join(f"gpu:{kind}:{len(model.gpus)}" for kind in sorted(kinds)),
        "features.0": f"zone_{zone}",
        "features.1": model.name,
    }


def _partition(nodes: list[Node], *, default: bool) -> dict[str, Value]:
    return {"nodes": _names(nodes), "default": default, "max_time": "UNLIMITED"}


def with_names(slurm: Marked) -> Iterator[Row]:
    """Yield the rows of `fabric_slurm` as the file has them, hostlists expanded."""
    for kind, entries in slurm.mapping.items():
        for entry in entries.value if isinstance(entries.value, list) else [entries]:
            values = {key: _value(key, value) for key, value in flattened(entry)}
            files = values.pop("file", "") if kind == "gres" else ""
            key = _key(kind, values)
            for file in expanded(str(files)) or ("",):
                yield Row(f"slurm {kind} {key} {file}".rstrip(), values, entry.line)


def _key(kind: str, values: dict[str, Value]) -> str:
    if kind == "nodes":
        names = values.get("names")
        return str(names[0]) if isinstance(names, tuple) and names else "none"
    if kind == "gres":
        nodes = values.get("nodes")
        first = nodes[0] if isinstance(nodes, tuple) and nodes else "none"
        return f"{values.pop('name', 'none')} {values.pop('type', 'none')} {first}"
    return str(values.pop("name", "none"))


def _value(key: str, value: Value) -> Value:
    if key == "cores":
        return ",".join(expanded(f"[{value}]"))
    if key not in _LISTS or not isinstance(value, str):
        return value
    try:
        return tuple(sorted(expanded(value)))
    except ValueError:
        return value
