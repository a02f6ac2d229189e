"""The address at which a rank can be reached by other nodes: never loopback."""

from __future__ import annotations

import fcntl
import ipaddress
import socket
import struct
from collections.abc import Iterable

from hfreduce.errors import HFReduceError

DEFAULT_ROUTE = "192.0.2.1"
"""Of TEST-NET-1 (RFC 5737): no host has it, so the way there is the default route."""
_SIOCGIFADDR = 0x8915


def own_address(interface: str, peers: Iterable[str]) -> str:
    """Return this node's IPv4 address, empty if it has none but loopback.

    Args:
        interface: whose address it is; empty chooses the one by which the peers are reached.
        peers: addresses or names, the best first.

    Raises:
        HFReduceError: the interface does not exist or has no IPv4 address.
    """
    if interface:
        return _of_interface(interface)
    return next(filter(None, map(_route_to, [*peers, DEFAULT_ROUTE])), "")


def listening_address(host: str, interface: str) -> str:
    """Return where rank 0 listens: at `host`, or at every address if its name is loopback here.

    Debian writes a host's own name with 127.0.1.1 into /etc/hosts, which other nodes never see.

    Raises:
        HFReduceError: as own_address().
    """
    if _is_literal(host) or not is_loopback(host):
        return host
    return _of_interface(interface) if interface else ""


def is_loopback(host: str) -> bool:
    """Whether a name or an address stands for this machine only."""
    try:
        return ipaddress.ip_address(socket.gethostbyname(host)).is_loopback
    except OSError:
        return False


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _route_to(peer: str) -> str:
    """Return the source address of packets to a peer; no packet is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((peer, 1))
        except OSError:
            return ""
        found = str(probe.getsockname()[0])
    return "" if ipaddress.ip_address(found).is_loopback else found


def _of_interface(name: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            reply = fcntl.ioctl(asked, _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
        except OSError as error:
            known = ", ".join(each for _, each in socket.if_nameindex())
            raise HFReduceError(
                f"interface {name} has no IPv4 address ({error.strerror}); this node has {known}:"
                " set HFREDUCE_INTERFACE, or `interface` in node.json, to one of them"
            ) from None
    return socket.inet_ntoa(reply[20:24])
