"""What stands beside the lines of a program: breakpoints and gradient signs in the gutter, values after the text."""

from __future__ import annotations

from dataclasses import dataclass, field

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF

from gradviz.app.paint import color
from gradviz.player.margin import Flow
from gradviz.scene.theme import Theme

SIGN = 3.2
DOT = 4.5
LONGEST = 80
"""Characters of values beside one line."""


@dataclass(frozen=True, slots=True)
class Beside:
    """By line, counted from 1."""

    values: dict[int, str] = field(default_factory=dict)
    flows: dict[int, Flow] = field(default_factory=dict)
    breaks: frozenset[int] = frozenset()


def paint_sign(painter: QPainter, theme: Theme, flow: Flow, x: float, y: float) -> None:
    """How far the gradient has come through a line: an empty dotted ring while its nodes wait, a triangle while one
    runs, a half-filled ring when some have run, a disc when all have, a struck ring when what they saved is freed."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    ink = {"waiting": theme.idle, "freed": theme.freed}.get(flow.sign, theme.gradient)
    pen = QPen(color(ink), 1.3)
    if flow.sign == "waiting":
        pen.setStyle(Qt.PenStyle.DotLine)
    painter.setPen(pen)
    painter.setBrush(color(ink) if flow.sign in ("running", "done") else Qt.BrushStyle.NoBrush)
    if flow.sign == "running":
        painter.drawPolygon(QPolygonF([QPointF(x + SIGN, y - SIGN), QPointF(x - SIGN, y), QPointF(x + SIGN, y + SIGN)]))
        return
    painter.drawEllipse(QPointF(x, y), SIGN, SIGN)
    if flow.sign == "partly":
        painter.setBrush(color(ink))
        painter.drawPie(QRectF(x - SIGN, y - SIGN, 2 * SIGN, 2 * SIGN), 90 * 16, 180 * 16)
    if flow.sign == "freed":
        painter.drawLine(QPointF(x - SIGN - 1.5, y + SIGN), QPointF(x + SIGN + 1.5, y - SIGN))


def paint_breakpoint(painter: QPainter, theme: Theme, x: float, y: float) -> None:
    """A disc."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color(theme.selection))
    painter.drawEllipse(QPointF(x, y), DOT, DOT)
