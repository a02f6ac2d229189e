"""A server of JSON on loopback, for stand-ins of what is asked over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a client asks for."""

    method: str
    path: str
    query: Mapping[str, str]
    """The first value of each key."""
    all_values: Mapping[str, Sequence[str]]
    headers: Message
    body: Any
    """None where there is none."""

    @property
    def url(self) -> str:
        """Without the query."""
        return f"{self.origin}{self.path}"

    @property
    def origin(self) -> str:
        return f"http://{self.headers['Host']}"


Answer: TypeAlias = tuple[int, Any]
"""Status and object."""


@contextmanager
def serve(answer: Callable[[Asked], Answer]) -> Iterator[str]:
    """Answer on a free port; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            asked = Asked(
                method=self.command,
                path=parts.path,
                query={key: values[0] for key, values in parse_qs(parts.query).items()},
                all_values=parse_qs(parts.query),
                headers=self.headers,
                body=json.loads(self.rfile.read(length)) if length else None,
            )
            status, found = answer(asked)
            data = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_PATCH = do_OPTIONS = do_GET  # noqa: N815 - the names that it looks for

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with listening(Handler) as url:
        yield url


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Have a handler answer on a free port; yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
