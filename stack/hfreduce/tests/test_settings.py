"""What a node's file says, what goes before it, and what UCX is told of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hfreduce import HFReduceError
from hfreduce.settings import NodeSettings, node_settings, tell_ucx


def test_ucx_is_told_of_the_adapter(tmp_path: Path) -> None:
    (tmp_path / "mlx5_0").mkdir()
    told: dict[str, str] = {"UCX_IB_SL": "7"}
    tell_ucx(NodeSettings(net_devices=("mlx5_0:1",), service_level=3), told, tmp_path)
    assert told == {"UCX_NET_DEVICES": "mlx5_0:1", "UCX_IB_SL": "7"}


def test_over_tcp_no_message_is_asked_for_first(tmp_path: Path) -> None:
    for adapters in (tmp_path, tmp_path / "absent"):
        told: dict[str, str] = {}
        tell_ucx(NodeSettings(), told, adapters)
        assert told == {"UCX_RNDV_THRESH": "inf"}
    told = {"UCX_RNDV_THRESH": "64k"}
    tell_ucx(NodeSettings(), told, tmp_path)
    assert told == {"UCX_RNDV_THRESH": "64k"}


def _file(folder: Path, **said: Any) -> Path:
    file = folder / "node.json"
    file.write_text(json.dumps(said))
    return file


def test_a_node_is_told_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = _file(tmp_path, zone="b", position=12, net_devices=["mlx5_0:1"], threads=None)
    wanted = NodeSettings(zone="b", position=12, net_devices=("mlx5_0:1",))
    assert node_settings(file) == wanted
    monkeypatch.setenv("HFREDUCE_POSITION", "3")
    monkeypatch.setenv("HFREDUCE_ZONE", "a")
    assert (node_settings(file).zone, node_settings(file).position) == ("a", 3)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"zone": 3}, "zone is 3 and position 0; they are a text, and 0 or more"),
        ({"position": -1}, "zone is '' and position -1; they are a text, and 0 or more"),
        ({"position": "first"}, "a value is of a wrong kind"),
        ({"tree_order": []}, "unknown key tree_order"),
        ({"depth": 3}, "depth is 3; it is even, from 2 to 64"),
    ],
)
def test_what_is_wrong_is_refused(tmp_path: Path, said: dict[str, Any], message: str) -> None:
    with pytest.raises(HFReduceError, match=message):
        node_settings(_file(tmp_path, **said))
