"""The table of playbooks/check/allreduce.yml."""

from __future__ import annotations

from playbooks.check.filter_plugins.allreduce import allreduce_table


def test_a_rate_is_set_beside_what_binds_it() -> None:
    measured = {"nodes": 4, "ranks_per_node": 8, "bytes": 184 << 20, "gbytes_per_s": 7.5}
    known = measured | {"bound_gbytes_per_s": 9.375, "limit": "root port 5 (GPU5, GPU6)"}
    unknown = measured | {"nodes": 1, "bound_gbytes_per_s": None, "limit": None}
    assert allreduce_table([known, unknown]) == [
        "nodes ranks/node       bytes    GB/s   bound  share  binds",
        "    4          8 192,937,984    7.50    9.38    80%  root port 5 (GPU5, GPU6)",
        "    1          8 192,937,984    7.50       -      -  not known",
    ]
