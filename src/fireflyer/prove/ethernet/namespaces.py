"""A box of network namespaces: one a device, a pair of virtual interfaces a cable.

The box is a mount, process and network namespace of its own. The namespaces of devices, what
runs in them and the files that daemons put below /run are seen nowhere else; when the box ends,
or whoever made it, the kernel ends all of it, however that came about.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fireflyer.errors import OperatingError
from fireflyer.processes import die_with_parent
from fireflyer.prove.programs import program, run

_CLONE_NEWNET = 0x40000000
_TIMEOUT_S = 300
_LIBC = ctypes.CDLL(None, use_errno=True)
_UNSHARE = ("--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
# /run is the box's own: namespaces' names, lldpd's and FRR's folders. `cat` ends with its input,
# which ends with the process that holds the other end.
_FIRST = """
mount -t tmpfs -o mode=755 box /run && mkdir -p /run/netns /run/frr /run/lldpd || exit 1
chown frr:frr /run/frr || exit 1
if [ -d /var/tmp/frr ]; then mount -t tmpfs box /var/tmp/frr || exit 1; chown frr /var/tmp/frr; fi
echo ready
exec cat >/dev/null
"""


@dataclass(frozen=True, slots=True)
class Box:
    """A running box."""

    pid: int
    """Its first process, as seen from outside."""

    def outside(self, path: Path) -> Path:
        """Return where a file of the box is found from outside."""
        return Path(f"/proc/{self.pid}/root") / path.relative_to("/")

    def run(self, *command: str, stdin: str = "") -> str:
        """Run a program in the box and return what it printed.

        Raises:
            OperatingError: it failed or ran out of time.
        """
        enter = ("nsenter", "-t", str(self.pid), "-m", "-n", "-p", "--")
        return run(*enter, *command, name=command[0], stdin=stdin, timeout_s=_TIMEOUT_S).stdout

    def each(self, commands: Iterable[str]) -> None:
        """Give commands to ip(8) one by one, such as `-n a-leaf01 link set Ethernet0 up`."""
        self.run("sh", "-e", stdin="".join(f"ip {command}\n" for command in commands))

    def batch(self, commands: Iterable[str]) -> None:
        """Run commands of ip(8) that name their namespaces themselves, all in one go."""
        self.run("ip", "-batch", "-", stdin="".join(f"{command}\n" for command in commands))

    @contextmanager
    def inside(self, namespace: str) -> Iterator[None]:
        """Have this thread see a namespace's network: its sockets stay there, it comes back."""
        there = os.open(self.outside(Path("/run/netns", namespace)), os.O_RDONLY)
        here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            _set_namespace(there)
            try:
                yield
            finally:
                _set_namespace(here)
        finally:
            os.close(there)
            os.close(here)

    def sysctl(self, namespace: str, values: Iterable[tuple[str, int]]) -> None:
        """Set network values (sysctl(8)) of a namespace, by path below net/."""
        with self.inside(namespace):
            for path, value in values:
                Path("/proc/sys/net", path).write_text(str(value))


@contextmanager
def box() -> Iterator[Box]:
    """Make a box; it ends with the block.

    Raises:
        OperatingError: the kernel does not let us.
    """
    process = subprocess.Popen(  # noqa: S603 - our own program
        [program("unshare"), *_UNSHARE, "--propagation", "private", "sh", "-c", _FIRST],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=die_with_parent,
    )
    assert process.stdout is not None
    try:
        if process.stdout.readline().strip() != b"ready":
            process.kill()
            said = process.communicate()[1].decode(errors="replace").strip() or "no reason given"
            raise OperatingError(f"no box of namespaces can be made here: {said}")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        yield Box(pid=int(children.split()[0]))
    finally:
        process.kill()  # --kill-child: the box's first process, and with it all others
        process.communicate()


def _set_namespace(descriptor: int) -> None:
    if _LIBC.setns(descriptor, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, f"setns: {os.strerror(number)}")
