"""Build the image of a recipe, once."""

from __future__ import annotations

import fcntl
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.images.engine import CACHE, EngineError, podman
from tests.images.recipe import SOURCES_VARIABLE, Recipe

REPOSITORY = "localhost/fireflyer/{system}-systemd"


def tag(recipe: Recipe) -> str:
    """Return the name of the recipe's image."""
    return f"{REPOSITORY.format(system=recipe.system)}:{recipe.digest}"


def ensure(recipe: Recipe, tell: Callable[[str], None]) -> str:
    """Build the image unless it exists; return its name.

    Two that ask at once build once: the second waits for the first.
    """
    name = tag(recipe)
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if podman("image", "exists", name, check=False).returncode != 0:
            tell(f"building {name} from Debian packages, about a minute")
            build(recipe, name)
    return name


def build(recipe: Recipe, name: str) -> None:
    """Make a root file system with mmdebstrap and import it."""
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        work = Path(scratch)
        work.chmod(0o755)  # apt's own user reads from here
        tree = work / "files"
        for path, text in recipe.files:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text)
        if recipe.extra_ca:
            authority = tree / "usr/local/share/ca-certificates/extra.crt"
            authority.parent.mkdir(parents=True, exist_ok=True)
            authority.write_text(recipe.extra_ca)
        archive = work / "root.tar"
        done = subprocess.run(
            mmdebstrap(recipe, tree, archive),
            input="\n".join(recipe.sources),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise EngineError(
                f"mmdebstrap could not build {name}: {done.stderr.strip()[-2000:]}\n"
                f"If the archive cannot be reached, name a file of sources in {SOURCES_VARIABLE}"
            )
        podman(
            "import",
            "--change", 'CMD ["/lib/systemd/systemd"]',
            "--change", "STOPSIGNAL SIGRTMIN+3",
            *(part for text in recipe.variables for part in ("--change", f"ENV {text}")),
            str(archive),
            name,
        )  # fmt: skip


def mmdebstrap(recipe: Recipe, tree: Path, archive: Path) -> list[str]:
    """Return the command that builds the root file system."""
    download = f"apt-get install --download-only --yes {' '.join(recipe.downloads)}"
    links = [f'ln -sf /dev/null "$1/etc/systemd/system/{unit}"' for unit in recipe.masked_units]
    hooks = [
        f'cp -r {shlex.quote(str(tree))}/. "$1/"',
        *links,
        'rm -f "$1"/etc/ssh/ssh_host_*',
        'chroot "$1" update-ca-certificates',
        f'chroot "$1" {download} -o APT::Install-Recommends=false',
        ': > "$1/etc/machine-id"',
    ]
    return [
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        f"--include={','.join(recipe.packages)}",
        "--skip=cleanup/apt",  # lists and downloaded packages stay
        *(f"--customize-hook={hook}" for hook in hooks),
        recipe.suite,
        str(archive),
        *(["-"] if recipe.sources else []),
    ]
