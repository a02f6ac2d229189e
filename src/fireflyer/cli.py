"""The command line: `fireflyer VERB SITE`. A thin caller of load, design, render, prove."""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fireflyer import __version__
from fireflyer.errors import IntentError, OperatingError, Problem
from fireflyer.output import quiet_once_unread

if TYPE_CHECKING:
    from fireflyer.design.plan.study import Study

OK, FINDINGS, REFUSED = 0, 1, 2
INTERRUPTED = 128 + signal.SIGINT


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit status: 0, 1 on findings, 2 on bad input."""
    return quiet_once_unread(lambda: _main(arguments))


def _main(arguments: Sequence[str] | None) -> int:
    options = _parser().parse_args(arguments)
    for ending in (signal.SIGTERM, signal.SIGHUP):  # so that clean-up runs
        if signal.getsignal(ending) is not signal.SIG_IGN:
            signal.signal(ending, lambda number, _: _ended(number))
    gc.disable()  # what a command computes has no cycles and lives until it ends
    try:
        result = options.run(options)
        sys.stdout.flush()
    except IntentError as error:
        for problem in error.problems:
            _say(f"error: {problem}")
        _say(f"{len(error.problems)} problem(s); nothing was written")
        return REFUSED
    except OperatingError as error:
        _say(f"error: {error}")
        return REFUSED
    except KeyboardInterrupt:
        _say("interrupted; nothing is left running")
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except OSError as error:
        _say(f"error: {error}")
        sys.stdout = None  # what it still holds cannot be written either
        return REFUSED
    finally:
        gc.enable()
    assert isinstance(result, int)
    return result


def _ended(number: int) -> None:
    _say("ended; nothing is left running, nothing half-written is left")
    sys.exit(128 + number)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fireflyer", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    plan = verbs.add_parser("plan", help="count what a site needs")
    plan.set_defaults(run=_plan)
    render = verbs.add_parser("render", help="write every artefact of a site")
    render.set_defaults(run=_render)
    prove = verbs.add_parser("prove", help="load the artefacts into real software")
    prove.set_defaults(run=_prove)
    compare = verbs.add_parser("compare", help="set several sites side by side")
    compare.set_defaults(run=_compare)
    compare.add_argument("sites", type=Path, nargs="+", metavar="site", help="folders")
    netbox = verbs.add_parser("export-netbox", help="put a site into NetBox")
    netbox.set_defaults(run=_export_netbox)
    netbox.add_argument("--url", required=True, help="of NetBox; NETBOX_TOKEN has the token")
    netbox.add_argument("--apply", action="store_true", help="create what NetBox lacks")
    netbox.add_argument("--update", action="store_true", help="change what differs as planned")
    for verb in (plan, render, prove, netbox):
        verb.add_argument("site", type=Path, help="a folder such as inventory/fire-flyer-2")
    for verb in (plan, prove, compare):
        verb.add_argument("--json", action="store_true", help="print one JSON object")
    for verb in (plan, compare):
        verb.add_argument("--prices", type=Path, metavar="FILE", help="your price list (YAML)")
    render.add_argument("--out", type=Path, required=True, help="folder to write")
    from fireflyer.render import GROUPS

    render.add_argument(
        "--only",
        action="append",
        choices=GROUPS,
        metavar="GROUP",
        help=f"write this group alone, again for more: {', '.join(GROUPS)}",
    )
    prove.add_argument(
        "--artefacts",
        type=Path,
        help="rendered tree to prove (default: build/<site> if there is one, else a fresh one)",
    )
    return parser


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _json(values: object) -> str:
    return json.dumps(values, indent=1, allow_nan=False)


def _studied(folder: Path, prices: Path | None) -> Study:
    from fireflyer.design import design
    from fireflyer.design.plan.study import study
    from fireflyer.design.shape import shape_of
    from fireflyer.load import load_site
    from fireflyer.load.prices import load_prices

    site = load_site(folder)
    priced = load_prices(prices, site.catalogue) if prices is not None else None
    return study(design(site), shape_of(site), priced)


def _plan(options: argparse.Namespace) -> int:
    from fireflyer.design.plan.as_json import as_json
    from fireflyer.design.plan.as_text import as_text

    found = _studied(options.site, options.prices)
    print(_json(as_json(found)) if options.json else as_text(found))
    return OK


def _compare(options: argparse.Namespace) -> int:
    from fireflyer.design.compare import as_json, as_text

    studies, problems = [], dict[Problem, None]()
    for folder in options.sites:
        try:
            studies.append(_studied(folder, options.prices))
        except IntentError as error:
            problems |= dict.fromkeys(error.problems)
    if problems:
        raise IntentError(problems)
    print(_json(as_json(studies)) if options.json else as_text(studies))
    return OK


def _render(options: argparse.Namespace) -> int:
    from fireflyer.design import design
    from fireflyer.load import load_site
    from fireflyer.render import GROUPS, batches, workers
    from fireflyer.render.tree import write_tree

    groups = tuple(dict.fromkeys(options.only or GROUPS))
    fabric = design(load_site(options.site))
    parts = batches(fabric, groups)
    name = fabric.intent.name
    written, count = write_tree(options.out, name, parts, groups, workers(fabric))
    if not written:
        _say(f"note: {name} has no file in {', '.join(groups)}; its switches run {fabric.system}")
    _say(f"{options.out}: {written:,} files written, {count:,} in all")
    if fabric.placeholders:
        _say(
            f"note: {fabric.placeholders} adapters and switches have placeholder GUIDs; put the"
            f" real ones in {options.site}/assets.csv before installing opensm/"
        )
    return OK


def _is_rendered(folder: Path) -> bool:
    """Return whether `render` wrote a folder; say so where something else did."""
    from fireflyer.render.manifest import MANIFEST

    if folder.is_dir() and not (folder / MANIFEST).exists():
        _say(f"note: {folder} has no {MANIFEST}, so it is not a rendered tree and is left alone")
    return (folder / MANIFEST).exists()


def _prove(options: argparse.Namespace) -> int:
    import tempfile

    from fireflyer.design import design
    from fireflyer.load import load_site
    from fireflyer.prove import prove
    from fireflyer.prove.part import as_json, as_text
    from fireflyer.render import GROUPS, batches
    from fireflyer.render.tree import write_tree

    fabric = design(load_site(options.site))
    default = Path("build") / fabric.intent.name
    with tempfile.TemporaryDirectory(prefix="fireflyer-render-") as scratch:
        tree = options.artefacts or (default if _is_rendered(default) else None)
        if tree is None:
            tree = Path(scratch) / fabric.intent.name
            write_tree(tree, fabric.intent.name, batches(fabric), GROUPS)
            _say(f"proving a fresh rendering of {options.site}")
        else:
            _say(f"proving {tree}")
        proof = prove(fabric, tree, lambda step: _say(f"  {step}"))
    print(_json(as_json(proof)) if options.json else as_text(proof))
    for failure in proof.failures:
        _say(f"error: {failure}")
    if proof.failures:
        return REFUSED
    return FINDINGS if proof.findings else OK


def _export_netbox(options: argparse.Namespace) -> int:
    from fireflyer.design import design
    from fireflyer.load import load_site

    try:
        from fireflyer.netbox.export import export, token_of
        from fireflyer.netbox.report import as_text
    except ImportError as error:
        raise OperatingError(f"{error}; install it with: pip install requests") from None
    token = token_of(os.environ, options.url)
    result = export(
        design(load_site(options.site)),
        options.url,
        token,
        apply=options.apply,
        update=options.update,
        progress=lambda step: _say(f"  {step}"),
    )
    print(as_text(result, apply=options.apply, update=options.update))
    return FINDINGS if result.changes and not options.update else OK


if __name__ == "__main__":
    sys.exit(main())
