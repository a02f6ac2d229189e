"""What a rank is told: by its launcher's environment, and by the node's configuration file.

The environment is torchrun's: `RANK`, `WORLD_SIZE`, `LOCAL_RANK`, `LOCAL_WORLD_SIZE`,
`MASTER_ADDR`, `MASTER_PORT`. The file is `/etc/hfreduce/node.json` or what `HFREDUCE_CONFIG`
names; without one, defaults hold.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hfreduce import channels
from hfreduce.errors import HFReduceError
from hfreduce.node_profile import NodeProfile, ProfileError, profile_from

CONFIG = Path("/etc/hfreduce/node.json")
PORT_OFFSET = 5
"""From MASTER_PORT, as in the published benchmark: the port itself is torch's."""
ADAPTERS = Path("/sys/class/infiniband")
"""Where the kernel lists RDMA adapters."""
MOST_CHUNK_BYTES = 64 << 20
_KEYS = {
    "net_devices", "numa_node", "service_level", "traffic_class", "zone", "position",
    "timeout_s", "silence_s", "threads", "chunk_bytes", "depth", "profile",
    "nvlink_pairs", "interface", "network_threads",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """What holds for a node, whatever runs there."""

    net_devices: tuple[str, ...] = ()
    """UCX's names, such as `mlx5_0:1`; none lets UCX choose."""
    interface: str = ""
    """Network interface whose address other nodes are given; empty chooses by the route to them."""
    numa_node: int = -1
    """Of the adapter; results and what the network receives lie there."""
    service_level: int | None = None
    traffic_class: int | None = None
    zone: str = ""
    position: int = 0
    """Where the node stands among its zone's, in the order of the trees."""
    timeout_s: float = 300.0
    """That an operation, or the rendezvous, may take."""
    silence_s: float = 30.0
    """After which a rank that is not heard is given up."""
    threads: int = 1
    """That add, of each rank."""
    chunk_bytes: int = 512 << 10
    depth: int = channels.LEAST_DEPTH
    """Chunks under way; a multiple of 2 x network_threads."""
    network_threads: int = 1
    """Channels to other nodes: pairs of threads, of which one adds and sends up the trees."""
    adapter_domains: tuple[int, ...] = ()
    """NUMA domains of the adapters by the node's profile, in the order of `net_devices`."""
    gdrcopy: bool = True
    """Whether a GPU's small tensors go by GDRCopy, where it is installed."""
    nvlink_pairs: tuple[tuple[int, int], ...] = ()
    """Local ranks whose GPUs are bridged; they reduce over the bridge first."""

    def partners(self, local_size: int) -> list[int]:
        """Return each local rank's partner; none at all unless every one has one."""
        partner = {one: other for pair in self.nvlink_pairs for one, other in (pair, pair[::-1])}
        found = [partner.get(local, -1) for local in range(local_size)]
        return found if all(0 <= other < local_size for other in found) else []


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """Who a rank is, and where it finds the others."""

    rank: int
    world_size: int
    local_rank: int
    local_size: int
    host: str
    port: int
    secret: bytes

    @property
    def first_rank(self) -> int:
        """The first rank of this node."""
        return self.rank - self.local_rank

    @property
    def networked(self) -> bool:
        """Whether there are other nodes."""
        return self.local_size < self.world_size

    def checked(self) -> JobSettings:
        """Return the same.

        Raises:
            HFReduceError: they contradict each other.
        """
        if not 0 <= self.rank < self.world_size:
            raise HFReduceError(f"RANK is {self.rank}, WORLD_SIZE {self.world_size}")
        if not 0 <= self.local_rank < self.local_size:
            raise HFReduceError(
                f"LOCAL_RANK is {self.local_rank}, LOCAL_WORLD_SIZE {self.local_size}"
            )
        if self.first_rank < 0 or self.first_rank + self.local_size > self.world_size:
            raise HFReduceError(
                f"the ranks {self.first_rank} to {self.first_rank + self.local_size - 1} of this"
                f" node do not lie in 0 to {self.world_size - 1}"
            )
        if self.networked and len(self.secret) < 16:
            raise HFReduceError(
                "a job of several nodes needs a secret of at least 16 bytes that its ranks"
                " share; set HFREDUCE_SECRET_FILE or HFREDUCE_SECRET"
            )
        return self


def job_settings(environment: Mapping[str, str] | None = None) -> JobSettings:
    """Read what the launcher set.

    Raises:
        HFReduceError: something is missing or is no number.
    """
    said = os.environ if environment is None else environment
    rank, world_size = _number(said, "RANK"), _number(said, "WORLD_SIZE")
    return JobSettings(
        rank=rank,
        world_size=world_size,
        local_rank=_number(said, "LOCAL_RANK", rank),
        local_size=_number(said, "LOCAL_WORLD_SIZE", world_size),
        host=said.get("MASTER_ADDR", "127.0.0.1"),
        port=_number(said, "MASTER_PORT", 29500) + PORT_OFFSET,
        secret=job_secret(said),
    ).checked()


def _number(said: Mapping[str, str], key: str, default: int | None = None) -> int:
    text = said.get(key)
    if text is None:
        if default is None:
            raise HFReduceError(f"{key} is not set; start with torchrun or hfreduce.launch")
        return default
    try:
        return int(text)
    except ValueError:
        raise HFReduceError(f"{key} is {text!r}, not a number") from None


def job_secret(said: Mapping[str, str]) -> bytes:
    """Return the secret that an environment names, empty where there is none.

    Raises:
        HFReduceError: the file cannot be read.
    """
    if file := said.get("HFREDUCE_SECRET_FILE"):
        try:
            return Path(file).read_bytes().strip()
        except OSError as error:
            raise HFReduceError(f"HFREDUCE_SECRET_FILE {file}: {error.strerror}") from None
    return said.get("HFREDUCE_SECRET", "").encode()


def node_settings(path: Path | None = None) -> NodeSettings:
    """Read the node's file; what the environment says in `HFREDUCE_<KEY>` goes before it.

    Raises:
        HFReduceError: the file is named and missing, or a key is unknown or of a wrong kind.
    """
    file, said = _file(path)
    values = {key: value for key, value in said.items() if value is not None}
    values.pop("profile", None)
    values = {**_of_profile(said, file), **values}
    if "net_devices" in values:
        values["net_devices"] = tuple(values["net_devices"])
    try:
        values["nvlink_pairs"] = tuple(map(tuple, values["nvlink_pairs"]))
        found = _with_channels(replace(NodeSettings(), **values), frozenset(values))
        found = _checked(found, str(file))
    except TypeError as error:
        raise HFReduceError(f"{file}: a value is of a wrong kind: {error}") from None
    return _overridden(found, frozenset(values))


def node_profile(path: Path | None = None) -> NodeProfile | None:
    """Return what the node's file says of the node's hardware, None where it says nothing.

    Raises:
        HFReduceError: as node_settings().
        ProfileError: the profile is not one.
    """
    said = _file(path)[1].get("profile")
    return profile_from(said) if said else None


def _of_profile(said: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Return the settings that follow from the node's hardware: rank i of a node has GPU i."""
    if not said.get("profile"):
        return {"nvlink_pairs": ()}  # the one key that is always there
    try:
        profile = profile_from(said["profile"])
    except ProfileError as error:
        raise HFReduceError(f"{file}: {error}") from None
    pairs = profile.nvlink_pairs if profile.nvlink_reduction else ()
    return {
        "gdrcopy": profile.gdrcopy,
        "nvlink_pairs": pairs,
        "adapter_domains": tuple(nic.numa for nic in profile.nics),
    }


def _file(path: Path | None) -> tuple[Path, dict[str, Any]]:
    named = path or (Path(text) if (text := os.environ.get("HFREDUCE_CONFIG")) else None)
    file = named or CONFIG
    if not named and not file.exists():
        return file, {}
    try:
        said: dict[str, Any] = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise HFReduceError(f"{file} cannot be read: {error}") from None
    if not isinstance(said, dict):
        raise HFReduceError(f"{file} holds no object")
    if unknown := sorted(set(said) - _KEYS):
        raise HFReduceError(
            f"{file}: unknown key {unknown[0]}; there are {', '.join(sorted(_KEYS))}"
        )
    return file, said


def _with_channels(settings: NodeSettings, given: frozenset[str]) -> NodeSettings:
    """Return the settings with what nobody gave of `network_threads` and `depth`."""
    adapters = len(settings.net_devices) or len(settings.adapter_domains)
    threads, depth = settings.network_threads, settings.depth
    if "network_threads" not in given:
        threads = channels.default_channels(adapters, depth if "depth" in given else None)
    if "depth" not in given and 1 <= threads <= channels.MOST_CHANNELS:
        depth = channels.default_depth(threads)
    return replace(settings, network_threads=threads, depth=depth)


def _overridden(settings: NodeSettings, given: frozenset[str]) -> NodeSettings:
    numbers = {"threads": int, "chunk_bytes": int, "depth": int, "timeout_s": float,
               "silence_s": float, "position": int, "numa_node": int,
               "network_threads": int}  # fmt: skip
    changed: dict[str, Any] = {}
    for key, kind in numbers.items():
        if text := os.environ.get(f"HFREDUCE_{key.upper()}"):
            try:
                changed[key] = kind(text)
            except ValueError:
                raise HFReduceError(f"HFREDUCE_{key.upper()} is {text!r}, not a number") from None
    for key in ("zone", "interface"):
        if text := os.environ.get(f"HFREDUCE_{key.upper()}"):
            changed[key] = text
    if (pairs := os.environ.get("HFREDUCE_NVLINK_PAIRS")) is not None:
        try:
            changed["nvlink_pairs"] = tuple(tuple(pair) for pair in json.loads(pairs or "[]"))
        except (TypeError, ValueError):
            raise HFReduceError(
                f"HFREDUCE_NVLINK_PAIRS is {pairs!r}; write [[0, 1], [2, 3]]"
            ) from None
    settings = _with_channels(replace(settings, **changed), given | frozenset(changed))
    return _checked(settings, "the environment")


def _checked(settings: NodeSettings, where: str) -> NodeSettings:
    if not 1 <= settings.network_threads <= channels.MOST_CHANNELS:
        raise HFReduceError(
            f"{where}: network_threads is {settings.network_threads}; it is 1 to"
            f" {channels.MOST_CHANNELS}"
        )
    if settings.network_threads > 1 and settings.depth % channels.lanes(settings.network_threads):
        raise HFReduceError(
            f"{where}: depth is {settings.depth}; with network_threads"
            f" {settings.network_threads} it is a multiple of"
            f" {channels.lanes(settings.network_threads)}, or leave it out"
        )
    if settings.depth < 2 or settings.depth % 2 or settings.depth > 64:
        raise HFReduceError(f"{where}: depth is {settings.depth}; it is even, from 2 to 64")
    if not 4096 <= settings.chunk_bytes <= MOST_CHUNK_BYTES or settings.chunk_bytes % 4096:
        raise HFReduceError(
            f"{where}: chunk_bytes is {settings.chunk_bytes}; it is a multiple of 4096, up to"
            f" {MOST_CHUNK_BYTES}"
        )
    if not 1 <= settings.threads <= 64:
        raise HFReduceError(f"{where}: threads is {settings.threads}; it is 1 to 64")
    if settings.position < 0 or not isinstance(settings.zone, str):
        raise HFReduceError(
            f"{where}: zone is {settings.zone!r} and position {settings.position!r}; they are a"
            " text, and 0 or more"
        )
    paired = [rank for pair in settings.nvlink_pairs for rank in pair]
    if (
        any(len(pair) != 2 for pair in settings.nvlink_pairs)
        or len(set(paired)) < len(paired)
        or (any(type(rank) is not int or rank < 0 for rank in paired))
    ):
        raise HFReduceError(
            f"{where}: nvlink_pairs is {[list(pair) for pair in settings.nvlink_pairs]}; a pair"
            " has two local ranks, and a rank is in one pair at most"
        )
    if settings.timeout_s <= 0 or settings.silence_s <= 0:
        raise HFReduceError(f"{where}: timeout_s and silence_s are more than 0")
    return settings


def tell_ucx(
    settings: NodeSettings, environment: MutableMapping[str, str], adapters: Path = ADAPTERS
) -> None:
    """Set UCX's variables for the adapter and its traffic class, unless they are set.

    Without an RDMA adapter messages go by TCP, where asking the receiver first (UCX's rendezvous)
    saves no copy and costs a round trip a chunk: it is turned off.
    """
    if not adapters.is_dir() or not any(adapters.iterdir()):
        environment.setdefault("UCX_RNDV_THRESH", "inf")
    if settings.net_devices:
        environment.setdefault("UCX_NET_DEVICES", ",".join(settings.net_devices))
    if settings.service_level is not None:
        environment.setdefault("UCX_IB_SL", str(settings.service_level))
    if settings.traffic_class is not None:
        environment.setdefault("UCX_IB_TRAFFIC_CLASS", str(settings.traffic_class))
