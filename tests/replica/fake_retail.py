"""Azure's retail prices as far as preflight asks them, over HTTP and page by page."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit


def item(size: str, usd: float, region: str = "eastus", **more: Any) -> dict[str, Any]:
    """Return a price as the list has it, of a machine with Linux on demand."""
    name = size.removeprefix("Standard_").replace("_", " ")
    return {
        "serviceName": "Virtual Machines",
        "armRegionName": region,
        "armSkuName": size,
        "priceType": "Consumption",
        "productName": "Virtual Machines Series",
        "skuName": name,
        "unitOfMeasure": "1 Hour",
        "retailPrice": usd,
        **more,
    }


@contextmanager
def serve(items: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Answer with the items that a filter asks for, one a page; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {key: value[0] for key, value in parse_qs(parts.query).items()}
            assert parts.path == "/api/retail/prices"
            assert "Authorization" not in self.headers, "whose list anyone may read"
            wanted = dict(re.findall(r"(\w+) eq '([^']*)'", query["$filter"]))
            found = [one for one in items if all(one[k] == v for k, v in wanted.items())]
            skip = int(query.get("$skip", 0))
            page: dict[str, Any] = {"Items": found[skip : skip + 1], "NextPageLink": None}
            if skip + 1 < len(found):
                more = urlencode({**query, "$skip": skip + 1})
                page["NextPageLink"] = f"http://{self.headers['Host']}{parts.path}?{more}"
            body = json.dumps(page).encode()
            self.send_response(200)
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
