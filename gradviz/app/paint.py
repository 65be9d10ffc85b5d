"""Shapes onto a QPainter: the same ones that the SVG writer writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QPainter,
    QPainterPath,
    QPen,
    QPolygonF,
    QStaticText,
    QTransform,
)

from gradviz.app.fonts import MONO, SANS
from gradviz.scene.shapes import Cells, Curve, Poly, Rect, Shape, Text, cell_lines


@lru_cache(512)
def color(name: str, opacity: float = 1.0) -> QColor:
    """A QColor of "#RRGGBB"."""
    made = QColor(name)
    made.setAlphaF(opacity)
    return made


@lru_cache(64)
def font(face: str, size: float, weight: int) -> QFont:
    """A font of that face ("mono" or "sans"), size in pixels and weight."""
    made = QFont([*(MONO if face == "mono" else SANS)])
    made.setPixelSize(max(1, round(size)))
    if abs(size - round(size)) > 0.01:
        made.setPixelSize(max(1, int(size)))
    made.setWeight(QFont.Weight(weight))
    made.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    made.setKerning(False)
    return made


@lru_cache(512)
def pen(name: str, opacity: float, line: float, dash: tuple[float, ...]) -> QPen:
    """A pen with round ends; dash lengths are in pixels, as in SVG."""
    made = QPen(color(name, opacity), line)
    made.setCapStyle(Qt.PenCapStyle.FlatCap if dash else Qt.PenCapStyle.RoundCap)
    made.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    if dash:
        made.setDashPattern([d / line for d in dash])
    return made


NO_PEN = QPen(Qt.PenStyle.NoPen)
NO_BRUSH = QBrush(Qt.BrushStyle.NoBrush)


def paint(painter: QPainter, shapes: Iterable[Shape]) -> None:
    """Draw shapes in order, in scene coordinates of the painter's transform."""
    for shape in shapes:
        _DRAW[type(shape)](painter, shape)


def _curve(painter: QPainter, c: Curve) -> None:
    painter.setPen(pen(c.stroke, c.opacity, c.line, c.dash))
    painter.setBrush(NO_BRUSH)
    painter.drawPath(curve(c.points))


@lru_cache(16384)
def curve(points: tuple[tuple[float, float], ...]) -> QPainterPath:
    """A path of cubic curves."""
    path = QPainterPath(QPointF(*points[0]))
    for k in range(1, len(points) - 2, 3):
        path.cubicTo(QPointF(*points[k]), QPointF(*points[k + 1]), QPointF(*points[k + 2]))
    return path


def _brush(name: str | None, opacity: float) -> QBrush:
    return _solid(name, opacity) if name else NO_BRUSH


@lru_cache(512)
def _solid(name: str, opacity: float) -> QBrush:
    return QBrush(color(name, opacity))


def _rect(painter: QPainter, r: Rect) -> None:
    painter.setPen(pen(r.stroke, r.opacity, r.line, r.dash) if r.stroke else NO_PEN)
    painter.setBrush(_brush(r.fill, r.opacity))
    box = QRectF(r.x, r.y, r.width, r.height)
    if r.corners != "all":
        painter.drawPath(_half_round(r.x, r.y, r.width, r.height, r.radius, r.corners == "top"))
    elif r.radius:
        painter.drawRoundedRect(box, r.radius, r.radius)
    else:
        painter.drawRect(box)


@lru_cache(4096)
def _half_round(x: float, y: float, width: float, height: float, radius: float, top: bool) -> QPainterPath:
    box, path = QRectF(x, y, width, height), QPainterPath()
    path.addRoundedRect(box, radius, radius)
    square = QRectF(box)
    if top:
        square.setTop(box.bottom() - min(radius, box.height() / 2))
    else:
        square.setBottom(box.top() + min(radius, box.height() / 2))
    path.addRect(square)
    path.setFillRule(Qt.FillRule.WindingFill)
    return path.simplified()


def _poly(painter: QPainter, p: Poly) -> None:
    painter.setPen(pen(p.stroke, p.opacity, p.line, p.dash) if p.stroke else NO_PEN)
    painter.setBrush(_brush(p.fill, p.opacity))
    if p.closed:
        painter.drawPolygon(polygon(p.points))
    else:
        painter.drawPolyline(polygon(p.points))


@lru_cache(16384)
def polygon(points: tuple[tuple[float, float], ...]) -> QPolygonF:
    """Points as Qt has them."""
    return QPolygonF([QPointF(x, y) for x, y in points])


@lru_cache(16384)
def _static(text: str, face: str, size: float, weight: int) -> tuple[QStaticText, float, float]:
    """Words laid out once, with their width and ascent."""
    made = QStaticText(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setPerformanceHint(QStaticText.PerformanceHint.AggressiveCaching)
    chosen = font(face, size, weight)
    made.prepare(QTransform(), chosen)
    return made, made.size().width(), _ascent(face, size, weight)


@lru_cache(64)
def _ascent(face: str, size: float, weight: int) -> float:
    from PySide6.QtGui import QFontMetricsF

    return QFontMetricsF(font(face, size, weight)).ascent()


def words(painter: QPainter, t: Text) -> None:
    """Draw one line of text."""
    words, width, ascent = _static(t.text, t.font, t.size, t.weight)
    painter.setFont(font(t.font, t.size, t.weight))
    painter.setPen(color(t.color, t.opacity))
    shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[t.anchor]
    painter.drawStaticText(QPointF(t.x - shift * width, t.y - ascent), words)


def _cells(painter: QPainter, c: Cells) -> None:
    radius = min(2.0, c.size / 5)
    for x, y, name, mark in c.boxes():
        if mark == "o":
            painter.setPen(pen(c.ink, 0.7 * c.opacity, 0.8, (2, 1.6)))
            painter.setBrush(NO_BRUSH)
            painter.drawRoundedRect(QRectF(x + 0.5, y + 0.5, c.size - 1, c.size - 1), radius, radius)
            continue
        painter.setPen(NO_PEN)
        painter.setBrush(color(name, c.opacity))
        if c.size < 4:
            painter.drawRect(QRectF(x, y, c.size, c.size))
        else:
            painter.drawRoundedRect(QRectF(x, y, c.size, c.size), radius, radius)
        lines = cell_lines(x, y, c.size, mark)
        if lines:
            painter.setPen(pen(c.ink, c.opacity, 1.0, ()))
            painter.setBrush(NO_BRUSH)
            for line in lines:
                painter.drawPolyline(polygon(line))


_DRAW: dict[type, Callable[[QPainter, Any], None]] = {
    Rect: _rect,
    Curve: _curve,
    Poly: _poly,
    Text: words,
    Cells: _cells,
}
