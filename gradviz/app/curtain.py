"""What the window shows before anything stands in it: the grounds of its panels, where they are going to be."""

from __future__ import annotations

from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gradviz.app.style import BAR, SIDES, TIMELINE
from gradviz.scene.theme import load_theme


class Curtain(QWidget):
    """Painted from a theme alone: needs no recording, no words and no numpy."""

    def __init__(self, theme: str) -> None:
        super().__init__()
        self._theme = load_theme(theme)
        self.painted = False

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        width, height = self.width(), self.height()
        low = height - TIMELINE
        panel, border = QColor(theme.panel), QColor(theme.border)
        painter.fillRect(self.rect(), QColor(theme.canvas))
        for box in (
            QRect(0, 0, width, BAR),
            QRect(0, BAR, SIDES[0], low - BAR),
            QRect(width - SIDES[2], BAR, SIDES[2], low - BAR),
            QRect(0, low, width, TIMELINE),
        ):
            painter.fillRect(box, panel)
        painter.setPen(border)
        painter.drawLine(0, BAR - 1, width, BAR - 1)
        painter.drawLine(SIDES[0], BAR, SIDES[0], low)
        painter.drawLine(width - SIDES[2], BAR, width - SIDES[2], low)
        painter.drawLine(0, low, width, low)
        painter.end()
        self.painted = True
