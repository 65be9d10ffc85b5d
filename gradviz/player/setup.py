"""With what a program is run: which Python, where, with which arguments, and what it reads when it asks for input."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Setup:
    """Empty texts: gradviz's own Python, the folder of the program, no arguments, nothing to read."""

    python: str = ""
    """Path of an interpreter."""
    folder: str = ""
    """Working directory."""
    arguments: str = ""
    """As typed in a shell."""
    reads: str = ""
    """What stands on standard input: a line for each `input()`."""


def split(arguments: str) -> tuple[str, ...]:
    """Arguments as a POSIX shell would split them; nothing is expanded.

    Raises:
        ValueError: a quotation mark is not closed.
    """
    return tuple(shlex.split(arguments))


def to_plain(setup: Setup) -> dict[str, str]:
    """The fields that differ from their defaults."""
    return {name: value for name, value in asdict(setup).items() if value}


def from_plain(value: Any) -> Setup:
    """The setup in a value that a file held; whatever is no text there is left out."""
    known = {field.name for field in fields(Setup)}
    kept = value.items() if isinstance(value, dict) else ()
    return Setup(**{name: text for name, text in kept if name in known and isinstance(text, str) and "\0" not in text})
