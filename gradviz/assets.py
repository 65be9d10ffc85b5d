"""Where the files that come with gradviz lie: beside the package in a checkout, inside it in an installed wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parent
_PLACES = (_PACKAGE.parent / "resources", _PACKAGE / "resources")


@cache
def folder() -> Path:
    """The folder of all resources.

    Raises:
        FileNotFoundError: this installation lacks them.
    """
    for place in _PLACES:
        if (place / "themes").is_dir():
            return place
    raise FileNotFoundError("This installation of gradviz lacks its resources folder: install it anew.")


def path(*parts: str) -> Path:
    """Path of one resource, e.g. `path("programs", "one_layer.py")`. It need not exist."""
    return folder().joinpath(*parts)


def text(*parts: str) -> str:
    """Content of a text resource.

    Raises:
        FileNotFoundError: there is no such resource.
    """
    return path(*parts).read_text("utf-8")


def programs() -> list[tuple[Path, str]]:
    """The example programs with their titles (the first line of each), in the order of their file names."""
    found = sorted(path("programs").glob("*.py"))
    return [(program, program.read_text("utf-8").split("\n", 1)[0].strip('" ')) for program in found]
