"""What UCX is told."""

from __future__ import annotations

from pathlib import Path

from hfreduce.settings import NodeSettings, tell_ucx


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
