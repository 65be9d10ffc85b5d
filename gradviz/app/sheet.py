"""A sheet of facts: rows painted one below the other, some of which can be clicked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QApplication, QSizePolicy, QToolTip, QWidget

from gradviz.app.fonts import load_fonts
from gradviz.app.formula import formula
from gradviz.app.paint import color, font, pen
from gradviz.app.rows import Entry, Formula, Go, Head, Note, Numbers, Pair, Row, Swatch, Terms, Title, spoken
from gradviz.scene.heat import blocks, grid_of, magnitude, paint
from gradviz.scene.theme import Theme, contrast, load_theme, mix
from gradviz.trace.events import Data
from gradviz.trace.values import NotCaptured, number, thumbnail, to_numpy

PAD = 18.0
LABEL = 72.0
CELL_HEIGHT = 27.0
NARROWEST = 44.0
"""Fewest pixels of a cell that shows its number."""
STEPS = 30.0
"""Width of a table's column of steps; it grows with their digits."""
MOST_ROWS = 8
WRAPPED = 40
"""Most elements of a vector whose numbers are written in several lines."""
FAINT = 0.6
"""How far the colours of what is not there go towards the ground."""
PICTURE = 32
"""Rows and columns of a tensor too large for numbers."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place that answers: where a click leads, which element it is, what its tooltip says."""

    box: QRectF
    go: Go = None
    name: str = ""
    element: tuple[int, ...] | None = None
    tip: str = ""
    light: str = ""
    """Key of what the pointer lights here."""


class Sheet(QWidget):
    """Paints rows. `followed` tells where a click leads, `chosen` which element of which `Numbers` was clicked,
    `pointed` the key of what the pointer is at, or None."""

    followed = Signal(object)
    chosen = Signal(str, object)
    pointed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        load_fonts()
        self.rows: list[Row] = []
        self.spots: list[Spot] = []
        self.theme: Theme = load_theme("light")
        self._larger = 1.0
        self._asks = ""
        self._focus = -1
        self._lit: str | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_rows(self, rows: list[Row], theme: Theme, larger: float = 1.0) -> None:
        """Show other rows, or the same in other colours or larger."""
        if rows == self.rows and theme is self.theme and larger == self._larger:
            return
        self.rows, self.theme, self._larger = rows, theme, larger
        self.setAccessibleDescription(spoken(rows))
        self._arrange()
        self.update()

    def light(self, key: str | None) -> None:
        """Mark the places that are about this key, whoever points at it."""
        if key != self._lit:
            self._lit = key
            self.update()

    def _arrange(self) -> None:
        """Lay the rows out without painting, to know the height and the places that answer."""
        self.spots = []
        height = _Pen(None, self.theme, max(self.width() / self._larger, 200.0), self.spots).all(self.rows)
        self.setFixedHeight(round(height * self._larger))

    def sizeHint(self) -> QSize:
        """As wide as the design has it."""
        return QSize(round(340 * self._larger), self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """All rows: there are a few dozen at most."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), color(self.theme.panel))
        painter.scale(self._larger, self._larger)
        _Pen(painter, self.theme, self.width() / self._larger, []).all(self.rows)
        self._paint_lit(painter)
        links = self._links()
        if self.hasFocus() and 0 <= self._focus < len(links):
            painter.setPen(pen(self.theme.forward, 1.0, 1.5, ()))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(links[self._focus].box.adjusted(-3, -1, 3, 1), 3, 3)

    def _paint_lit(self, painter: QPainter) -> None:
        if self._lit is None:
            return
        painter.setPen(pen(self.theme.selection, 1.0, 1.5, ()))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for spot in self.spots:
            if self._lit in (spot.light, spot.go):
                painter.drawRoundedRect(spot.box.adjusted(-2, -1, 2, 1), 3, 3)

    def leaveEvent(self, event: QEvent) -> None:
        """The pointer is at nothing here any more."""
        self.pointed.emit(None)

    def event(self, event: QEvent) -> bool:
        """Another width moves everything; tooltips tell what was cut."""
        if event.type() == QEvent.Type.Resize:
            self._arrange()
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            spot = self._spot(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), spot.tip if spot else "", self)
            return True
        return super().event(event)

    def _spot(self, at: QPointF) -> Spot | None:
        return next((spot for spot in self.spots if spot.box.contains(at / self._larger)), None)

    def _links(self) -> list[Spot]:
        return [spot for spot in self.spots if spot.go is not None]

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """A hand where a click leads somewhere."""
        spot = self._spot(event.position())
        answers = spot is not None and (spot.go is not None or spot.element is not None)
        self.setCursor(Qt.CursorShape.PointingHandCursor if answers else Qt.CursorShape.ArrowCursor)
        key = (spot.light or spot.go) if spot is not None else None
        self.pointed.emit(key if isinstance(key, str) and not key.startswith(("do:", "why:")) else None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Taken, so that the release comes here too."""
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Follow a row or choose an element."""
        spot = self._spot(event.position())
        if spot is None or event.button() != Qt.MouseButton.LeftButton:
            return
        if spot.go is not None:
            self.followed.emit(spot.go)
        elif spot.element is not None:
            self.chosen.emit(spot.name, spot.element)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and down walk the links, Enter follows, Ctrl+C copies all as text."""
        links = self._links()
        if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up) and links:
            self._focus = (self._focus + (1 if event.key() == Qt.Key.Key_Down else -1)) % len(links)
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and 0 <= self._focus < len(links):
            self.followed.emit(links[self._focus].go)
        elif event.key() == Qt.Key.Key_C and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            QApplication.clipboard().setText(spoken(self.rows))
        else:
            super().keyPressEvent(event)


class _Pen:
    """Goes down the sheet row by row; without a painter it only measures and notes the spots."""

    def __init__(self, painter: QPainter | None, theme: Theme, width: float, spots: list[Spot], asks: str = "") -> None:
        self.painter = painter
        self.asks = asks
        self.theme = theme
        self.width = width
        self.spots = spots
        self.y = 14.0
        self.steps = STEPS

    @property
    def room(self) -> float:
        return self.width - 2 * PAD

    def all(self, rows: list[Row]) -> float:
        draw: dict[type, Callable[..., None]] = {
            Title: self.title,
            Head: self.head,
            Pair: self.pair,
            Numbers: self.numbers,
            Note: self.note,
            Formula: self.formula,
            Entry: self.entry,
            Swatch: self.swatch,
            Terms: self.terms,
        }
        metrics = QFontMetricsF(font("mono", 11, 400))
        told = (metrics.horizontalAdvance(row.step) for row in rows if isinstance(row, Entry) and not row.heading)
        self.steps = max([STEPS, *(wide + 2 for wide in told)])
        for row in rows:
            draw[type(row)](row)
        return self.y + 14

    def text(
        self,
        x: float,
        room: float,
        height: float,
        text: str,
        token: str,
        face: str = "sans",
        size: float = 12.0,
        weight: int = 400,
        *,
        right: bool = False,
        struck: bool = False,
    ) -> float:
        """One line, elided; gives its width. What was cut goes into a tooltip."""
        made = font(face, size, weight)
        metrics = QFontMetricsF(made)
        fitted = metrics.elidedText(text, Qt.TextElideMode.ElideRight, max(room, 0.0))
        wide = metrics.horizontalAdvance(fitted)
        box = QRectF(x, self.y, room, height)
        if fitted != text:
            self.spots.append(Spot(box, tip=text))
        if self.painter:
            self.painter.setFont(made)
            self.painter.setPen(color(self.theme.color(token)))
            side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
            self.painter.drawText(box, side | Qt.AlignmentFlag.AlignVCenter, fitted)
            if struck:
                middle = self.y + height / 2
                self.painter.drawLine(QPointF(x, middle), QPointF(x + wide, middle))
        return wide

    def link(self, top: float, go: Go) -> None:
        if go is not None:
            self.spots.insert(0, Spot(QRectF(PAD - 4, top, self.room + 8, self.y - top), go))

    # ---- rows

    def title(self, row: Title) -> None:
        fits = (s for s in (17, 15, 13) if QFontMetricsF(font("mono", s, 700)).horizontalAdvance(row.text) <= self.room)
        self.text(PAD, self.room, 24, row.text, row.token, "mono", next(fits, 12), 700)
        self.y += 25
        if row.detail:
            self.paragraph(row.detail, "text_dim", "sans", 12)
        self.y += 4

    def head(self, row: Head) -> None:
        self.y += 8
        if self.painter:
            self.painter.setPen(pen(self.theme.border, 1.0, 1.0, ()))
            self.painter.drawLine(QPointF(PAD, self.y), QPointF(self.width - PAD, self.y))
        self.y += 8
        wide = self.text(PAD, self.room, 20, row.text, "text_dim", weight=600)
        if row.ask:
            wide += self.question(PAD + wide + 7, row.ask)
        self.text(PAD + wide + 8, self.room - wide - 8, 20, row.right, "text_faint", "mono", 11, right=True)
        self.y += 23

    def question(self, x: float, ask: str) -> float:
        """A question mark in a ring that can be clicked; gives the width it takes."""
        ring = QRectF(x, self.y + 2, 16, 16)
        if self.painter:
            self.painter.setPen(pen(self.theme.forward, 1.0, 1.2, ()))
            self.painter.setBrush(Qt.BrushStyle.NoBrush)
            self.painter.drawEllipse(ring)
            self.painter.setFont(font("sans", 11, 700))
            self.painter.drawText(ring, Qt.AlignmentFlag.AlignCenter, "?")
        self.spots.insert(0, Spot(ring.adjusted(-3, -3, 3, 3), f"why:{ask}", tip=self.asks))
        return 24

    def pair(self, row: Pair) -> None:
        top = self.y
        right = QFontMetricsF(font("mono", 11.0, 400)).horizontalAdvance(row.right) if row.right else 0.0
        right = min(right, self.room * 0.5)
        label = QFontMetricsF(font("mono", 12.0, 600)).horizontalAdvance(row.label)
        column = max(LABEL, min(label + 12, self.room * 0.5)) if row.value else self.room - right - 8
        self.text(PAD, column - 6, 20, row.label, row.ink, "mono", 12, 600, struck=row.struck)
        if row.value:
            self.text(PAD + column, self.room - column - right - 8, 20, row.value, "text_dim", "sans", 12)
        if row.right:
            self.text(self.width - PAD - right - 1, right + 1, 20, row.right, row.right_ink, "mono", 11, right=True)
        self.y += 21
        self.link(top, row.go)

    def note(self, row: Note) -> None:
        top = self.y
        self.paragraph(row.text, row.token, "mono" if row.mono else "sans", 12)
        self.y += 3
        self.link(top, row.go)

    def paragraph(self, text: str, token: str, face: str, size: float) -> None:
        layout = _wrapped(text, font(face, size, 400), self.room)
        if self.painter:
            self.painter.setPen(color(self.theme.color(token)))
            layout.draw(self.painter, QPointF(PAD, self.y))
        self.y += layout.boundingRect().height() + 3

    def formula(self, row: Formula) -> None:
        ratio = self.painter.device().devicePixelRatio() if self.painter else 1.0
        picture = formula(row.tex, self.theme.text, 16.0, ratio) if row.tex else None
        left = PAD
        if row.label:
            height = picture.deviceIndependentSize().height() if picture else 20.0
            self.text(PAD, LABEL - 6, height, row.label, "text", "mono", 12, 600)
            left += LABEL
        if picture is None:
            self.text(left, self.width - PAD - left, 20, row.text, "text", "mono", 12)
            self.y += 21
            return
        size = picture.deviceIndependentSize()
        shrink = min(1.0, (self.width - PAD - left) / max(1.0, size.width()))
        if self.painter:
            self.painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            box = QRectF(left, self.y, size.width() * shrink, size.height() * shrink)
            self.painter.drawPixmap(box, picture, QRectF(picture.rect()))
        self.spots.append(Spot(QRectF(left, self.y, size.width() * shrink, size.height()), tip=row.text))
        self.y += max(20.0, size.height() * shrink) + 4

    def terms(self, row: Terms) -> None:
        """Pieces one after the other, broken between them; those that light something have a line below."""
        made, small = font("mono", 12, 400), font("mono", 9.5, 400)
        self.text(PAD, LABEL - 6, 20, row.label, "text", "mono", 12, 600)
        x = PAD + LABEL
        for part in row.parts:
            wide = QFontMetricsF(made).horizontalAdvance(part.text)
            after = QFontMetricsF(small).horizontalAdvance(part.below) + 3 if part.below else 0.0
            if x + wide + after > self.width - PAD and x > PAD + LABEL:
                x, self.y = PAD + LABEL, self.y + 20
            self.text(x, min(wide + 1, self.width - PAD - x), 20, part.text, part.ink, "mono", 12)
            if part.below:
                self.text(x + wide + 1, after, 21, part.below, "text_faint", "mono", 9.5)
            if part.key:
                self.underline(x, wide, part.ink)
                self.spots.insert(0, Spot(QRectF(x - 1, self.y + 1, wide + after + 1, 18), light=part.key, go=part.key))
            x += wide + after
        self.y += 21

    def underline(self, x: float, wide: float, ink: str) -> None:
        if self.painter:
            self.painter.setPen(pen(self.theme.color(ink), 1.0, 1.0, (2.0, 2.0)))
            self.painter.drawLine(QPointF(x, self.y + 18), QPointF(x + wide, self.y + 18))

    def entry(self, row: Entry) -> None:
        top = self.y
        height = 22.0
        if row.marked and self.painter:
            self.painter.setPen(Qt.PenStyle.NoPen)
            self.painter.setBrush(color(self.theme.gradient_fill))
            self.painter.drawRoundedRect(QRectF(PAD - 8, self.y, self.room + 16, height), 4, 4)
        token = "text_faint" if row.heading else "text"
        third, quarter = self.width - PAD - 116, self.width - PAD - 56
        self.text(PAD, self.steps, height, row.step, "text_faint", "sans" if row.heading else "mono", 11)
        source = PAD + self.steps + 2
        self.text(source, third - source - 4, height, row.source, token, "sans", 12)
        ink = "text_faint" if row.heading else row.ink
        face = "sans" if row.heading else "mono"
        self.text(third, 58, height, row.amount, ink, face, 11, right=True)
        self.text(quarter, 56, height, row.total, token, face, 11, right=True)
        self.y += height + 1
        self.link(top, row.go)

    def swatch(self, row: Swatch) -> None:
        if self.painter:
            self.painter.setPen(pen(self.theme.color(row.token), 1.0, 2.5, (4.0, 3.0) if row.token == "idle" else ()))
            self.painter.drawLine(QPointF(PAD, self.y + 10), QPointF(PAD + 22, self.y + 10))
        self.text(PAD + 32, self.room - 32, 20, row.text, "text_dim")
        self.y += 21

    def numbers(self, row: Numbers) -> None:
        data = row.data
        if data is None:
            if self.painter:
                self.painter.setPen(pen(self.theme.idle, 1.0, 1.0, (3.0, 3.0)))
                self.painter.setBrush(Qt.BrushStyle.NoBrush)
                self.painter.drawRoundedRect(QRectF(PAD + 0.5, self.y + 0.5, 64, CELL_HEIGHT - 1), 3, 3)
            self.text(PAD, 64, CELL_HEIGHT, "     None", "idle", "mono", 11)
            self.y += CELL_HEIGHT + 6
            return
        exact = _exact(data)
        columns = exact.shape[1] if exact is not None else 0
        fitting = columns * NARROWEST <= self.room or (exact is not None and exact.shape[0] == 1 and columns <= WRAPPED)
        if exact is not None and exact.shape[0] <= MOST_ROWS and fitting:
            self._written(row, exact, data)
        else:
            self._picture(data)
        self.y += 5

    def _written(self, row: Numbers, values: np.ndarray[tuple[int, int], np.dtype[np.float64]], data: Data) -> None:
        rows, columns = values.shape
        if columns * NARROWEST > self.room:  # a long vector goes on in the next line
            columns = int(self.room // 56)
            rows = -(-values.size // columns)
        wide = min(74.0, (self.room + 4) / max(columns, 1)) - 4
        colors, marks = paint(values, self.theme, magnitude(data))
        for i in range(rows):
            for j in range(columns):
                box = QRectF(PAD + j * (wide + 4), self.y, wide, CELL_HEIGHT)
                k = i * columns + j
                if k >= values.size:
                    break
                element = tuple(int(n) for n in np.unravel_index(k, data.shape)) if data.shape else ()
                tip = f"[{', '.join(map(str, element))}] = {float(values.flat[k])!r}"
                self.spots.append(Spot(box, None, row.name, element if row.name else None, tip))
                if self.painter:
                    ground = mix(colors[k], self.theme.panel, FAINT) if row.faint else colors[k]
                    self._cell(box, ground, marks[k], float(values.flat[k]), row.chosen == element)
            self.y += CELL_HEIGHT + 3

    def _cell(self, box: QRectF, ground: str, mark: str, value: float, chosen: bool) -> None:
        assert self.painter is not None
        theme, painter = self.theme, self.painter
        painter.setPen(pen(theme.selection, 1.0, 2.0, ()) if chosen else Qt.PenStyle.NoPen)
        painter.setBrush(color(ground))
        painter.drawRoundedRect(box, 3, 3)
        if mark == "n":
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(Qt.BrushStyle.BDiagPattern)
            painter.drawRoundedRect(box, 3, 3)
        ink = max((theme.text, theme.panel), key=lambda c: contrast(c, ground))
        text = number(value)
        for size in (12.0, 11.0, 10.0, 9.0):
            if QFontMetricsF(font("mono", size, 400)).horizontalAdvance(text) <= box.width() - 4:
                break
        else:
            text = number(value, 2)
        painter.setFont(font("mono", size, 400))
        painter.setPen(color(ink))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    def _picture(self, data: Data) -> None:
        picture = thumbnail(data)
        if picture is None or not picture.size:
            self.text(PAD, self.room, 20, f"{data.missing or '–'}", "text_faint", "mono", 11)
            self.y += 20
            return
        rows, columns = grid_of(data, PICTURE)
        rows, columns = min(rows, picture.shape[0]), min(columns, picture.shape[1])
        colors, _ = paint(blocks(picture, rows, columns), self.theme, magnitude(data))
        size = min(10.0, self.room / columns)
        if self.painter:
            self.painter.setPen(Qt.PenStyle.NoPen)
            for k, ground in enumerate(colors):
                self.painter.setBrush(color(ground))
                self.painter.drawRect(
                    QRectF(PAD + k % columns * size, self.y + k // columns * size, size - 0.7, size - 0.7)
                )
        self.y += rows * size + 2
        low, high = (number(v) if v is not None else "–" for v in (data.low, data.high))
        self.text(PAD, self.room, 18, f"{low} … {high}", "text_faint", "mono", 11)
        self.y += 18


def _exact(data: Data) -> np.ndarray[tuple[int, int], np.dtype[np.float64]] | None:
    """The content as a small matrix; None where it is large, or not kept."""
    if int(np.prod(data.shape, dtype=np.float64)) > 256 or "complex" in data.dtype:
        return None
    try:
        values = to_numpy(data).astype(np.float64)
    except NotCaptured:
        return None
    if not values.size:
        return None
    return values.reshape(-1, values.shape[-1]) if values.ndim else values.reshape(1, 1)


def _wrapped(text: str, made: QFont, room: float) -> QTextLayout:
    """Text in lines no wider than `room`: broken between words, and inside one only where it is wider than a line."""
    layout = QTextLayout(text.replace("\n", "\u2028"), made)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    layout.beginLayout()
    y = 0.0
    while (line := layout.createLine()).isValid():
        line.setLineWidth(room)
        line.setPosition(QPointF(0, y))
        y += line.height()
    layout.endLayout()
    return layout
