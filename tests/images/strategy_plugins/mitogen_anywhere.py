"""Mitogen's linear strategy, its processes on whatever processor is free.

Mitogen binds each of its processes to one processor. Of two, what stems from the second's has only
that one: every host that a scenario creates and all that runs there.
"""

from __future__ import annotations

import ansible_mitogen.affinity
from ansible_mitogen.plugins.strategy import mitogen_linear

DOCUMENTATION = """
name: mitogen_anywhere
short_description: Mitogen's linear strategy without its choice of processors
description: As mitogen_linear, but leaves it to the kernel which processor a process runs on.
"""
ansible_mitogen.affinity.policy = ansible_mitogen.affinity.Policy()


class StrategyModule(mitogen_linear.StrategyModule):  # type: ignore[misc] # it has no types
    """Ansible's linear strategy, its modules by Mitogen."""
