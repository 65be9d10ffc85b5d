"""One program in several processes at once: each writes a recording of its own."""

from __future__ import annotations

import os
from pathlib import Path


def number(name: str) -> int | None:
    """A number that a launcher such as torchrun has put into the environment; None where there is none."""
    value = os.environ.get(name, "")
    return int(value) if value.isdigit() else None


def ranked(path: str | os.PathLike[str]) -> Path:
    """Where this process writes: "run.gradviz", as rank 1 of several "run.rank1.gradviz"."""
    rank, size = number("RANK"), number("WORLD_SIZE")
    path = Path(path)
    return path if rank is None or size is None or size < 2 else path.with_name(f"{path.stem}.rank{rank}{path.suffix}")
