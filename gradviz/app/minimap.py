"""The whole graph in the corner, with a frame around what the canvas shows; click or drag to go there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from gradviz.app.bulk import draw_classes
from gradviz.app.levels import fills
from gradviz.app.paint import color
from gradviz.scene.theme import load_theme

if TYPE_CHECKING:
    from gradviz.app.canvas import Canvas

PAD = 8.0
OFTEN_MS = 120
"""While steps follow one another the picture is drawn anew this often."""
MANY = 20_000
"""Above so many cards only a sample of them is drawn: more would fall on the same pixels."""


class Minimap(QWidget):
    """Child of a canvas; follows its eye and its step."""

    def __init__(self, canvas: Canvas) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self._picture: QPixmap | None = None
        self._drawn: object = None
        self._later = QTimer(self, singleShot=True, interval=OFTEN_MS)
        self._later.timeout.connect(self.update)
        self.setCursor(Qt.CursorShape.CrossCursor)

    def sizeHint(self) -> QSize:
        return QSize(166, 94)

    def refresh(self) -> None:
        """Another graph: draw it anew."""
        self._picture, self._drawn = None, None
        self.update()

    def _scale(self) -> tuple[float, float, float]:
        """Scale, and the place of the scene's origin in this widget."""
        assert self._canvas.composer is not None
        x, y, w, h = self._canvas.composer.layout.bounds
        scale = min((self.width() - 2 * PAD) / max(w, 1.0), (self.height() - 2 * PAD) / max(h, 1.0))
        left = (self.width() - w * scale) / 2 - x * scale
        top = (self.height() - h * scale) / 2 - y * scale
        return scale, left, top

    def paintEvent(self, event: QPaintEvent) -> None:
        scene = self._canvas.scene()
        if scene is None:
            return
        theme = load_theme(self._canvas.session.view.theme)
        state = (scene.moment.frame.step, self._canvas.session.view.engine, theme.name, self.size())
        if self._picture is None or (self._drawn != state and not self._later.isActive()):
            self._picture, self._drawn = self._draw(), state
            self._later.start()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(color(theme.card_border), 1.0))
        painter.setBrush(color(theme.panel))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)
        painter.drawPixmap(0, 0, self._picture)
        scale, left, top = self._scale()
        x, y, w, h = self._canvas.eye.visible(self._canvas.width(), self._canvas.height())
        view = QRectF(x * scale + left, y * scale + top, w * scale, h * scale)
        inside = QRectF(self.rect()).adjusted(3, 3, -3, -3)
        painter.setPen(QPen(color(theme.selection), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(view.intersected(inside), 3, 3)
        painter.end()

    def _draw(self) -> QPixmap:
        ratio = self.devicePixelRatioF()
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        scene = self._canvas.scene()
        if scene is None:
            return picture
        scale, left, top = self._scale()
        every = max(1, len(scene.far.boxes) // MANY)
        rows = scene.far.boxes[::every] * scale
        rows[:, 0] += left
        rows[:, 1] += top
        rows[:, 2:] = np.maximum(rows[:, 2:], 2.0)
        painter = QPainter(picture)
        draw_classes(painter, rows, scene.classes[::every], fills(scene.moment.theme), None)
        painter.end()
        return picture

    # ---- mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._center(event.position())
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._center(event.position())
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def _center(self, at: QPointF) -> None:
        scale, left, top = self._scale()
        canvas = self._canvas
        x, y = canvas.eye.to_screen((at.x() - left) / scale, (at.y() - top) / scale)
        canvas.pan(canvas.width() / 2 - x, canvas.height() / 2 - y)
