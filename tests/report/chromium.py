"""A headless Chromium, driven over its DevTools protocol on two pipes: no port is opened."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BINARY = shutil.which("chromium") or shutil.which("chromium-browser")
_FROM_US, _TO_US = 3, 4
"""Descriptors that `--remote-debugging-pipe` reads and writes."""
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-first-run",
    "--no-default-browser-check",
    "--remote-debugging-pipe",
)


class PageError(AssertionError):
    """A page threw, or Chromium refused a command."""


class Page:
    """One tab."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive = send, receive
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self._loaded = False
        self.errors: list[str] = []
        """What the page threw or wrote to its console as an error."""
        self.requests: list[str] = []
        """Addresses it asked for."""
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        attached = self.command("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.command(f"{domain}.enable")

    def command(self, method: str, **parameters: object) -> dict[str, Any]:
        """Send a command and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._send, data) :]
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise PageError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def open(self, file: Path, fragment: str = "") -> None:
        """Load a file and wait until it says that it is ready."""
        self.errors.clear()
        self.requests.clear()
        for url in ("about:blank", f"{file.resolve().as_uri()}#{fragment}"):
            self._loaded = False
            self.command("Page.navigate", url=url)
            while not self._loaded:
                self._note(self._read())
        if not self.run("document.documentElement.dataset.ready === 'true'"):
            raise PageError(f"{file} never became ready: {'; '.join(self.errors)}")

    def run(self, script: str) -> Any:
        """Evaluate JavaScript in the page; a promise is awaited."""
        found = self.command(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise PageError(details.get("exception", {}).get("description", details["text"]))
        return found["result"].get("value")

    def size(self, width: int, height: int, *, dark: bool = False) -> None:
        """Set the window's size in CSS pixels, and what the reader prefers."""
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])

    def press(self, key: str) -> None:
        """Press a key that writes no text, such as Enter."""
        codes = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38}
        codes |= {"ArrowRight": 39, "ArrowDown": 40, "End": 35}
        for kind in ("keyDown", "keyUp"):
            self.command(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=codes[key],
            )

    def write(self, text: str) -> None:
        """Type text into what has the focus."""
        self.command("Input.insertText", text=text)

    def point(self, x: float, y: float, *, click: bool = False) -> None:
        """Move the pointer to a place of the window, and click there."""
        self.command("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased") if click else ():
            self.command(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
            )
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def picture(self, file: Path) -> None:
        """Write a screenshot of the window."""
        shot = self.command("Page.captureScreenshot", format="png")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(shot["data"]))

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            data = os.read(self._receive, 1 << 20)
            if not data:
                raise PageError("Chromium ended")
            self._rest += data
        first, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        return message

    def _note(self, event: dict[str, Any]) -> None:
        method, about = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning"):
            self.errors.append(" ".join(str(arg.get("value")) for arg in about["args"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.errors.append(about["entry"]["text"])
        elif method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            url = about["request"]["url"]
            if not url.startswith("data:"):
                self.requests.append(url)


@contextmanager
def chromium() -> Iterator[Page]:
    """Run Chromium while the block runs."""
    assert BINARY is not None, "chromium is not installed"
    ours_in, theirs_out = os.pipe()
    theirs_in, ours_out = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        child = os.posix_spawn(
            BINARY,
            [BINARY, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"],
            dict(os.environ, HOME=profile),
            setsid=True,
            file_actions=_descriptors(theirs_in, theirs_out),
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Page(ours_out, ours_in)
        finally:
            os.close(ours_out)
            os.killpg(child, signal.SIGTERM)
            os.waitpid(child, 0)
            os.close(ours_in)


def _descriptors(reads: int, writes: int) -> list[tuple[Any, ...]]:
    """Return what gives the child its pipes; they go through numbers that nothing else has."""
    high = 200
    return [
        (os.POSIX_SPAWN_DUP2, reads, high),
        (os.POSIX_SPAWN_DUP2, writes, high + 1),
        (os.POSIX_SPAWN_DUP2, high, _FROM_US),
        (os.POSIX_SPAWN_DUP2, high + 1, _TO_US),
        (os.POSIX_SPAWN_CLOSE, high),
        (os.POSIX_SPAWN_CLOSE, high + 1),
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
