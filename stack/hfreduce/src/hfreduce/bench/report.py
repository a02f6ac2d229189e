"""The figures for people: a table, and a plot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from hfreduce.bench.libraries import NAMES
from hfreduce.bench.worker import RECIPE_BYTES, RECIPE_TENSORS

_LARGE_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One size on one layout. Rates are the array's bits over the time, in Gb/s of 10^9 bits."""

    ranks_per_node: int
    nodes: int
    bytes: int
    dtype: str
    hfreduce_gbps: float | None
    gloo_gbps: float | None
    mpi_gbps: float | None
    bound_gbps: float | None

    def rate(self, library: str) -> float | None:
        """Return a library's rate."""
        found: float | None = asdict(self)[f"{library}_gbps"]
        return found

    def ratio(self, library: str) -> float | None:
        """Return HFReduce's rate over a library's."""
        theirs = self.rate(library)
        return self.hfreduce_gbps / theirs if self.hfreduce_gbps and theirs else None

    @property
    def share(self) -> float | None:
        """What HFReduce reaches of the bound."""
        return self.ratio("bound")

    @property
    def against_the_better(self) -> float | None:
        """HFReduce's rate over that of the faster peer."""
        ratios = [ratio for peer in NAMES[1:] if (ratio := self.ratio(peer)) is not None]
        return min(ratios, default=None)


def table(figures: Sequence[Figure]) -> str:
    """Return all figures and ratios, a block a layout."""
    lines = []
    for (nodes, ranks), each in groupby(figures, key=lambda f: (f.nodes, f.ranks_per_node)):
        block = list(each)
        lines += [
            f"{nodes} node{'s' if nodes > 1 else ''} x {ranks} ranks; Gb/s of the array",
            f"{'bytes':>12} {'hfreduce':>10} {'gloo':>10} {'mpi':>10} {'bound':>10}"
            f" {'x gloo':>8} {'x mpi':>8} {'of bound':>9}",
        ]
        for figure in block:
            rates = [figure.hfreduce_gbps, figure.gloo_gbps, figure.mpi_gbps, figure.bound_gbps]
            lines.append(
                f"{_size(figure.bytes):>12} "
                + " ".join(_cell(rate, "10.3f") for rate in rates)
                + "".join(f" {_cell(figure.ratio(peer), '8.2f')}" for peer in ("gloo", "mpi"))
                + f" {_cell(figure.share, '9.0%')}"
            )
        lines += [*_summary(block), ""]
    return "\n".join(lines[:-1])


def _summary(figures: Sequence[Figure]) -> list[str]:
    """Return the least ratios, and where they are."""
    lines = []
    large = [figure for figure in figures if figure.bytes >= _LARGE_BYTES]
    least: tuple[tuple[str, Sequence[Figure], Callable[[Figure], float | None]], ...] = (
        (f"times gloo from {_size(_LARGE_BYTES)} on", large, lambda f: f.ratio("gloo")),
        (f"of the bound from {_size(_LARGE_BYTES)} on", large, lambda f: f.share),
        ("times the better of the two", figures, lambda f: f.against_the_better),
    )
    for name, among, of in least:
        known = [(value, figure) for figure in among if (value := of(figure)) is not None]
        if known:
            value, figure = min(known, key=lambda each: each[0])
            lines.append(f"  at least {value:.2f} {name} ({_size(figure.bytes)})")
    return lines


def _cell(value: float | None, form: str) -> str:
    return "-".rjust(int(form.partition(".")[0])) if value is None else format(value, form)


def _size(count: int) -> str:
    if count == RECIPE_BYTES:
        return f"{RECIPE_TENSORS} x 4 MiB"
    for unit, each in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= each:
            return f"{count / each:g} {unit}"
    return f"{count} B"


def plot(figures: Sequence[Figure], file: Path) -> None:
    """Draw rate over size, a picture a layout; the file's ending says of which kind.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    whole = [figure for figure in figures if figure.bytes != RECIPE_BYTES]
    blocks = [
        (key, list(block))
        for key, block in groupby(whole, key=lambda f: (f.nodes, f.ranks_per_node))
    ]
    drawn, axes = plt.subplots(1, len(blocks), figsize=(6 * len(blocks), 4), squeeze=False)
    for axis, ((nodes, ranks), block) in zip(axes[0], blocks, strict=True):
        for library in (*NAMES, "bound"):
            known = [(f.bytes, rate) for f in block if (rate := f.rate(library)) is not None]
            if known:
                style = "k--" if library == "bound" else "o-"
                axis.plot(*zip(*known, strict=True), style, label=library, markersize=3)
        axis.set(xscale="log", yscale="log", xlabel="bytes", ylabel="Gb/s",
                 title=f"{nodes} nodes x {ranks} ranks")  # fmt: skip
        axis.xaxis.set_major_locator(mpl.ticker.LogLocator(base=2, numticks=10))
        axis.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda x, _: _size(int(x))))
        axis.tick_params(axis="x", rotation=45)
        axis.legend()
    drawn.tight_layout()
    drawn.savefig(file)
    plt.close(drawn)
