"""Datagrams between hosts of different leaves, without a pause, while the fabric is hurt.

Each flow is a pair of hosts and a source port, so that flows of one pair take different paths.
At every tick each flow sends one datagram with the tick's number; what does not arrive is lost.
"""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fireflyer.prove.ethernet.living import Host, Living

INTERVAL_S = 0.01
FLOWS_A_PAIR = 4
PAIRS_A_HOST = 2
FLOWS_A_PAIR_FIRST = 24
"""Of the first leaf, whose cable is hurt: enough for some of them to take that one."""
FLIGHT_S = 0.25
"""What is not there by then is lost; the longest path takes well below a millisecond."""
_PORT = 20_000
_FORMAT = struct.Struct("!II")
_BUFFER_BYTES = 1 << 24
"""Seconds of what a host receives: a machine that is busy must not look like a loss."""
_SO_RCVBUFFORCE = 33
"""Sets a buffer over the system's limit, as root (socket(7)); Python has no name for it."""
_MOST_TICKS = 60_000
"""Ten minutes."""


@dataclass(frozen=True, slots=True)
class Flow:
    """One sender, one receiver."""

    source: str
    """Leaf of the sender."""
    target: str
    open: bool
    """Whether the fabric should carry it; else it must not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What was lost between two moments, of the flows that should arrive."""

    sent: int
    lost: int
    flows: int
    """Flows that lost something."""
    outage_s: float
    """The longest time in which one flow had nothing through."""


@dataclass
class Traffic:
    """Flows under way."""

    flows: tuple[Flow, ...]
    senders: list[socket.socket]
    receivers: list[socket.socket]
    sent_at: NDArray[np.float64] = field(default_factory=lambda: np.zeros(_MOST_TICKS))
    ticks: int = 0
    _ended: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        """Make room for what arrives."""
        self.arrived: NDArray[np.bool_] = np.zeros((_MOST_TICKS, len(self.flows)), np.bool_)

    def run(self) -> None:
        """Send and receive until told to end."""
        poll = select.epoll()
        by_descriptor = {one.fileno(): one for one in self.receivers}
        for descriptor in by_descriptor:
            poll.register(descriptor, select.EPOLLIN)
        due = time.monotonic()
        while not self._ended.is_set() and self.ticks < _MOST_TICKS:
            self.sent_at[self.ticks] = time.monotonic()
            for number, sender in enumerate(self.senders):
                # A host whose leaf has no way answers with an error; that is a loss like others.
                with _refused():
                    sender.send(_FORMAT.pack(number, self.ticks))
            self.ticks += 1
            due = max(due + INTERVAL_S, time.monotonic())
            while True:  # at least once, also where the next tick is due already
                left = due - time.monotonic()
                for descriptor, _ in poll.poll(max(0.0, left)):
                    self._receive(by_descriptor[descriptor])
                if left <= 0:
                    break
        poll.close()

    def catch_up(self) -> None:
        """Wait until everything that has arrived by now was received."""
        wanted = min(self.ticks + 2, _MOST_TICKS)
        while self.ticks < wanted and not self._ended.is_set():
            time.sleep(INTERVAL_S)

    def end(self) -> None:
        self._ended.set()

    def loss(self, start_s: float, end_s: float) -> Loss:
        """Return what was lost of that sent between two moments of the monotonic clock."""
        moments = self.sent_at[: self.ticks]
        first, last = (int(n) for n in np.searchsorted(moments, (start_s, end_s)))
        carried = [number for number, flow in enumerate(self.flows) if flow.open]
        lost = np.logical_not(self.arrived[first:last][:, carried])
        hit = np.flatnonzero(lost.any(axis=0))
        span = moments[first : last + 1]
        return Loss(
            sent=lost.size,
            lost=int(lost.sum()),
            flows=len(hit),
            outage_s=max((_longest(lost[:, flow], span) for flow in hit), default=0.0),
        )

    def strays(self) -> tuple[Flow, ...]:
        """Return the flows that arrived though the fabric must not carry them."""
        seen = set(np.flatnonzero(self.arrived.any(axis=0)))
        return tuple(f for n, f in enumerate(self.flows) if not f.open and n in seen)

    def _receive(self, receiver: socket.socket) -> None:
        while True:
            try:
                data = receiver.recv(64)
            except BlockingIOError:
                return
            if len(data) == _FORMAT.size:
                flow, tick = _FORMAT.unpack(data)
                self.arrived[tick, flow] = True


@contextmanager
def traffic(living: Living) -> Iterator[Traffic]:
    """Have hosts send to one another while the block runs."""
    flows = tuple(_flows(living))
    with ExitStack() as stack:
        receivers: dict[str, socket.socket] = {}
        for leaf, host in living.hosts.items():
            receivers[leaf] = stack.enter_context(_socket(living, host))
            receivers[leaf].bind((str(host.port.address), _PORT))
        senders = []
        for number, flow in enumerate(flows):
            sender = stack.enter_context(_socket(living, living.hosts[flow.source]))
            sender.bind((str(living.hosts[flow.source].port.address), _PORT + 1 + number))
            with _refused():
                sender.connect((str(living.hosts[flow.target].port.address), _PORT))
            senders.append(sender)
        found = Traffic(flows, senders, list(receivers.values()))
        thread = threading.Thread(target=found.run, name="traffic", daemon=True)
        thread.start()
        try:
            yield found
        finally:
            found.end()
            thread.join()


def _flows(living: Living) -> Iterator[Flow]:
    """Yield flows from each host to others, near and far, and to one that it must not reach."""
    leaves = tuple(living.hosts)
    reach = reachable(living)
    for number, leaf in enumerate(leaves):
        others = [*leaves[number + 1 :], *leaves[:number]]
        near = [other for other in others if other in reach[leaf]]
        for target in _spread(near, PAIRS_A_HOST):
            for _ in range(FLOWS_A_PAIR if number else FLOWS_A_PAIR_FIRST):
                yield Flow(leaf, target, open=True)
        for target in _spread([o for o in others if o not in reach[leaf]], 1):
            yield Flow(leaf, target, open=False)


def reachable(living: Living) -> dict[str, frozenset[str]]:
    """Return the leaves with hosts that each leaf with a host should reach."""
    routes, hosts = living.plan.routes(), living.hosts
    networks = {str(host.port.network): leaf for leaf, host in hosts.items()}
    return {leaf: frozenset(networks[p] for p in routes[leaf] if p in networks) for leaf in hosts}


def _spread(names: Sequence[str], count: int) -> list[str]:
    """Return up to `count` names from all over a list, the first included."""
    return list(names[:: max(1, -(-len(names) // count))]) if names else []


def _socket(living: Living, host: Host) -> socket.socket:
    with living.box.inside(host.namespace):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
    return made


@contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except OSError:
        return


def _longest(lost: NDArray[np.bool_], moments: NDArray[np.float64]) -> float:
    """Return the longest time from a lost datagram to the next that came through."""
    longest, since = 0.0, None
    for index, gone in enumerate(lost):
        if gone and since is None:
            since = moments[index]
        elif not gone and since is not None:
            longest, since = max(longest, moments[index] - since), None
    if since is not None:
        longest = max(longest, moments[-1] - since)
    return float(longest)
