"""The lessons that come with gradviz, in their order."""

from __future__ import annotations

from functools import cache

from gradviz import assets
from gradviz.player.lessons import Lesson, load


@cache
def shelf() -> tuple[Lesson, ...]:
    """All lessons of `resources/lessons`, by file name. Read once."""
    return tuple(load(path) for path in sorted(assets.path("lessons").glob("*.md")))
