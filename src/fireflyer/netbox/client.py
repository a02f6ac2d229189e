"""Requests to NetBox's REST API: pages of objects, and lists of objects in one write."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import requests

from fireflyer.errors import OperatingError

MINIMUM: Final = (4, 2)
"""First release with MAC addresses as objects, and with `fields` in queries."""
PAGE: Final = 1000
"""Objects in one answer; NetBox's own limit unless it is configured otherwise."""
_TIMEOUT_S: Final = (10, 600)
_TEXT_LIMIT: Final = 300
_SERVER_ERROR: Final = 500
_BEARER_START: Final = "nbt_"

Item: TypeAlias = Mapping[str, Any]
"""An object as NetBox shows it."""
Query: TypeAlias = Sequence[tuple[str, str]]


class RefusedError(Exception):
    """A write that NetBox did not take: nothing of the request is stored."""

    def __init__(self, rows: Mapping[int, str], text: str, *, broken: bool) -> None:
        """Keep the message of each row that NetBox names, by place in the request.

        `broken` is true of a failure of the server, which is no row's fault.
        """
        self.rows, self.text, self.broken = rows, text, broken
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Options:
    """What an endpoint says of itself."""

    writable: bool
    """Whether this token may create objects."""
    choices: Mapping[str, frozenset[str]]
    """Values allowed, by field that has a list of them."""


class Client:
    """A NetBox, asked with one token."""

    def __init__(self, url: str, token: str) -> None:
        """Ask nothing yet."""
        self.url = url.rstrip("/")
        self.requests = 0
        scheme = "Bearer" if token.startswith(_BEARER_START) else "Token"
        self._headers = {"Authorization": f"{scheme} {token}"}
        self._of_thread = threading.local()

    def version(self) -> tuple[int, ...]:
        """Return NetBox's version.

        Raises:
            OperatingError: if it is older than this project can write to.
        """
        status = self._json("GET", "status")
        text = str(status.get("netbox-version", "")) if isinstance(status, dict) else ""
        numbers = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
        if numbers is None:
            raise OperatingError(
                f"{self.url}/api/status/ names no NetBox version; check --url: it is the address"
                " without /api"
            )
        version = tuple(int(number or 0) for number in numbers.groups())
        if version < MINIMUM:
            least = ".".join(str(number) for number in MINIMUM)
            raise OperatingError(f"NetBox at {self.url} is {text}: it must be {least} or newer")
        return version

    def options(self, path: str) -> Options:
        """Return what an endpoint accepts of this token."""
        found = self._json("OPTIONS", path)
        fields = found.get("actions", {}).get("POST")
        if fields is None:
            return Options(writable=False, choices={})
        choices = {
            name: frozenset(str(choice["value"]) for choice in field["choices"])
            for name, field in fields.items()
            if "choices" in field
        }
        return Options(writable=True, choices=choices)

    def listed(self, path: str, fields: Sequence[str], query: Query = ()) -> Iterator[Item]:
        """Yield the objects that match a query, with these fields alone."""
        first = 0
        while True:
            page = [*query, ("fields", ",".join(fields)), ("limit", str(PAGE))]
            answer = self._json("GET", path, [*page, ("offset", str(first))])
            results = answer["results"]
            yield from results
            first += len(results)  # NetBox may give out smaller pages than were asked for
            if not results or answer["next"] is None:
                return

    def create(self, path: str, bodies: Sequence[Mapping[str, object]]) -> list[int]:
        """Create all of the objects, or none; return their ids in order.

        Raises:
            RefusedError: if NetBox does not take them.
        """
        names = {"id": None, **{name: None for body in bodies for name in body}}
        query = [("fields", ",".join(names))]  # the answer is costly to make; only ids are needed
        return [int(item["id"]) for item in self._written("POST", path, bodies, query)]

    def update(self, path: str, bodies: Sequence[Mapping[str, object]]) -> None:
        """Change all of the objects, or none; each body holds an `id` and what changes.

        Raises:
            RefusedError: if NetBox does not take them.
        """
        self._written("PATCH", path, bodies)

    def _written(
        self, method: str, path: str, bodies: Sequence[Mapping[str, object]], query: Query = ()
    ) -> Any:
        answer = self._answer(method, path, query, list(bodies))
        if answer.ok:
            return answer.json()
        raise _refusal(answer, bodies)

    def _json(self, method: str, path: str, query: Query = ()) -> Any:
        answer = self._answer(method, path, query)
        if not answer.ok:
            raise OperatingError(
                f"NetBox at {self.url} refused to show {path}: {answer.status_code}"
                f" {_one_line(_body(answer)) or answer.reason}"
            )
        try:
            return answer.json()
        except ValueError:
            raise OperatingError(
                f"{self.url}/api/{path}/ does not answer as an API: check --url"
            ) from None

    def _answer(
        self, method: str, path: str, query: Query = (), body: Any = None
    ) -> requests.Response:
        self.requests += 1
        if not hasattr(self._of_thread, "session"):
            self._of_thread.session = requests.Session()
        session: requests.Session = self._of_thread.session
        try:
            return session.request(
                method,
                f"{self.url}/api/{path}/",
                params=list(query),
                json=body,
                headers=self._headers,
                timeout=_TIMEOUT_S,
            )
        except requests.RequestException as error:
            raise OperatingError(
                f"no answer from NetBox at {self.url}: {error}; check --url and that it runs"
            ) from error


def _refusal(answer: requests.Response, bodies: Sequence[Mapping[str, object]]) -> RefusedError:
    """Return what NetBox says of each row.

    Up to 4.6 the answer to a list is a list with an object for each row, empty for a good one, or,
    of objects that it checks one after the other, the first bad row's alone. From 4.7 it is
    `errors`, each with the row's `index` or the object's `id`.
    """
    body = _body(answer)
    rows: dict[int, str] = {}
    if isinstance(body, list):
        rows = {place: _one_line(error) for place, error in enumerate(body) if error}
    elif isinstance(body, dict) and isinstance(body.get("errors"), list):
        places = {row["id"]: place for place, row in enumerate(bodies) if "id" in row}
        for error in body["errors"]:
            place = error["index"] if "index" in error else places.get(error.get("id"))
            if place is not None:
                rows[int(place)] = _one_line(error["errors"])
    text = f"{answer.status_code} {_one_line(body) or answer.reason}"
    return RefusedError(rows, text, broken=answer.status_code >= _SERVER_ERROR)


def _body(answer: requests.Response) -> object:
    try:
        return answer.json()
    except ValueError:
        return ""


def _one_line(error: object) -> str:
    """Return an error as `field: message; field: message`.

    >>> _one_line({"type": ["x is not a valid choice."], "__all__": ["Taken."]})
    'type: x is not a valid choice.; Taken.'
    """
    if isinstance(error, dict):
        parts = []
        for name, value in error.items():
            text = _one_line(value)
            plain = name in ("__all__", "non_field_errors", "detail")
            parts.append(text if plain else f"{name}: {text}")
        found = "; ".join(part for part in parts if part)
    elif isinstance(error, list):
        found = " ".join(part for part in (_one_line(value) for value in error) if part)
    else:
        found = " ".join(str(error).split())
    return found if len(found) <= _TEXT_LIMIT else f"{found[:_TEXT_LIMIT]}..."
