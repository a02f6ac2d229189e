"""How a node's network threads are shared out over its adapters and NUMA domains.

A channel is a pair of threads, one that adds and sends up the trees and one that sends results
down, with UCX workers of their own. Channel c of a node talks to channel c of its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

MOST_CHANNELS = 16
"""As kMaxChannels of cpp/segment.h."""
LEAST_DEPTH = 8
SYSFS = Path("/sys/class")


def lanes(channels: int) -> int:
    """Return what `depth` is a multiple of: each channel has a lane in each of the two trees."""
    return 2 * channels


def default_channels(adapters: int, depth: int | None) -> int:
    """Return one channel an adapter; fewer if a given depth cannot be shared out over those.

    >>> [default_channels(*each) for each in ((0, None), (1, 8), (8, None), (8, 8), (3, 8))]
    [1, 1, 8, 4, 2]
    """
    most = min(max(1, adapters), MOST_CHANNELS)
    if depth is None:
        return most
    return next((each for each in range(most, 0, -1) if depth % lanes(each) == 0), 1)


def default_depth(channels: int) -> int:
    """Return two slots a lane, and 8 at least.

    >>> [default_depth(channels) for channels in (1, 2, 3, 16)]
    [8, 8, 12, 64]
    """
    return max(LEAST_DEPTH, 2 * lanes(channels))


def devices(net_devices: Sequence[str], channels: int, environment: Mapping[str, str]) -> list[str]:
    """Return each channel's adapters, as UCX takes them; "" leaves the choice to UCX.

    Channels take the adapters in turn, and adapters the channels if there are more of them. What
    the user set in UCX_NET_DEVICES stands for every channel.

    >>> devices(["a", "b"], 4, {}), devices(["a", "b", "c"], 2, {}), devices(["a"], 2, {})
    (['a', 'b', 'a', 'b'], ['a,c', 'b'], ['', ''])
    """
    joined = ",".join(net_devices)
    theirs = environment.get("UCX_NET_DEVICES", joined) != joined
    if theirs or channels == 1 or len(net_devices) < 2:
        return [""] * channels
    return [
        ",".join(net_devices[channel % len(net_devices) :: channels]) for channel in range(channels)
    ]


def domains(
    net_devices: Sequence[str],
    profile_domains: Sequence[int],
    numa_node: int,
    channels: int,
    sysfs: Path = SYSFS,
) -> list[int]:
    """Return each channel's NUMA domain, -1 where none is known.

    Args:
        net_devices: the adapters, as UCX names them.
        profile_domains: the adapters' domains by the node's profile.
        numa_node: as the node's settings give it; it stands for the only adapter, and for those
            of which the kernel and the profile say nothing.
        channels: how many there are.
        sysfs: where the kernel says it of a device.
    """
    known = [_kernel_domain(device, sysfs) for device in net_devices] or [-1] * len(profile_domains)
    for index, domain in enumerate(profile_domains[: len(known)]):
        known[index] = domain if known[index] < 0 else known[index]
    if len(known) < 2 and numa_node >= 0:
        known = [numa_node]
    known = [numa_node if domain < 0 else domain for domain in known] or [numa_node]
    return [known[channel % len(known)] for channel in range(channels)]


def _kernel_domain(device: str, sysfs: Path) -> int:
    name = device.partition(":")[0]
    for kind in ("infiniband", "net"):
        try:
            return int((sysfs / kind / name / "device" / "numa_node").read_text())
        except (OSError, ValueError):
            continue
    return -1
