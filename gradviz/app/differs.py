"""Marks that lie over the cards of a canvas: what differs from another run, where the playhead stops, the spotlight."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen

from gradviz.app.bulk import placed
from gradviz.app.eye import Eye
from gradviz.app.paint import color, font
from gradviz.graph.model import Graph
from gradviz.scene.compose import Scene
from gradviz.scene.moment import HIDDEN, find_card

Ints = npt.NDArray[np.int64]
SIGN = 15.0
MOST = 600
"""Marks that are drawn at once."""
DOT = 5.0
LIT, SHADE = 14.0, 0.78
"""The rim of light around the card in the spotlight, in pixels, and how much of the rest the shade hides."""
LEGIBLE = 26.0
"""Cards that are narrower on the screen have no room for the sign."""


def cards_of(graph: Graph, keys: Iterable[str]) -> Ints:
    """Positions of the cards of these keys, as far as the graph has them."""
    return np.asarray(sorted({card for key in keys if (card := find_card(graph, key)) is not None}), np.int64)


def paint_differs(painter: QPainter, scene: Scene, eye: Eye, cards: Ints) -> None:
    """Mark these cards, as far as they are in view at this step."""
    theme, far = scene.moment.theme, scene.far
    window = painter.viewport()
    rows = placed(far.boxes[cards], eye.left, eye.top, eye.scale, 4.0)
    inside = (rows[:, 0] < window.width()) & (rows[:, 1] < window.height())
    inside &= (rows[:, 0] + rows[:, 2] > 0) & (rows[:, 1] + rows[:, 3] > 0) & (scene.moment.codes[cards] != HIDDEN)
    shown = rows[inside][:MOST]
    pen = QPen(color(theme.text), 2.0)
    pen.setDashPattern([4, 2.5])
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for x, y, width, height in shown.tolist():
        box = QRectF(x, y, width, height).adjusted(-4, -4, 4, 4)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box, 9, 9)
        if box.width() >= LEGIBLE:
            sign = QRectF(0, 0, SIGN, SIGN)
            sign.moveCenter(QPointF(box.right(), box.top()))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color(theme.text))
            painter.drawEllipse(sign)
            painter.setPen(color(theme.panel))
            painter.setFont(font("mono", 12, 700))
            painter.drawText(sign, Qt.AlignmentFlag.AlignCenter, "≠")


def paint_breaks(painter: QPainter, scene: Scene, eye: Eye, keys: Iterable[str]) -> None:
    """A dot at the corner of each card that the playhead stops at."""
    theme = scene.moment.theme
    for key in sorted(keys):
        box = scene.composer.anchor(key)
        card = find_card(scene.moment.graph, key)
        if box is None or card is None or scene.moment.codes[card] == HIDDEN:
            continue
        x, y = eye.to_screen(box[0], box[1])
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(color(theme.panel), 1.5))
        painter.setBrush(color(theme.selection))
        painter.drawEllipse(QPointF(x, y + box[3] * eye.scale / 2), DOT, DOT)


def paint_spotlight(painter: QPainter, scene: Scene, eye: Eye) -> None:
    """Put everything but the card where the step happens into the shade."""
    now = scene.moment.now
    if now is None:
        return
    x, y, width, height = scene.far.boxes[now].tolist()
    left, top = eye.to_screen(x, y)
    card = QRectF(left, top, width * eye.scale, height * eye.scale).adjusted(-LIT, -LIT, LIT, LIT)
    shade = QPainterPath()
    shade.addRect(QRectF(painter.viewport()))
    shade.addRoundedRect(card, LIT, LIT)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillPath(shade, color(scene.moment.theme.canvas, SHADE))
