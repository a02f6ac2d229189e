"""What a host with feet in several subnets does with its answers.

A provider lets an interface send from its own address alone. By the main table an answer goes out
of whichever interface is a neighbour of whoever asked, and from another one's address it is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fireflyer.model.replica_plan import PlannedHost, ReplicaPlan

UNIT = "replica-routes.service"
IP = "/usr/sbin/ip -4"
FIRST_TABLE = 101
NEIGHBOURS, OTHERS = 1001, 1002
"""Priorities: its own neighbours first, then whatever a router leads to."""


NETWORKD = "/etc/systemd/networkd.conf.d/50-replica-routes.conf"
KEEP = "[Network]\nManageForeignRoutes=no\nManageForeignRoutingPolicyRules=no\n"
"""Else systemd-networkd, where an image has it, would forget them when it is restarted."""


def route_files(plan: ReplicaPlan, host: PlannedHost) -> Mapping[str, str]:
    """Return the files of the routes by path; none for a host of one foot."""
    unit = routes_unit(plan, host)
    return {} if unit is None else {f"/etc/systemd/system/{UNIT}": unit, NETWORKD: KEEP}


def routes_unit(plan: ReplicaPlan, host: PlannedHost) -> str | None:
    """Return a systemd unit that has each foot answer for itself; None for a host of one foot.

    It knows no interface by name: the router of a foot is reached through it.
    """
    lines = list(_commands(plan, host))
    if not lines:
        return None
    return (
        "[Unit]\n"
        "Description=Answers leave by the interface whose address they come from\n"
        "After=network-online.target\n"
        "Wants=network-online.target\n"
        "StartLimitIntervalSec=0\n"
        "\n"
        "[Service]\n"
        "Type=oneshot\n"
        "RemainAfterExit=yes\n"
        "# An interface may come up later.\n"
        "Restart=on-failure\n"
        "RestartSec=2\n"
        + "".join(f"ExecStart={line}\n" for line in lines)
        + "\n[Install]\nWantedBy=multi-user.target\n"
    )


def _commands(plan: ReplicaPlan, host: PlannedHost) -> Iterator[str]:
    feet = [(foot.address, plan.subnet(foot.subnet)) for foot in host.interfaces if foot.address]
    if len(feet) < 2:
        return
    for table, (_, subnet) in enumerate(feet, start=FIRST_TABLE):
        yield f"{IP} route replace default via {subnet.router} table {table}"
    for table, (address, subnet) in enumerate(feet, start=FIRST_TABLE):
        for rule in (
            f"priority {NEIGHBOURS} from {address} to {subnet.network} lookup main",
            f"priority {OTHERS} from {address} lookup {table}",
        ):
            yield f"-{IP} rule delete {rule}"  # of a start before this one
            yield f"{IP} rule add {rule}"
