"""A package as small as one can be."""

from packaging.version import Version


def main() -> None:
    """Say hello."""
    print(f"hello of {Version('1.0')}")
