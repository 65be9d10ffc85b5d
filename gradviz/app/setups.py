"""What each program was run with last: a JSON file beside the settings. Knows nothing of Qt, as `launch` does not."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from gradviz.app.places import folder
from gradviz.player.setup import Setup, from_plain, to_plain

KEPT = 200
_FILE = "programs.json"


def remembered(path: str | None) -> Setup:
    """The setup of a program by the path of its file; None stands for all that no file holds."""
    return from_plain(_read().get(_key(path)))


def remember(path: str | None, setup: Setup) -> None:
    """Keep a setup for the next time. Where the file cannot be written, it is not kept."""
    known = _read()
    known.pop(_key(path), None)
    if plain := to_plain(setup):
        known[_key(path)] = plain
    target = folder() / _FILE
    partial = target.with_name(f"{_FILE}.{os.getpid()}")
    with contextlib.suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(dict([*known.items()][-KEPT:]), indent=1), "utf-8")
        partial.replace(target)


def _key(path: str | None) -> str:
    return "" if path is None else str(Path(path).resolve())


def _read() -> dict[str, Any]:
    try:
        found = json.loads((folder() / _FILE).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
