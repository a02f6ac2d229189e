"""Run by `tests.bench.peers` with pyavd's own interpreter: one zone of EOS switches.

The inputs are those of AVD's L3LS design: eBGP from leaf to spine, no overlay, a VLAN with
the leaf as router for each leaf's hosts, a description on every port.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from pyavd import (
    get_avd_facts,
    get_device_config,
    get_device_structured_config,
    validate_inputs,
)

Inputs: TypeAlias = dict[str, object]


def main() -> None:
    """Write a configuration for each switch, then the seconds that it took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--spines", type=int, required=True)
    parser.add_argument("--leaves", type=int, required=True)
    parser.add_argument("--hosts", type=int, required=True, help="ports of a leaf")
    parser.add_argument("--slim", action="store_true", help="give a leaf its own hosts only")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--took", type=Path, required=True)
    options = parser.parse_args()
    inputs = _fabric(options.spines, options.leaves, options.hosts, slim=options.slim)
    start = time.monotonic()
    valid = {}
    for name, data in inputs.items():
        result = validate_inputs(data)
        if result.validated_data is None:
            raise SystemExit(f"{name}: {result.validation_result}")
        valid[name] = result.validated_data
    facts = get_avd_facts(valid)
    structured = {
        name: get_device_structured_config(name, data, facts) for name, data in valid.items()
    }
    for name, config in structured.items():
        (options.out / f"{name}.cfg").write_text(get_device_config(config))
    options.took.write_text(f"{time.monotonic() - start}")


def _fabric(spines: int, leaves: int, hosts: int, *, slim: bool) -> Mapping[str, Inputs]:
    """Return each device's variables, as Ansible's group variables would give them."""
    spine_names = [f"a-spine{n:02d}" for n in range(1, spines + 1)]
    leaf_names = [f"a-leaf{n:02d}" for n in range(1, leaves + 1)]
    servers = {leaf: _servers(leaf, number, hosts) for number, leaf in enumerate(leaf_names)}
    everyone = [server for of_leaf in servers.values() for server in of_leaf]
    shared: Inputs = {
        "fabric_name": "A",
        "underlay_routing_protocol": "ebgp",
        "overlay_routing_protocol": "none",
        "p2p_uplinks_mtu": 9214,
        "default_mtu": 9214,
        "mgmt_gateway": "10.10.0.1",
        "spine": {
            "defaults": {
                "platform": "default",
                "loopback_ipv4_pool": "10.30.0.0/24",
                "bgp_as": "65000",
            },
            "nodes": [
                {"name": name, "id": n, "mgmt_ip": f"10.10.0.{n + 10}/16"}
                for n, name in enumerate(spine_names, start=1)
            ],
        },
        "l3leaf": {
            "defaults": {
                "platform": "default",
                "loopback_ipv4_pool": "10.30.1.0/24",
                "uplink_ipv4_pool": "10.40.0.0/16",
                "uplink_interfaces": [f"Ethernet{hosts + n}" for n in range(1, spines + 1)],
                "uplink_switches": spine_names,
                "mlag": False,
                "vtep": False,
                "virtual_router_mac_address": "00:1c:73:00:dc:01",
                "filter": {"only_vlans_in_use": False},
            },
            "nodes": [
                {
                    "name": name,
                    "id": n,
                    "bgp_as": str(65000 + n),
                    "mgmt_ip": f"10.10.1.{n + 10}/16",
                    "uplink_switch_interfaces": [f"Ethernet{n}"] * spines,
                }
                for n, name in enumerate(leaf_names, start=1)
            ],
        },
        "network_services_keys": [{"name": "tenants"}],
        "tenants": [
            {
                "name": "hosts",
                "vrfs": [
                    {
                        "name": "default",
                        "svis": [
                            {
                                "id": 100,
                                "name": "hosts",
                                "enabled": True,
                                "nodes": [
                                    {"node": leaf, "ip_address": f"10.20.{n}.1/26"}
                                    for n, leaf in enumerate(leaf_names)
                                ],
                            }
                        ],
                    }
                ],
            }
        ],
    }
    spine_inputs: Inputs = shared | {"type": "spine"}
    leaf_inputs: Inputs = shared | {"type": "l3leaf"}
    if not slim:
        spine_inputs["servers"] = leaf_inputs["servers"] = everyone
    devices = dict.fromkeys(spine_names, spine_inputs)
    for name in leaf_names:
        devices[name] = leaf_inputs | {"servers": servers[name]} if slim else leaf_inputs
    return devices


def _servers(leaf: str, number: int, hosts: int) -> list[Inputs]:
    return [
        {
            "name": f"a-cn{number * hosts + port:04d}",
            "adapters": [
                {
                    "endpoint_ports": ["ib0"],
                    "switch_ports": [f"Ethernet{port}"],
                    "switches": [leaf],
                    "vlans": "100",
                    "mode": "access",
                }
            ],
        }
        for port in range(1, hosts + 1)
    ]


if __name__ == "__main__":
    main()
