"""Names of devices: they say what a thing is, and sort as they count."""

from __future__ import annotations

ZONES = "abcdefgh"


def zone_names(count: int) -> tuple[str, ...]:
    """Return the names of the first zones.

    >>> zone_names(2)
    ('a', 'b')
    """
    return tuple(ZONES[:count])


def tree_names(zones: int, planes: int) -> tuple[str, ...]:
    """Return the names of the trees of switches: the zones, or the planes of the only zone.

    >>> tree_names(1, 2)
    ('p1', 'p2')
    """
    if planes == 1:
        return zone_names(zones)
    return tuple(f"p{plane + 1}" for plane in range(planes))


def numbered(prefix: str, count: int, width: int) -> tuple[str, ...]:
    """Return `count` names, as wide as the last one needs and never narrower than `width`.

    >>> numbered("st", 3, 3)
    ('st001', 'st002', 'st003')
    """
    wide = max(width, len(str(count)))
    return tuple(f"{prefix}{number:0{wide}d}" for number in range(1, count + 1))
