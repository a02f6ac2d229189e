"""What a replica tells Ansible, and what it tells the person who is about to pay for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fireflyer.model.fabric import Role
from fireflyer.model.provider_facts import RunningMachine
from fireflyer.model.replica_plan import ReplicaPlan
from fireflyer.render.inventory import Inventory, Json, inventory


def replica_inventory(plan: ReplicaPlan) -> Inventory:
    """Return the inventory of a replica: that of its fabric, without what stands for switches.

    `cluster` holds as much of the intent as plays and roles read; a site has it in a file.
    """
    found = inventory(plan.fabric)
    switches = set(plan.fabric.switch)
    cluster = plan.fabric.intent
    return replace(
        found,
        variables={
            **found.variables,
            "cluster": {
                "name": cluster.name,
                "domain": cluster.domain,
                "ntp_servers": list(cluster.ntp_servers),
                "traffic": {"default": cluster.traffic.default},
                **{
                    str(role): {
                        "model": getattr(cluster, role).model,
                        "nodes": getattr(cluster, role).nodes,
                    }
                    for role in Role
                },
            },
            "replica": {
                "of": plan.site,
                "name": plan.name,
                "scale": plan.intent.scale,
                "provider": plan.intent.provider,
                "region": plan.intent.region,
                "zone": plan.intent.zone,
                "rdma": plan.rdma,
            },
            "ansible_user": plan.login,
        },
        hosts={name: values for name, values in found.hosts.items() if name not in switches},
        groups={
            group: tuple(host for host in hosts if host not in switches)
            for group, hosts in found.groups.items()
        },
    )


def exported(plan: ReplicaPlan) -> Mapping[str, Json]:
    """Return the inventory as the stack exports it: one JSON object."""
    found = replica_inventory(plan)
    return {
        "variables": found.variables,
        "management_variables": found.management_variables,
        "hosts": found.hosts,
        "groups": {group: list(hosts) for group, hosts in found.groups.items()},
    }


def running_as_text(plan: ReplicaPlan, machines: Sequence[RunningMachine]) -> str:
    """Return the machines that run, and what they cost an hour by the catalogue's list."""
    if not machines:
        return "no machine of it runs"
    known = {name: one.price.usd_per_hour for name, one in plan.types.items()}
    lines = [f"{len(machines)} machine(s) of it run and are paid for:"]
    for machine in sorted(machines, key=lambda found: found.name):
        price = known.get(machine.type)
        told = f"{price:,.3f} $/h" if price is not None else "of a type that is not in the plan"
        lines.append(f"  {machine.name:12}{machine.type:26}{told:>14}  {machine.id}")
    total = sum(known.get(machine.type, 0.0) for machine in machines)
    strange = sum(machine.type not in known for machine in machines)
    more = f", and what {strange} of another type cost" if strange else ""
    lines.append(f"  together {total:,.2f} $/h{more}, by the list and on demand")
    return "\n".join(lines)


def as_text(plan: ReplicaPlan) -> str:
    """Return the plan for a person: what is made, where, and what it costs by the list."""
    intent = plan.intent
    lines = [
        f"replica {plan.name} of {plan.site}, scale {intent.scale}: {intent.provider}"
        f" {intent.region}, zone {intent.zone}",
        "",
    ]
    for role in Role:
        hosts = list(plan.hosts_of(role))
        if hosts:
            first, last = hosts[0], hosts[-1]
            names = first.name if first is last else f"{first.name} to {last.name}"
            lines.append(
                f"{role:12}{len(hosts):5,} x {first.instance.type:26}{first.market:16}{names}"
            )
    lines += ["", *(f"subnet      {s.name:14}{s.network}" for s in plan.subnets)]
    placement = intent.placement
    kept = placement.reservation or ", ".join(plan.new_groups) or "none"
    lines += ["", f"placement   {placement.kind}: {kept}", ""]
    for price in plan.prices:
        lines.append(
            f"price       {price.count:5,} x {price.what:34}{price.usd_per_hour:12,.3f} $/h"
        )
    day, dates = plan.usd_per_day, sorted({line.as_of for line in plan.prices})
    listed = sorted({host.instance.price.region for host in plan.hosts} - {intent.region})
    elsewhere = f" of {' and '.join(listed)}, not of {intent.region}" if listed else ""
    lines += [
        f"            {plan.usd_per_hour:,.2f} $/h, {day:,.2f} $ a day of the ceiling's"
        f" {intent.usd_per_day_ceiling:,.2f}; {plan.usd_per_hour * intent.ttl_hours:,.2f} $ in its"
        f" {intent.ttl_hours} h",
        f"            list prices of {' and '.join(dates)}{elsewhere}, out of a file: check them;"
        " traffic is extra",
    ]
    return "\n".join(lines)
