"""The borders between panels: before an audience panels are as large as their letters, afterwards as they were."""

from __future__ import annotations

from PySide6.QtWidgets import QSplitter

from gradviz.app.style import larger
from gradviz.player.view import ViewState

WIDEST = 0.3
"""Of the window's width, at most, for the inspector."""


class Borders:
    """Of `sides` (left column, canvas, inspector) and `halves` (those, timeline)."""

    def __init__(self, sides: QSplitter, halves: QSplitter) -> None:
        self._sides, self._halves = sides, halves
        self._kept: tuple[list[int], list[int]] | None = None
        """Where the borders were before the lecture."""

    def follow(self, old: ViewState, new: ViewState) -> None:
        """Move them where letters grow or shrink. To be called while all panels are still there."""
        if larger(old) == larger(new):
            return
        self._kept = self._kept or (self._sides.sizes(), self._halves.sizes())
        if not new.presenter:
            self.restore()
            return
        (left, middle, right), (upper, lower) = self._kept
        wide = max(right, min(round(right * larger(new)), round(WIDEST * (left + middle + right))))
        high = min(round(lower * larger(new)), (upper + lower) // 2)
        self._sides.setSizes([left, middle + right - wide, wide])
        self._halves.setSizes([upper + lower - high, high])

    def restore(self) -> None:
        """Put them where they were before the lecture."""
        if self._kept is not None:
            self._sides.setSizes(self._kept[0])
            self._halves.setSizes(self._kept[1])
        self._kept = None
