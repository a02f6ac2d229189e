"""A machine's metadata service and Azure's management interface, at one address and one time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler

from tests.fake_http import listening

MACHINE = "/subscriptions/x/resourceGroups/r/providers/Microsoft.Compute/virtualMachines/mg01"


@dataclass
class FakeMetadata:
    """What the services answer; `calls` is what was done."""

    provider: str
    now: datetime | None
    """None: the answers have no time."""
    expires: str | None
    refuses: bool = False
    """To deallocate."""
    calls: list[str] = field(default_factory=list)

    def answer(self, method: str, path: str, header: dict[str, str]) -> str | None:
        """Return a body, None where there is nothing."""
        if self.provider == "aws":
            if (method, path) == ("PUT", "/latest/api/token"):
                assert header["x-aws-ec2-metadata-token-ttl-seconds"]
                return "of-this-session"
            # Version 1, without a token, is switched off.
            if header.get("x-aws-ec2-metadata-token") != "of-this-session":
                return None
            return self.expires if path == "/latest/meta-data/tags/instance/expires" else None
        if method == "POST" and path == f"{MACHINE}/deallocate":
            assert header["authorization"] == "Bearer of-the-hosts"
            self.calls.append("deallocate")
            return None if self.refuses else ""
        if header.get("metadata") != "true" or method != "GET":
            return None
        if path == "/metadata/identity/oauth2/token":
            return json.dumps({"access_token": "of-the-hosts"})
        tags = [] if self.expires is None else [{"name": "expires", "value": self.expires}]
        found = {"resourceId": MACHINE, "tagsList": tags}
        return json.dumps(found) if path == "/metadata/instance/compute" else None

    @contextmanager
    def serve(self) -> Iterator[str]:
        """Answer on a free port; yield the address."""
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                header = {key.lower(): value for key, value in self.headers.items()}
                self.rfile.read(int(header.get("content-length", 0)))
                body = fake.answer(self.command, self.path.partition("?")[0], header)
                self.send_response_only(200 if body is not None else 404)
                if fake.now is not None:
                    self.send_header("Date", format_datetime(fake.now, usegmt=True))
                self.send_header("Content-Length", str(len(body or "")))
                self.end_headers()
                self.wfile.write((body or "").encode())

            do_PUT = do_POST = do_GET  # noqa: N815 - the names that it looks for

            def log_message(self, format: str, *args: object) -> None:
                pass

        with listening(Handler) as url:
            yield url
