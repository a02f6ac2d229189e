"""The topology as a real slurmctld understands it (Slurm 22.05 of Debian 12: tree, no blocks)."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fireflyer.model.fabric import Fabric
from fireflyer.render import slurm, topology_conf

PACKAGES = {"slurmctld": "slurmctld", "scontrol": "slurm-client", "munged": "munge"}
WAIT_S = 60.0


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder with a path short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="ff-slurm-") as path:
        yield Path(path)


def programs() -> dict[str, str]:
    """Return where the programs are, or skip and say what is missing."""
    found = {
        name: shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") or "" for name in PACKAGES
    }
    if missing := [PACKAGES[name] for name, path in found.items() if not path]:
        pytest.skip(f"not installed: apt-get install {' '.join(missing)}")
    if os.geteuid() != 0:
        pytest.skip("slurmctld and munged run as root here")
    return found


def start(stack: ExitStack, *command: str | Path) -> None:
    """Run a program until the stack is left."""
    process = stack.enter_context(
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    )
    stack.callback(process.terminate)


def configuration(folder: Path, fabric: Fabric) -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nodes = ",".join(entry.names for entry in slurm.nodes(fabric))
    return f"""ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdSpoolDir={folder}/spool
TopologyPlugin=topology/tree
SelectType=select/cons_tres
ProctrackType=proctrack/linuxproc
NodeName={nodes} NodeAddr=127.0.0.1 CPUs=1
PartitionName=all Nodes=ALL Default=YES
"""


def shown(scontrol: str, folder: Path) -> str:
    """Return the topology as the daemon has it, once it answers."""
    deadline = time.monotonic() + WAIT_S
    while True:
        done = subprocess.run(
            [scontrol, "show", "topology"],
            env={**os.environ, "SLURM_CONF": str(folder / "slurm.conf")},
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
        if done.returncode == 0:
            return done.stdout
        assert time.monotonic() < deadline, done.stderr
        time.sleep(0.2)


def test_slurmctld_sees_the_tree(fire_flyer_2: Fabric, folder: Path) -> None:
    path = programs()
    folder.chmod(0o755)  # munged refuses a socket that others cannot reach
    (folder / "state").mkdir()
    key = folder / "key"
    key.write_bytes(os.urandom(64))
    key.chmod(0o600)
    (folder / "slurm.conf").write_text(configuration(folder, fire_flyer_2))
    (folder / "topology.conf").write_text(topology_conf.files(fire_flyer_2)["topology.conf"])
    files = [f"--{name}-file={folder / name}" for name in ("key", "pid", "log", "seed")]
    with ExitStack() as stack:
        start(stack, path["munged"], "-F", "--force", f"--socket={folder}/munge.sock", *files)
        start(stack, path["slurmctld"], "-D", "-f", folder / "slurm.conf")
        found = shown(path["scontrol"], folder)
    levels = re.findall(r"^SwitchName=(\S+) Level=(\d) .*?Nodes=(\S+)", found, re.M)
    assert [level for _, level, _ in levels].count("0") == 78
    assert {name: nodes for name, level, nodes in levels if level != "0"} == {
        "a-spines": "a-cn[0001-0600]",
        "b-spines": "b-cn[0001-0600]",
        "interzone": "a-cn[0001-0600],b-cn[0001-0600]",
    }
    planned = {e.name: e.nodes for e in slurm.topology(fire_flyer_2) if e.nodes}
    assert {name: nodes for name, level, nodes in levels if level == "0"} == planned
