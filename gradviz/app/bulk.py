"""Thousands of boxes and lines at once: numpy rows handed to QPainter without a copy, and one picture of the whole."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import shiboken6
from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap

from gradviz.scene.far import Far
from gradviz.scene.shapes import Box

Floats = npt.NDArray[np.float64]
SLICE = 2_000
SLICE_SECONDS = 0.008
"""Boxes that go into the overview picture before other events get their turn."""
WIDEST = 4096


def draw_boxes(painter: QPainter, boxes: Floats, fill: QColor, outline: QPen | None) -> None:
    """Draw boxes, shape (n, 4), in widget pixels."""
    rows = np.ascontiguousarray(boxes, np.float64)
    if len(rows):
        painter.setPen(outline if outline is not None else QPen(Qt.PenStyle.NoPen))
        painter.setBrush(fill)
        painter.drawRects(shiboken6.wrapInstance(rows.ctypes.data, QRectF), len(rows))  # type: ignore[call-overload]


def draw_lines(painter: QPainter, lines: Floats, pen: QPen) -> None:
    """Draw straight lines, shape (n, 4), in widget pixels."""
    rows = np.ascontiguousarray(lines, np.float64)
    if len(rows):
        painter.setPen(pen)
        painter.drawLines(shiboken6.wrapInstance(rows.ctypes.data, QLineF), len(rows))  # type: ignore[call-overload]


def draw_classes(
    painter: QPainter,
    boxes: Floats,
    classes: npt.NDArray[np.uint8],
    fills: Sequence[QColor],
    outline: QPen | None,
) -> None:
    """Draw boxes in the fill of their class."""
    for kind in np.unique(classes).tolist():
        draw_boxes(painter, boxes[classes == kind], fills[kind], outline)


def placed(boxes: Floats, left: float, top: float, scale: float, least: float = 1.5) -> Floats:
    """Scene boxes in widget pixels, each at least `least` pixels wide and high."""
    rows = np.empty_like(boxes)
    rows[:, 0] = (boxes[:, 0] - left) * scale
    rows[:, 1] = (boxes[:, 1] - top) * scale
    rows[:, 2:] = np.maximum(boxes[:, 2:] * scale, least)
    return rows


class Overview:
    """One picture of all boxes and lines, made in slices; boxes whose class has changed since are drawn over it."""

    def __init__(self, far: Far, bounds: Box, colors: tuple[QColor, Sequence[QColor], QPen]) -> None:
        self.far = far
        self.bounds = bounds
        self._ground, self._fills, self._pen = colors
        self.scale = min(1.0, WIDEST / max(bounds[2], bounds[3], 1.0))
        self.picture = QPixmap(max(1, int(bounds[2] * self.scale) + 2), max(1, int(bounds[3] * self.scale) + 2))
        self.picture.fill(self._ground)
        self.classes = np.zeros(0, np.uint8)
        self._done = 0
        self._lines = 0

    @property
    def ready(self) -> bool:
        """All slices are drawn."""
        return len(self.classes) > 0 and self._done >= len(self.classes)

    def work(self, classes: npt.NDArray[np.uint8]) -> bool:
        """Draw the next slice; true when all is drawn."""
        if not len(self.classes):
            self.classes = classes.copy()
        painter = QPainter(self.picture)
        end = time.perf_counter() + SLICE_SECONDS
        while not self.ready and time.perf_counter() < end:
            self._part(painter)
        painter.end()
        return self.ready

    def _part(self, painter: QPainter) -> None:
        x, y = self.bounds[:2]
        lines = self.far.coarse[0]
        if self._lines < len(lines):
            part = (lines[self._lines : self._lines + SLICE] - np.asarray([x, y, x, y])) * self.scale
            draw_lines(painter, part, self._pen)
            self._lines += SLICE
        else:
            part = placed(self.far.boxes[self._done : self._done + SLICE], x, y, self.scale, 1.0)
            draw_classes(painter, part, self.classes[self._done : self._done + SLICE], self._fills, None)
            self._done += SLICE

    def draw(self, painter: QPainter, left: float, top: float, scale: float) -> None:
        """Show the part that is in view."""
        factor = scale / self.scale
        x, y = (self.bounds[0] - left) * scale, (self.bounds[1] - top) * scale
        size = self.picture.size()
        target = QRectF(x, y, size.width() * factor, size.height() * factor)
        painter.drawPixmap(target, self.picture, QRectF(0, 0, size.width(), size.height()))

    def changed(self, classes: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """Boxes that look other now than in the picture."""
        return np.flatnonzero(self.classes != classes)
