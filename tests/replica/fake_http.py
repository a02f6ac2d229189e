"""A server of JSON on loopback, for the providers' stand-ins."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a client asks for."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]

    @property
    def url(self) -> str:
        """Without the query."""
        return f"http://{self.headers['Host']}{self.path}"


Answer: TypeAlias = tuple[int, Any]
"""Status and object."""


@contextmanager
def serve(answer: Callable[[Asked], Answer]) -> Iterator[str]:
    """Answer every GET; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            headers = dict(self.headers.items())
            status, found = answer(Asked(path=parts.path, query=query, headers=headers))
            body = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
