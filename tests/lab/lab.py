"""What can be done with the lab: raise it, take it down, look at it, run a job on it."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.images import build, engine, recipe
from tests.lab import access, containers
from tests.lab.site import BIN, LAB_SOURCE, REPO, LabError, LabSite, Source, read_site

LOG = access.LAB / "site.log"
RECAP = re.compile(
    r"^(\S+) +: ok=\d+ +changed=(\d+) +unreachable=(\d+) +failed=(\d+)", re.MULTILINE
)
"""What Ansible ends with: a line for each host."""

Tell = Callable[[str], None]


def up(tell: Tell, *, again: bool = False) -> None:
    """Raise what is missing of the lab and apply what is due, or everything once more."""
    site = read_site()
    raise_hosts(tell, site)
    with _timed(tell, "playbooks/site.yml"):
        apply(tell, *(["-e", "site_full=true"] if again else []))
    tell(f"the lab is up. A shell: ssh -F {access.CONFIG.relative_to(REPO)} {site.controllers[0]}")


def raise_hosts(tell: Tell, site: LabSite) -> None:
    """Raise what is missing of a site's hosts and networks, and make a way into them."""
    engine.prepare()
    containers.make_way(tell)
    with _timed(tell, "image"):
        image = build.ensure(recipe.from_environment(), tell)
    containers.make_room()
    with _timed(tell, f"{len(site.hosts)} hosts on {len(site.networks)} networks"):
        key = access.make_key()
        containers.create_networks(site)
        containers.create_hosts(site, image, key)
        containers.wait_started(site)
        containers.let_in(site)
        access.write_known_hosts(site)
        access.write_config(site)


def apply(
    tell: Tell, *arguments: str, source: Source = LAB_SOURCE, playbook: str = "playbooks/site.yml"
) -> str:
    """Apply a playbook to the lab and return what Ansible printed; the log has it too."""
    program = str(BIN / "ansible-playbook")
    command = [program, *source.options, playbook, *arguments]
    printed: list[str] = []
    told = ""
    with (
        LOG.open("w") as log,
        subprocess.Popen(
            command,
            cwd=REPO,
            env=source.variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        for line in process.stdout or ():
            log.write(line)
            printed.append(line)
            step = line.split("*")[0].strip()
            # A flush of handlers is announced once for each host.
            if line.startswith(("PLAY [", "TASK [", "RUNNING HANDLER [")) and step != told:
                told = step
                tell(f"  {step}")
    output = "".join(printed)
    if process.returncode != 0:
        raise LabError(
            f"{playbook} failed:\n{_failures(output)}\nThe whole run: {LOG.relative_to(REPO)}"
        )
    return output


def down(tell: Tell) -> None:
    """Remove every container, network and file of the lab."""
    engine.prepare()
    hosts, networks = containers.remove()
    access.remove()
    tell(f"removed {hosts} hosts, {networks} networks and {access.LAB.relative_to(REPO)}")


def status(tell: Tell) -> bool:
    """Show each host and what Slurm thinks of it; return whether all of them run."""
    engine.prepare()
    site = read_site()
    states = containers.states()
    for host in site.hosts:
        tell(f"{host.name:10} {host.role:11} {host.address:13} {states.get(host.name, 'missing')}")
    running = all(states.get(host.name) == "running" for host in site.hosts)
    if running:
        tell(access.run(site.controllers[0], "sinfo --Node --long").stdout)
    return running


def job(tell: Tell, site: LabSite) -> None:
    """Run one job on every node and check that each of them answered."""
    nodes = len(site.job_hosts)
    with _timed(tell, f"srun on {nodes} nodes"):
        done = access.run(site.controllers[0], f"srun --nodes={nodes} --time=1 hostname")
    tell(done.stdout + done.stderr)
    if sorted(done.stdout.split()) != list(site.job_hosts):
        raise LabError(
            f"the job should have run on {', '.join(site.job_hosts)};"
            " see `python -m tests.lab status`, then `python -m tests.lab up --again`"
        )


def _failures(output: str) -> str:
    """Return the parts of Ansible's output that tell what failed, or else its end."""
    blocks = [block for block in output.split("\n\n") if "fatal: [" in block or "[ERROR]" in block]
    return "\n".join(blocks)[-6000:] or output[-2000:]


@contextmanager
def _timed(tell: Tell, what: str) -> Iterator[None]:
    started, used_s = time.monotonic(), _children_cpu_s()
    tell(f"{what} ...")
    yield
    duration_s, cpu_s = time.monotonic() - started, _children_cpu_s() - used_s
    tell(f"{what}: {duration_s:.0f} s, {cpu_s:.0f} s of processor time on the controller")


def _children_cpu_s() -> float:
    """Return the processor time of programs that this process started and that ended."""
    used = os.times()
    return used.children_user + used.children_system


def require_up() -> LabSite:
    """Return the site if its lab runs; LabError says how to raise it."""
    site = read_site()
    states = containers.states()
    if gone := [host.name for host in site.hosts if states.get(host.name) != "running"]:
        raise LabError(f"not running: {', '.join(gone)}; run: python -m tests.lab up")
    return site
