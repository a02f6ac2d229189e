"""Make the test image and the key to its containers: `python -m tests.images`."""

from __future__ import annotations

import sys

from tests.images import build, engine, keys, recipe


def main() -> int:
    """Print the image's name; 3 when this machine cannot build or run it."""
    try:
        engine.prepare()
        name = build.ensure(
            recipe.from_environment(), lambda text: print(text, file=sys.stderr, flush=True)
        )
        keys.ensure_client_key()
    except (engine.EngineError, ValueError) as error:
        print(f"tests.images: {error}", file=sys.stderr)
        return 3
    print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
