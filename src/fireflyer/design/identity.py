"""GUIDs: the real ones of the asset list, else placeholders that say so.

A placeholder has the first byte 02, the locally administered bit of EUI-64, and encodes
the device, so it is the same on every run and no vendor's adapter has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from fireflyer.errors import Problem
from fireflyer.load.assets import Asset, Assets
from fireflyer.model.fabric import Guid, Layer, Role

_KINDS: Mapping[Layer | Role, int] = {
    Layer.LEAF: 1,
    Layer.SPINE: 2,
    Layer.CORE: 3,
    Layer.INTERZONE: 4,
    Role.COMPUTE: 5,
    Role.STORAGE: 6,
    Role.MANAGEMENT: 7,
}


def placeholder(kind: Layer | Role, zone: int, index: int, port: int) -> Guid:
    """Return the placeholder of a device's adapter; a switch has port 0.

    The last hexadecimal digit is 1 at an adapter, so that the node GUID, one below it as
    ibsim has it, is another number.
    """
    last = 1 if port else 0
    value = 0x02 << 56 | _KINDS[kind] << 48 | zone << 40 | port << 36 | index << 4 | last
    return Guid(value, placeholder=True)


def guid(asset: Asset | None, otherwise: Guid) -> Guid:
    """Return the asset's GUID if it is known."""
    if asset is None or asset.guid is None:
        return otherwise
    return Guid(asset.guid, placeholder=False)


def asset_of(assets: Assets, device: str, hca: str = "", first: bool = True) -> Asset | None:
    """Return the row of a device, or of one of its adapters."""
    if hca and (row := assets.rows.get(f"{device}:{hca}")) is not None:
        return row
    return assets.rows.get(device) if first else None


def asset_problems(
    assets: Assets, known: Iterable[str], first_adapters: Collection[str]
) -> list[Problem]:
    """Return the rows that name no device of the site, or say a first adapter's GUID again."""
    names = set(known)
    problems = [
        assets.problem(
            asset,
            "name",
            f"the row {name.partition(':')[0]} gives a GUID for the first adapter too",
            "keep one of the two",
        )
        for name, asset in assets.rows.items()
        if name in first_adapters and asset.guid is not None and _has_guid(assets, name)
    ]
    return problems + [
        assets.problem(
            asset, "name", "is no device of this site", "correct the name or remove the row"
        )
        for name, asset in assets.rows.items()
        if name not in names
    ]


def _has_guid(assets: Assets, adapter: str) -> bool:
    row = assets.rows.get(adapter.partition(":")[0])
    return row is not None and row.guid is not None


def guid_problems(assets: Assets, guids: Iterable[tuple[str, Guid]]) -> list[Problem]:
    """Return the rows whose GUID another device of the fabric has, placeholders included."""
    problems: list[Problem] = []
    owner: dict[int, str] = {}
    for name, found in sorted(guids, key=lambda pair: not pair[1].placeholder):
        first = owner.setdefault(found.value, name)
        row = assets.rows.get(name) or assets.rows.get(name.partition(":")[0])
        if first != name and row is not None:
            limit = f"its GUID {found} is that of {first}"
            problems.append(assets.problem(row, "guid", limit, "correct one of them"))
    return problems
