"""This machine as the router between the lab's networks.

It forwards between podman's bridges as it is; but podman puts the machine's own address in place
of whoever talks to another network, and Slurm answers the address it was asked from. The rule
against that works where podman's own are of iptables, as on Debian 12.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess

from tests.images.engine import EngineError

CHAIN = "POSTROUTING"


def keep_addresses(network: str, label: str) -> None:
    """Leave addresses alone in what goes from the network to itself."""
    forget(label)
    rule = ["--source", network, "--destination", network, "--jump", "ACCEPT"]
    _iptables("--insert", CHAIN, *rule, "--match", "comment", "--comment", label)


def forget(label: str) -> None:
    """Remove every rule that was made for a lab."""
    if shutil.which("iptables") is None:
        return
    for line in _iptables("--list-rules", CHAIN).splitlines():
        words = shlex.split(line)
        if label in words:
            _iptables("--delete", *words[1:])


def _iptables(*arguments: str) -> str:
    command = ["iptables", "--wait", "--table", "nat", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise EngineError("there is no iptables; install the Debian package iptables") from None
    except subprocess.CalledProcessError as error:
        raise EngineError(f"{shlex.join(command)}: {error.stderr.strip()}") from None
    return done.stdout
