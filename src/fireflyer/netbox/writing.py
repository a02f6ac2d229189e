"""Writes to NetBox: lists of objects in one request, and the row named where one is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from fireflyer.errors import OperatingError
from fireflyer.netbox.checks import shortened
from fireflyer.netbox.client import Client, RefusedError
from fireflyer.netbox.comparison import Changed, Compared
from fireflyer.netbox.primaries import Primary, reference
from fireflyer.netbox.state import State, Values

_BATCH: Final = 100
"""Objects in one request; NetBox takes all of them or none."""
_AT_ONCE: Final = 4
"""Requests under way. Rows of one table do not refer to each other, and those of one device are
neighbours, so that two requests lock the same rows in the same order."""

Body: TypeAlias = dict[str, object]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes what a comparison found."""

    client: Client
    state: State
    progress: Callable[[str], None]

    def create(self, table: Compared) -> None:
        """Create the missing rows and note their ids.

        Raises:
            OperatingError: naming the rows that NetBox refuses.
        """
        ids = self.state.ids[table.table.name]

        def body(row: Values) -> Body:
            fields = {
                field.name: field.wanted(row, self.state)
                for field in table.kind.fields
                if row[field.column]
            }
            return {**fields, **table.kind.assigned(row, self.state)}

        def send(rows: Sequence[Values], bodies: Sequence[Body]) -> None:
            created = self.client.create(table.kind.path, bodies)
            for row, number in zip(rows, created, strict=True):
                ids.update(dict.fromkeys(table.kind.row_keys(row), number))

        self._write(f"creating {table.table.name}", table.missing, body, table.named, send)

    def update(self, table: Compared) -> None:
        """Change the fields that differ, and no others.

        Raises:
            OperatingError: naming the rows that NetBox refuses.
        """

        def body(changed: Changed) -> Body:
            names = {difference.field for difference in changed.differences}
            fields = {
                field.name: field.wanted(changed.row, self.state)
                for field in table.kind.fields
                if field.name in names
            }
            return {"id": changed.id, **fields}

        def send(_: Sequence[Changed], bodies: Sequence[Body]) -> None:
            self.client.update(table.kind.path, bodies)

        def name(changed: Changed) -> str:
            return table.named(changed.row)

        self._write(f"updating {table.table.name}", table.changed, body, name, send)

    def set_primaries(self, primary: Primary, owners: Compared, rows: Sequence[Values]) -> None:
        """Let each owner refer to its address.

        Raises:
            OperatingError: naming the rows that NetBox refuses.
        """

        def send(_: Sequence[Values], bodies: Sequence[Body]) -> None:
            self.client.update(owners.kind.path, bodies)

        def name(row: Values) -> str:
            return f"{owners.table.file}: {primary.field} of {row['device']} {row['interface']}"

        self._write(
            f"setting {primary.name}",
            rows,
            lambda row: reference(primary, row, self.state),
            name,
            send,
        )

    def _write(
        self,
        what: str,
        rows: Sequence[T],
        body: Callable[[T], Body],
        name: Callable[[T], str],
        send: Callable[[Sequence[T], Sequence[Body]], None],
    ) -> None:
        batches = [rows[first : first + _BATCH] for first in range(0, len(rows), _BATCH)]
        done = 0

        def write(batch: Sequence[T]) -> int:
            bodies = [body(row) for row in batch]
            try:
                send(batch, bodies)
            except RefusedError as refused:
                raise self._refusal(refused, batch, bodies, name, send) from None
            return len(batch)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            futures = [pool.submit(write, batch) for batch in batches]
            try:
                for future in futures:
                    done += future.result()
                    self.progress(f"{what}: {done:,} of {len(rows):,}")
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _refusal(
        self,
        refused: RefusedError,
        batch: Sequence[T],
        bodies: Sequence[Body],
        name: Callable[[T], str],
        send: Callable[[Sequence[T], Sequence[Body]], None],
    ) -> OperatingError:
        """Return the error of a batch, with the rows that NetBox refuses.

        Where the answer names none (of some objects up to 4.6), the rows are sent one by one up
        to the first that is refused.
        """
        if not refused.rows and not refused.broken:
            for row, single in zip(batch, bodies, strict=True):
                try:
                    send([row], [single])
                except RefusedError as error:
                    return OperatingError(f"NetBox refused {name(row)}: {error.text}")
        if not refused.rows:
            return OperatingError(
                f"NetBox at {self.client.url} failed on {name(batch[0])} to {name(batch[-1])}:"
                f" {refused.text}"
            )
        lines = [f"{name(batch[place])}: {text}" for place, text in sorted(refused.rows.items())]
        return OperatingError("NetBox refused " + "\n  ".join(shortened(lines)))
