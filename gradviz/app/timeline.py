"""The bottom panel: all steps on four tracks, with a playhead that can be dragged."""

from __future__ import annotations

import time

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QPolygonF,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gradviz.app.fonts import load_fonts
from gradviz.app.paint import color, font, pen
from gradviz.app.style import larger
from gradviz.app.track_paint import CHIP_FROM, LEFT, ROWS, TOP, Picture, paint_chip, paint_names, paint_tracks
from gradviz.app.tracks import Tracks
from gradviz.explain import Words, narrate, step_label
from gradviz.player.view import ViewState
from gradviz.scene.theme import load_theme
from gradviz.session import Session
from gradviz.trace.values import number

WIDEST = 48.6
"""Pixels a step takes where there is room enough."""
RIGHT = 24
GROW_SECONDS = 0.012
REDRAW_SECONDS = 0.25
"""While a long recording grows, the tracks are drawn anew this often."""
LOWEST = 168
"""Units of height that the tracks need."""
FUTURE = 0.36
"""Opacity of what has not happened yet."""
_REPAINT = ("step", "selection", "search", "language", "theme", "presenter", "show", "quiz", "engine")


class Timeline(QWidget):
    """Shows `session`; a click, a drag of the playhead or an arrow key sets `session.view.step`.

    The wheel zooms at the cursor, with Shift (or a horizontal wheel) it pans; a double click shows all again.
    """

    moved = Signal()
    """Another part of the recording is in view."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        load_fonts()
        self.session = session
        self.tracks = Tracks(session.trace)
        self._scale: float | None = None
        self._first = 0.0
        self._pictures: tuple[tuple[object, ...], QPixmap, float] | None = None
        """What the tracks were painted from, the picture, and how wide a step was in it."""
        self._shape: tuple[tuple[object, ...], Picture] | None = None
        self._drawn = 0.0
        self._dragging = False
        self._pan: QPoint | None = None
        self._reader = QTimer(self)
        self._reader.setInterval(0)
        self._reader.timeout.connect(self._read)
        self._later = QTimer(self, singleShot=True)
        self._later.timeout.connect(self.update)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setMinimumHeight(LOWEST)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._name()
        self.destroyed.connect(session.listen(self._changed))
        self._read()

    def sizeHint(self) -> QSize:
        """Room for the four tracks."""
        return QSize(900, round(212 * self.larger))

    @property
    def hits(self) -> frozenset[int]:
        """Steps that the view's search found."""
        return self.session.hits.steps

    # ---- following the session

    def _changed(self, old: ViewState, new: ViewState) -> None:
        if old.revision != new.revision:
            self.tracks = Tracks(self.session.trace)
            self._scale, self._first = None, 0.0
        if old.revision != new.revision or old.events != new.events or old.steps != new.steps:
            self._read()
        if old.step != new.step and not self._dragging:
            self._reveal(new.step)
        if any(getattr(old, name) != getattr(new, name) for name in _REPAINT):
            self._name()
            self.setMinimumHeight(round(LOWEST * self.larger))
            self.update()

    def _read(self) -> None:
        if self.tracks.grow(GROW_SECONDS):
            self._reader.stop()
        else:
            self._reader.start()
        self.update()

    def _name(self) -> None:
        view = self.session.view
        words = Words(view.language)
        self.setAccessibleName(words("ui.timeline.name"))
        self.setAccessibleDescription(words("ui.timeline.step", step=f"{view.step:,}", steps=f"{view.steps:,}"))

    # ---- places: in units of the drawing, which are pixels but before an audience

    @property
    def larger(self) -> float:
        """Pixels of a unit."""
        return larger(self.session.view)

    @property
    def wide(self) -> int:
        """Width of the panel."""
        return round(self.width() / self.larger)

    @property
    def high(self) -> int:
        """Height of the panel."""
        return round(self.height() / self.larger)

    def scale(self) -> float:
        """Units that one step takes."""
        return self._fitting() if self._scale is None else self._scale

    def _fitting(self) -> float:
        return min(WIDEST, max(1.0, self.wide - LEFT - RIGHT) / max(1, self.session.view.steps + 0.5))

    def x_of(self, step: float) -> float:
        """Where the middle of a step is."""
        return LEFT + (step - self._first) * self.scale()

    def step_at(self, x: float) -> int:
        """The step at a place, inside the recording."""
        step = round((x - LEFT) / self.scale() + self._first)
        return max(0, min(step, self.session.view.steps))

    def zoom(self, factor: float, x: float | None = None) -> None:
        """Make steps wider (factor > 1) or narrower around a place; never narrower than all of them need."""
        at = self.x_of(self.session.view.step) if x is None else x
        under = (at - LEFT) / self.scale() + self._first
        scale = min(WIDEST * 1.6, self.scale() * factor)
        if scale <= self._fitting():
            self.show_all()
            return
        self._scale = scale
        self._look(under - (at - LEFT) / scale)

    def show_all(self) -> None:
        """The whole recording in view."""
        self._scale = None
        self._look(0.0)

    def _look(self, first: float) -> None:
        room = max(1.0, self.wide - LEFT - RIGHT) / self.scale()
        self._first = max(0.0, min(first, self.session.view.steps + 0.5 - room)) if self._scale else 0.0
        self.update()
        self.moved.emit()

    def _reveal(self, step: int) -> None:
        if self._scale is None:
            return
        room = max(1.0, self.wide - LEFT - RIGHT) / self._scale
        if not self._first <= step <= self._first + room:
            self._look(step - room / 3)

    # ---- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Past solid, future faint, from one picture; then what depends on the step."""
        view = self.session.view
        theme = load_theme(view.theme)
        painter = QPainter(self)
        painter.fillRect(self.rect(), color(theme.panel))
        painter.scale(self.larger, self.larger)
        self._captions(painter)
        if not self.tracks.steps:
            self._empty(painter)
            return
        picture = self._picture()
        x = self.x_of(view.step)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        painter.setClipRect(QRectF(LEFT - 14, 0, max(0.0, x - LEFT + 14), self.high))
        painter.drawPixmap(0, 0, picture)
        painter.setClipRect(QRectF(max(x, LEFT - 14), 0, self.wide, self.high))
        if not view.hides:
            painter.setOpacity(FUTURE)
            painter.drawPixmap(0, 0, picture)
        painter.setOpacity(1.0)
        painter.setClipping(False)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._mark_hits(painter)
        paint_names(painter, self._geometry(), view.step, 0.0 if view.hides else 2 * FUTURE)
        self._playhead(painter, x)
        self._here(painter, x)

    def _geometry(self) -> Picture:
        """What is to be painted: the same one as long as only the step changes."""
        view, key = self.session.view, self._key()
        if self._shape is None or self._shape[0] != key:
            made = Picture(
                self.tracks,
                load_theme(view.theme),
                self.wide,
                self.high,
                self.scale(),
                self._first,
                lambda step: step_label(self.session.trace, step),
                Words(view.language),
            )
            self._shape = (key, made)
        return self._shape[1]

    def _key(self) -> tuple[object, ...]:
        view = self.session.view
        return (
            (self.tracks.events, self.scale()),
            (view.revision, view.theme, view.language),
            (self.size(), self.devicePixelRatioF() * self.larger, self._first),
        )

    def _picture(self) -> QPixmap:
        """The tracks without the playhead, made anew when anything but the step changes; while a long recording grows,
        the last picture is pushed together for a moment."""
        ratio, key = self.devicePixelRatioF(), self._key()
        if self._pictures is not None and self._pictures[0] == key:
            return self._pictures[1]
        rest = self._drawn + REDRAW_SECONDS - time.monotonic()
        if self._grows(key) and rest > 0:
            self._later.start(max(1, int(rest * 1000)))
            return self._pushed(ratio)
        pixmap = self._blank(ratio)
        painter = QPainter(pixmap)
        paint_tracks(painter, self._geometry())
        painter.end()
        self._pictures, self._drawn = (key, pixmap, self.scale()), time.monotonic()
        return pixmap

    def _grows(self, key: tuple[object, ...]) -> bool:
        """Only the number of steps has changed since the last picture, and they are too narrow for chips."""
        if self._pictures is None or self.scale() >= CHIP_FROM or self._scale is not None:
            return False
        return self._pictures[0][1:] == key[1:]

    def _pushed(self, ratio: float) -> QPixmap:
        """The last picture with its steps as wide as they are now."""
        assert self._pictures is not None
        pixmap, share = self._blank(ratio), self.scale() / self._pictures[2]
        painter = QPainter(pixmap)
        painter.translate(LEFT, 0)
        painter.scale(share, 1.0)
        painter.drawPixmap(-LEFT, 0, self._pictures[1])
        painter.end()
        return pixmap

    def _blank(self, ratio: float) -> QPixmap:
        pixmap = QPixmap(self.size() * ratio)
        pixmap.setDevicePixelRatio(ratio * self.larger)
        pixmap.fill(Qt.GlobalColor.transparent)
        return pixmap

    def _captions(self, painter: QPainter) -> None:
        view = self.session.view
        theme, words = load_theme(view.theme), Words(view.language)
        painter.setFont(font("sans", 12, 400))
        painter.setPen(color(theme.text_dim))
        for name, (top, height) in ROWS.items():
            box = QRectF(18, self._y(top), LEFT - 30, height)
            text = painter.fontMetrics().elidedText(
                words(f"ui.timeline.{name}"), Qt.TextElideMode.ElideRight, int(box.width())
            )
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, text)
        said = words("ui.timeline.step", step=f"{view.step:,}", steps=f"{view.steps:,}")
        painter.setPen(color(theme.text))
        right = self._geometry().counts_right(self.x_of(view.step))
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        painter.drawText(QRectF(18, 8, self.wide - 36, 18), side | Qt.AlignmentFlag.AlignVCenter, said)
        if self.hasFocus():
            painter.setPen(pen(theme.forward, 1.0, 1.5, ()))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(0.75, 0.75, self.wide - 1.5, self.high - 1.5))

    def _y(self, top: float) -> float:
        return self._geometry().y(top)

    def _empty(self, painter: QPainter) -> None:
        painter.setPen(color(load_theme(self.session.view.theme).text_faint))
        box = QRectF(LEFT, TOP, self.wide - LEFT - RIGHT, self.high - TOP - 12)
        flags = int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap)
        painter.drawText(box, flags, Words(self.session.view.language)("ui.timeline.empty"))

    def _mark_hits(self, painter: QPainter) -> None:
        theme = load_theme(self.session.view.theme)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color(theme.selection))
        places = np.unique(np.round(self._geometry().xs(np.fromiter(self.hits, np.int64))))
        for place in places[(places >= LEFT - 14) & (places <= self.wide)].tolist():
            painter.drawEllipse(QPointF(place, self._y(TOP) - 4), 2.0, 2.0)

    def _playhead(self, painter: QPainter, x: float) -> None:
        theme = load_theme(self.session.view.theme)
        fault = self.session.trace.kind(self.session.view.step) == "fault"
        ink = theme.error if fault else theme.text
        painter.setPen(pen(ink, 1.0, 2.0, ()))
        painter.drawLine(QPointF(x, 12), QPointF(x, self.high - 14))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color(ink))
        head = [QPointF(x - 7, 4), QPointF(x + 7, 4), QPointF(x + 7, 11), QPointF(x, 18), QPointF(x - 7, 11)]
        painter.drawPolygon(QPolygonF(head))

    def _here(self, painter: QPainter, x: float) -> None:
        """What the playhead stands on, said in full: the chip, each leaf's norm, the bytes kept."""
        geometry, view = self._geometry(), self.session.view
        if view.step:
            paint_chip(painter, geometry, view.step, current=True)
        room = self.wide - x
        align = Qt.AlignmentFlag.AlignLeft if room > 190 else Qt.AlignmentFlag.AlignRight
        left = x + 6 if room > 190 else x - 190
        painter.setFont(font("mono", 10, 400))
        for text, ink, y in self._leaf_texts(geometry) + [self._bytes_text(geometry)]:
            if not text:
                continue
            width = painter.fontMetrics().horizontalAdvance(text)
            at = left - 2 if align == Qt.AlignmentFlag.AlignLeft else x - width - 8
            painter.fillRect(QRectF(at, y - 13, width + 4, 13), color(geometry.theme.panel))
            painter.setPen(color(ink))
            painter.drawText(QRectF(left, y - 13, 184, 13), align | Qt.AlignmentFlag.AlignVCenter, text)

    def _leaf_texts(self, geometry: Picture) -> list[tuple[str, str, float]]:
        texts: list[tuple[str, str, float]] = []
        taken: list[float] = []
        top = self._y(ROWS["backward"][0]) + ROWS["backward"][1] + 13  # the text stands above its line
        floor = self._y(ROWS["saved"][0])
        for (leaf, norm), ink in zip(geometry.norms_at(self.session.view.step), geometry.leaf_inks(), strict=True):
            if norm != norm:
                continue
            y = geometry.stair_y(norm) - 1
            ways = (y + 12 * k for k in (0, -1, -2, -3, 1, 2, 3))
            free = (w for w in ways if top <= w <= floor and all(abs(w - other) >= 12 for other in taken))
            if (place := next(free, None)) is None:
                continue
            taken.append(y := place)
            texts.append((f"{self._leaf_name(leaf)} {number(norm, 2 if norm >= 0.01 else 4)}", ink, y))
        return texts

    def _leaf_name(self, leaf: int) -> str:
        if leaf < 0:
            return Words(self.session.view.language)("ui.timeline.all_leaves")
        return self.session.trace.name(leaf) or f"#{leaf}"

    def _bytes_text(self, geometry: Picture) -> tuple[str, str, float]:
        trace, step = self.session.trace, self.session.view.step
        frame = self.session.frame
        held, retained = frame.held_bytes, frame.retained_bytes
        words = Words(self.session.view.language)
        begun = int((trace.pass_step.view <= step).sum())
        key = "kept" if not retained else "kept_retained" if retained == held else "kept_partly"
        said = words(f"ui.timeline.{key}", bytes=bytes_text(held), retained=bytes_text(retained))
        text = said if held or begun else ""
        return text, geometry.theme.saved, geometry.held_y(held) - 2

    # ---- hands

    def _at(self, event: QMouseEvent | QWheelEvent) -> float:
        """Where an event happened, in units of the drawing."""
        return event.position().x() / self.larger

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take the playhead, or with the middle button the tracks."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._dragging = True
            self._scrub(self._at(event))
        elif event.button() == Qt.MouseButton.MiddleButton:
            self._pan = event.position().toPoint()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Scrub or pan; else say that a step can be clicked."""
        if self._dragging:
            self._scrub(self._at(event))
        elif self._pan is not None:
            here = event.position().toPoint()
            self._look(self._first - (here.x() - self._pan.x()) / self.larger / self.scale())
            self._pan = here
        else:
            near = abs(self._at(event) - self.x_of(self.session.view.step)) < 7
            self.setCursor(Qt.CursorShape.SizeHorCursor if near else Qt.CursorShape.ArrowCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go."""
        self._dragging, self._pan = False, None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Show the whole recording."""
        self.show_all()

    def _scrub(self, x: float) -> None:
        if self._scale is not None and not LEFT <= x <= self.wide - RIGHT:
            self._look(self._first + (x - (LEFT if x < LEFT else self.wide - RIGHT)) / self.scale() / 4)
        self._go(self.step_at(x))

    def _go(self, step: int) -> None:
        step = max(0, min(step, self.session.view.steps))
        self.session.update(step=step, alpha=1.0, playing=False)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom at the cursor; with Shift or sideways, pan."""
        turn, sideways = event.angleDelta().y(), event.angleDelta().x()
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier or abs(sideways) > abs(turn):
            self._look(self._first - (sideways or turn) / 2 / self.scale())
        elif turn:
            self.zoom(1.0015**turn, self._at(event))
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows, Home, End; + and - zoom, 0 shows all."""
        step, key = self.session.view.step, event.key()
        moves = {Qt.Key.Key_Right: step + 1, Qt.Key.Key_Left: step - 1, Qt.Key.Key_Home: 0}
        moves[Qt.Key.Key_End] = self.session.view.steps
        if key in moves:
            self._go(moves[Qt.Key(key)])
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            self.zoom(1 / 1.5 if key == Qt.Key.Key_Minus else 1.5)
        elif key == Qt.Key.Key_0:
            self.show_all()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Tooltips tell the step under the cursor."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            at = QPointF(event.pos()) / self.larger
            QToolTip.showText(event.globalPos(), self.tip(at.x(), at.y()), self)
            return True
        return super().event(event)

    def tip(self, x: float, y: float) -> str:
        """What is said about the place under the cursor."""
        words = Words(self.session.view.language)
        for name, (top, height) in ROWS.items():
            if x < LEFT - 14 and self._y(top) <= y <= self._y(top) + height:
                return words(f"ui.timeline.{name}_tip")
        if not self.tracks.steps or x < LEFT - 14:
            return ""
        step = self.step_at(x)
        head = words("ui.timeline.step", step=f"{step:,}", steps=f"{self.session.view.steps:,}")
        if not step or (self.session.view.hides and step > self.session.view.step):
            return head
        said = narrate(self.session.trace, step, self.session.view.language)
        return f"{head} · {step_label(self.session.trace, step)}\n{said.title}"

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep inside the recording."""
        self._look(self._first)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show that keys go here."""
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Show that they go elsewhere."""
        super().focusOutEvent(event)
        self.update()


def bytes_text(count: int) -> str:
    """`104 B`, `1.2 KB`, `3.4 MB`: powers of 1024."""
    size, unit = float(count), "B"
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if size < 1024 or unit == "TB":
            break
        size /= 1024
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
