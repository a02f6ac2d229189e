"""Read SL2VL and VL arbitration tables back from every switch, as smpquery does.

Run as a program on the simulated fabric it answers on standard output: `LID PORTS...` a
line in, `LID PORT KIND NUMBER HEX` a line out. One process asks 100,000 times in seconds,
where a smpquery for each would take an hour. Layouts: IBTA vol. 1, 14.2.5.8 and 14.2.5.9;
calls: libibmad's mad.h.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from collections.abc import Iterable, Iterator

from fireflyer.errors import OperatingError
from fireflyer.prove.infiniband.simulator import Simulator
from fireflyer.verify.qos import PortTables
from fireflyer.verify.routing import RoutedSubnet

SMI_CLASS, PORT_INFO, SL_TO_VL, VL_ARBITRATION = 1, 0x15, 0x17, 0x18
OPERATIONAL_VLS_BYTE = 43
"""Of PortInfo; the code is in the high half."""
LOW_BLOCK, HIGH_BLOCK = 1, 3
TIMEOUT_MS = 1000


class _DirectedRoute(ctypes.Structure):
    _fields_ = (
        ("cnt", ctypes.c_int),
        ("p", ctypes.c_uint8 * 64),
        ("drslid", ctypes.c_uint16),
        ("drdlid", ctypes.c_uint16),
    )


class _PortId(ctypes.Structure):
    _fields_ = (
        ("lid", ctypes.c_int),
        ("drpath", _DirectedRoute),
        ("grh_present", ctypes.c_int),
        ("gid", ctypes.c_uint8 * 16),
        ("qp", ctypes.c_uint32),
        ("qkey", ctypes.c_uint32),
        ("sl", ctypes.c_uint8),
        ("pkey_idx", ctypes.c_uint),
    )


def read_tables(simulator: Simulator, subnet: RoutedSubnet) -> Iterator[PortTables]:
    """Yield the tables of every cabled port of every switch."""
    lids = {}
    request = []
    for index, name in enumerate(subnet.switches):
        # A switch's LID is the one its own table delivers to port 0.
        own = (subnet.forward[index] == 0).nonzero()[0]
        cabled = (subnet.neighbour[index] >= 0) | (subnet.end_port[index] > 0)
        if len(own) and cabled.any():
            lids[int(own[0])] = name
            request.append(" ".join(map(str, [own[0], *cabled.nonzero()[0].tolist()])))
    said = simulator.run(
        sys.executable, "-m", "fireflyer.prove.infiniband.tables", stdin="\n".join(request) + "\n"
    )
    yield from _tables(said.splitlines(), lids)


def _tables(lines: Iterable[str], lids: dict[int, str]) -> Iterator[PortTables]:
    held: dict[tuple[int, int], dict[str, dict[int, bytes]]] = {}
    for line in lines:
        fields = line.split()
        where, kind, number, data = fields[:2], fields[2], fields[3], fields[4]
        table = held.setdefault(
            (int(where[0]), int(where[1])), {"sl2vl": {}, "arb": {}, "info": {}}
        )
        table[kind][int(number)] = bytes.fromhex(data)
    for (lid, port), table in held.items():
        yield PortTables(
            switch=lids[lid],
            port=port,
            sl_to_vl={number: _nibbles(data) for number, data in table["sl2vl"].items()},
            high=_entries(table["arb"].get(HIGH_BLOCK, b"")),
            low=_entries(table["arb"].get(LOW_BLOCK, b"")),
            operational_vls=table["info"][0][OPERATIONAL_VLS_BYTE] >> 4 if table["info"] else 0,
        )


def _nibbles(data: bytes) -> tuple[int, ...]:
    return tuple(part for byte in data[:8] for part in (byte >> 4, byte & 15))


def _entries(data: bytes) -> tuple[tuple[int, int], ...]:
    pairs = zip(data[::2], data[1::2], strict=True)
    return tuple((lane & 15, weight) for lane, weight in pairs if weight)


def main() -> None:
    """Answer requests from standard input, through the first adapter there is."""
    library = ctypes.CDLL(ctypes.util.find_library("ibmad") or "libibmad.so.5")
    library.mad_rpc_open_port.restype = ctypes.c_void_p
    library.smp_query_via.restype = ctypes.c_void_p
    classes = (ctypes.c_int * 1)(SMI_CLASS)
    source = ctypes.c_void_p(library.mad_rpc_open_port(None, 0, classes, 1))
    if not source:
        raise OperatingError("no InfiniBand adapter answers")
    buffer = (ctypes.c_uint8 * 64)()

    def ask(lid: int, attribute: int, modifier: int) -> str | None:
        port = _PortId(lid=lid)
        ctypes.memset(buffer, 0, 64)
        answer = library.smp_query_via(
            buffer, ctypes.byref(port), attribute, modifier, TIMEOUT_MS, source
        )
        return bytes(buffer).hex() if answer else None

    for line in sys.stdin:
        lid, *ports = map(int, line.split())
        if ask(lid, VL_ARBITRATION, LOW_BLOCK << 16 | ports[0]) is None:
            continue  # it cannot be reached: its ports would each cost seconds of silence
        for port in ports:
            questions = [("sl2vl", number, SL_TO_VL, number << 8 | port) for number in ports]
            questions.append(("info", 0, PORT_INFO, port))
            questions += [
                ("arb", block, VL_ARBITRATION, block << 16 | port)
                for block in (LOW_BLOCK, HIGH_BLOCK)
            ]
            for kind, number, attribute, modifier in questions:
                if (data := ask(lid, attribute, modifier)) is not None:
                    print(lid, port, kind, number, data)


if __name__ == "__main__":
    main()
