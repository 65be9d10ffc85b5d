"""The graph on the screen: one widget that paints what is in view, and lets a person walk around in it."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QNativeGestureEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from gradviz.app.differs import Ints, cards_of, paint_breaks, paint_differs, paint_spotlight
from gradviz.app.eye import Eye, centered, fitted, revealed, sight
from gradviz.app.fonts import load_fonts
from gradviz.app.levels import CROWD, Levels
from gradviz.app.minimap import Minimap
from gradviz.app.paint import color, font
from gradviz.app.style import larger
from gradviz.explain import Words
from gradviz.graph.messages import Placed
from gradviz.graph.model import Graph, Layout
from gradviz.player.view import ViewState
from gradviz.scene.compose import Composer, Scene
from gradviz.scene.describe import told
from gradviz.scene.moment import HIDDEN, find_card
from gradviz.scene.shapes import Box
from gradviz.scene.theme import load_theme
from gradviz.scene.walk import neighbour
from gradviz.session import Session

CLICK = 5.0
"""Pixels that the mouse may move between press and release of a click."""
GLIDE_MS = 180
REST_MS = 70
"""After so long without zooming the picture is drawn sharp."""
"""Of the spotlight: pixels around the card, and how much of the rest is covered."""
MINIMAP_FROM = 30
MINIMAP_EDGE = 16
_SHOWN = (
    "step",
    "alpha",
    "revision",
    "selection",
    "hover",
    "theme",
    "ghosts",
    "language",
    "reduced_motion",
    "search",
    "quiz",
    "engine",
    "show",
    "presenter",
    "breaks",
)


class Canvas(QWidget):
    """Shows `session` on a graph that `set_graph` gives it.

    Clicks set `session.view.selection`; a double click on a fold puts its key into `unfolded`, on an unfolded group's
    frame back into `folded`; on anything else it emits `opened` with the key.
    """

    opened = Signal(str)
    moved = Signal()
    """The eye has moved: popups that stand at cards have to follow."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        load_fonts()
        self.session = session
        self.eye, self._sight = Eye(), sight(larger(session.view))
        self.wheel_zooms = True
        """A mouse wheel zooms (default) or scrolls; with Ctrl it does the other."""
        self.composer: Composer | None = None
        self.level = ""
        """The level of detail that was drawn last."""
        self._differs: frozenset[str] = frozenset()
        self._differing: Ints | None = None
        """Positions of the cards that differ, once they are drawn."""
        self._levels = Levels()
        self._scene: Scene | None = None
        self._margins = (56.0, 24.0, 24.0, 24.0)
        self._touched = False
        self._fresh = True
        self._press: QPointF | None = None
        self._drag: QPointF | None = None
        self._focus: QPointF | None = None
        self._glide: tuple[Eye, Eye, int] | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(16)
        self._timer.timeout.connect(self._tick)
        self._slices = QTimer(self)
        self._slices.setInterval(0)
        self._slices.timeout.connect(self._slice)
        self._quick = False
        self._rest = QTimer(self, singleShot=True, interval=REST_MS)
        self._rest.timeout.connect(self._sharpen)
        self.minimap = Minimap(self)
        self.minimap.hide()
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMinimumSize(200, 160)
        self._name()
        self.destroyed.connect(session.listen(self._changed))

    # ---- what is shown

    def set_graph(
        self, graph: Graph, layout: Layout, provisional: int | None = None, placed: Placed | None = None
    ) -> None:
        """Show another graph or layout. The eye stays with what it saw; the first graph of a recording is fitted.

        Cards from `provisional` on are shown faintly: the program is still running, and they may move. `placed`: the
        same graph with what was worked out about it elsewhere.
        """
        old = self.composer
        self.composer = Composer(self.session.trace, graph, layout, load_theme(self.session.view.theme), placed)
        self.composer.provisional = provisional
        self._levels.forget()
        self._scene, self._differing = None, None
        beginning = not self._touched and self.session.view.step == 0
        if self._fresh or beginning or old is None or old.graph.mode != graph.mode or not old.graph.cards:
            self.first_view()
            self._fresh = not graph.cards
        else:
            self._hold(old, self.composer)
            self._make_room()
        self.minimap.setVisible(len(graph.cards) > MINIMAP_FROM)
        self.minimap.refresh()
        if len(graph.cards) > CROWD:
            self._slices.start()
        if self.session.view.search:
            self.set_hits(self.session.hits.keys)
        self._name()
        self.update()
        self.moved.emit()  # what stands over the canvas may have to make room

    def set_hits(self, keys: Iterable[str]) -> None:
        """Mark what a search found; keys as in selections."""
        if self.composer is None:
            return
        graph = self.composer.graph
        self.composer.hits = frozenset(i for i in (find_card(graph, key) for key in keys) if i is not None)
        self._levels.redraw()
        self._scene = None
        self.update()

    def set_differs(self, keys: Iterable[str]) -> None:
        """Mark what differs from another run; keys as in selections."""
        marked = frozenset(keys)
        if marked != self._differs:
            self._differs, self._differing = marked, None
            self.update()

    def scene(self) -> Scene | None:
        """The scene at the session's step; None before the first graph."""
        if self.composer is None:
            return None
        view, frame = self.session.view, self.session.frame
        if self._scene is None or self._scene.moment.view != view or self._scene.moment.frame is not frame:
            self.composer.recolor(load_theme(view.theme))
            self._scene = self.composer.scene(frame, view)
        return self._scene

    def set_margins(self, top: float, right: float, bottom: float, left: float, *, glide: bool = False) -> None:
        """Keep these edges free of cards when fitting: other widgets lie there."""
        if (top, right, bottom, left) != self._margins:
            self._margins = (top, right, bottom, left)
            self._place_minimap()
            if not self._touched:
                self.first_view(glide=glide)

    def room(self) -> Box:
        """The part of the widget, in its pixels, that nothing else covers."""
        top, right, bottom, left = self._margins
        return left, top, max(40.0, self.width() - left - right), max(40.0, self.height() - top - bottom)

    def anchor(self, key: str | None) -> QRect | None:
        """Where a card or a node's row stands on the widget; None where it is not on the canvas."""
        box = self.composer.anchor(key) if self.composer else None
        if box is None:
            return None
        x, y = self.eye.to_screen(box[0], box[1])
        return QRectF(x, y, box[2] * self.eye.scale, box[3] * self.eye.scale).toRect()

    def _whole(self, box: Box, room: Box) -> Eye | None:
        """Look at all of a box; None where it could not be read then."""
        eye = fitted(box, room, self._sight.largest)
        return eye if eye.scale >= self._sight.whole else None

    # ---- looking around

    def fit(self) -> None:
        """Show everything."""
        if self.composer and self.composer.graph.cards:
            self._go(fitted(self.composer.layout.bounds, self.room(), self._sight.largest))
            self._touched = False

    def fit_selection(self) -> None:
        """Show the selected card and its neighbours; everything where nothing is selected."""
        scene = self.scene()
        card = scene.moment.card(self.session.view.selection) if scene else None
        if scene is None or card is None:
            self.fit()
            return
        boxes = scene.far.boxes[[card, *scene.moment.lit]]
        x, y = boxes[:, :2].min(0).tolist()
        right, bottom = (boxes[:, :2] + boxes[:, 2:]).max(0).tolist()
        self._go(fitted((x, y, right - x, bottom - y), self.room()))
        self._touched = True

    def zoom(self, factor: float, at: QPointF | None = None) -> None:
        """Zoom with a point of the widget (its middle by default) held fast."""
        point = at or QPointF(self.rect().center())
        self._blur()
        self._see(self.eye.zoomed(factor, point.x(), point.y()))
        self._touched = True

    def pan(self, dx: float, dy: float) -> None:
        """Move the picture by so many pixels."""
        self._see(self.eye.moved(dx, dy))
        self._touched = True

    def reveal(self, key: str | None, *, glide: bool = True) -> None:
        """Move as little as needed to have a card in view."""
        box = self.composer.anchor(key) if self.composer else None
        if box is not None:
            self._go(revealed(self.eye, box, self.room()), glide=glide)

    def end_above(self, bottom: float) -> int | None:
        """Where, in pixels from the top, this step's graph ends when it is fitted above a lower margin; None where it
        cannot be read then, and where somebody has chosen another view."""
        scene = self.scene()
        if self._touched or scene is None or not scene.moment.graph.cards:
            return None
        x, y, width, height = self.room()
        box = self._region(scene)
        eye = self._whole(box, (x, y, width, max(1.0, height + self._margins[2] - bottom)))
        return None if eye is None else round(eye.to_screen(0, box[1] + box[3])[1])

    def first_view(self, *, glide: bool = False) -> None:
        """The graph of this step (several iterations are several graphs) if it can be read whole, else a part that can:
        around the card where the step happens, or its beginning."""
        scene = self.scene()
        if scene is None or not scene.moment.graph.cards:
            return
        self._touched = False
        room, now, region = self.room(), scene.moment.now, self._region(scene)
        if (whole := self._whole(region, room)) is not None:
            self._go(whole, glide=glide)
            return
        start = (region[0], region[1], 0.0, 0.0)
        box = start if now is None else tuple(scene.far.boxes[now].tolist())
        self._go(centered(box, region, room, self._sight.readable), glide=glide)

    @staticmethod
    def _region(scene: Scene) -> Box:
        """Where the cards of this step's iteration lie."""
        card = scene.moment.graph.cards[scene.moment.now or 0]
        return scene.composer.regions[card.generation]

    def _make_room(self) -> None:
        """What has grown glides into view whole, as long as nobody has chosen another view and it stays readable."""
        bounds = self.composer.layout.bounds if self.composer and not self._touched else None
        if bounds is not None and (whole := self._whole(bounds, self.room())) is not None:
            self._go(whole)

    def _hold(self, old: Composer, new: Composer) -> None:
        """Keep the card next to the place that a person looks at where it is on the screen."""
        point = self._focus or QPointF(self.rect().center())
        x, y = self.eye.to_scene(point.x(), point.y())
        centers = old.far.boxes[:, :2] + old.far.boxes[:, 2:] / 2
        order = abs(centers - (x, y)).sum(1).argsort()[:400].tolist()
        for i in order:
            j = new.graph.index.get(old.graph.cards[i].key)
            if j is not None:
                dx, dy = (new.far.boxes[j, :2] - old.far.boxes[i, :2]).tolist()
                self._see(Eye(self.eye.left + dx, self.eye.top + dy, self.eye.scale))
                return
        self.first_view()

    def _see(self, eye: Eye) -> None:
        self._glide = None
        if eye != self.eye:
            self.eye = eye
            self.update()
            self.minimap.update()
            self.moved.emit()

    def _go(self, eye: Eye, *, glide: bool = True) -> None:
        if not glide or self.session.view.reduced_motion or not self.isVisible():
            self._see(eye)
        elif eye != self.eye:
            self._glide = (self.eye, eye, 0)
            self._timer.start()

    def _blur(self) -> None:
        """The eye changes its distance: draw quickly until it rests."""
        self._quick = True
        self._rest.start()

    def _sharpen(self) -> None:
        self._quick = False
        self.update()

    def _tick(self) -> None:
        if self._glide is None:
            self._timer.stop()
            return
        start, end, passed = self._glide
        if start.scale != end.scale:
            self._blur()
        passed += self._timer.interval()
        share = min(1.0, passed / GLIDE_MS)
        self._see(end if share >= 1 else start.toward(end, share * share * (3 - 2 * share)))
        if share < 1:
            self._glide = (start, end, passed)

    def _slice(self) -> None:
        scene = self.scene()
        if scene is None or not self._levels.prepare(scene):
            self._slices.stop()
            self.update()

    # ---- the session

    def _changed(self, old: ViewState, new: ViewState) -> None:
        if old.revision != new.revision:
            self._fresh, self._touched, self.composer, self._scene = True, False, None, None
            self.minimap.hide()
        if larger(old) != larger(new):
            self._sight, self._touched = sight(larger(new)), False
            self.first_view()
        if old.theme != new.theme:
            self._levels.forget()
            if self.composer and len(self.composer.graph.cards) > CROWD:
                self._slices.start()
        if old.search != new.search or (new.search and old.step != new.step):
            self.set_hits(self.session.hits.keys)
        if any(getattr(old, field) != getattr(new, field) for field in _SHOWN):
            if old.step != new.step:
                self._follow()
                self.minimap.update()
            if old.selection != new.selection or old.language != new.language:
                self._name()
            self.update()

    def _follow(self) -> None:
        """Keep the card where the step happens in view."""
        scene = self.scene()
        if scene is None or scene.moment.now is None:
            return
        room, now = self.room(), scene.moment.now
        target = self._glide[1] if self._glide else self.eye
        x, y, w, h = scene.far.boxes[now].tolist()
        if revealed(target, (x, y, w, h), room) == target:
            return
        region = scene.composer.regions[scene.moment.graph.cards[now].generation]
        if region[2] * target.scale <= room[2] and region[3] * target.scale <= room[3]:
            self._go(revealed(target, region, room))
        else:
            self._go(centered((x, y, w, h), region, room, target.scale))

    def _name(self) -> None:
        """Tell screen readers what is here."""
        count = len(self.composer.graph.cards) if self.composer else 0
        self.setAccessibleName(Words(self.session.view.language)("ui.canvas.name", count=count))
        self.setAccessibleDescription(self._told(self.session.view.selection))

    def _told(self, key: str | None) -> str:
        scene = self.scene()
        return told(scene.moment, key) if scene and key else ""

    # ---- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        theme = load_theme(self.session.view.theme)
        scene = self.scene()
        if scene is None or not scene.moment.graph.cards:
            self._levels.ground(painter, theme, self.eye, QRectF(self.rect()))
            painter.setPen(color(theme.text_faint))
            painter.setFont(font("sans", 14, 400))
            view, ended = self.session.view, self.session.trace.ended
            told = "running" if view.running else "nothing" if ended else "empty"
            hint = Words(view.language)(f"ui.canvas.{told}")
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, hint)
        else:
            self.level = self._levels.show(
                painter, scene, self.eye, self.size(), self.devicePixelRatioF(), quick=self._quick
            )
            if self._differs:
                if self._differing is None:
                    self._differing = cards_of(scene.moment.graph, self._differs)
                paint_differs(painter, scene, self.eye, self._differing)
            if self.session.view.presenter and self.session.view.show.spotlight:
                paint_spotlight(painter, scene, self.eye)
            paint_breaks(painter, scene, self.eye, self.session.view.breaks)
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_minimap()
        if not self._touched:
            self.first_view()
        elif event.oldSize().isValid():
            grown = event.size() - event.oldSize()
            self._see(self.eye.moved(grown.width() / 2, grown.height() / 2))

    def _place_minimap(self) -> None:
        size, right = self.minimap.sizeHint(), self._margins[1]
        self.minimap.resize(size)
        left, top = self.width() - right - size.width(), self.height() - MINIMAP_EDGE - size.height()
        self.minimap.move(int(left), int(top))

    def sizeHint(self) -> QSize:
        return QSize(900, 640)

    # ---- mouse

    def pick(self, at: QPointF) -> str | None:
        """Key of what stands under a point of the widget."""
        if self.composer is None:
            return None
        x, y = self.eye.to_scene(at.x(), at.y())
        key = self.composer.pick(x, y, slack=3.0 / self.eye.scale)
        scene = self.scene()
        card = scene.moment.card(key) if scene and key else None
        if scene is None or card is None or scene.moment.codes[card] == HIDDEN:
            return None
        return key

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            self._press = self._drag = event.position()
            self._focus = event.position()
            self._glide = None
        super().mousePressEvent(event)
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self._press is None or self._drag is None:
            self._hover(at)
            return
        if (at - self._press).manhattanLength() > CLICK or self._drag != self._press:
            step = at - self._drag
            self._drag = at
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.pan(step.x(), step.y())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, self._press, self._drag = self._press, None, None
        self.unsetCursor()
        self.update()
        if pressed is None or event.button() != Qt.MouseButton.LeftButton:
            return
        if (event.position() - pressed).manhattanLength() <= CLICK:
            self._focus = event.position()
            group = self._group_at(event.position())
            if group is not None:
                self.fold(group)
            else:
                self.session.update(selection=self.pick(event.position()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._focus = event.position()
        key = self.pick(event.position())
        if key is not None:
            self.open(key)

    def open(self, key: str) -> None:
        """Unfold a fold; anything else is told to others by `opened`."""
        view, scene = self.session.view, self.scene()
        if key.startswith("fold:"):
            key = scene.moment.unfolds(key) if scene is not None else key
            self.session.update(folded=view.folded - {key}, unfolded=view.unfolded | {key})
        else:
            self.opened.emit(key)

    def fold(self, key: str) -> None:
        """Fold a group again."""
        view = self.session.view
        self.session.update(folded=view.folded | {key}, unfolded=view.unfolded - {key})

    def _group_at(self, at: QPointF) -> str | None:
        """Key of the unfolded group whose title stands under a point of the widget."""
        if self.composer is None or self.level != "near" or self.pick(at) is not None:
            return None
        return self.composer.group_at(*self.eye.to_scene(at.x(), at.y()))

    def _hover(self, at: QPointF) -> None:
        key = self.pick(at)
        if key != self.session.view.hover:
            self.session.update(hover=key)
        hand = key is not None or self._group_at(at) is not None
        self.setCursor(Qt.CursorShape.PointingHandCursor if hand else Qt.CursorShape.ArrowCursor)

    def leaveEvent(self, event: QEvent) -> None:
        if self.session.view.hover is not None:
            self.session.update(hover=None)
        super().leaveEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        pixels, angle = event.pixelDelta(), event.angleDelta()
        fingers = event.phase() != Qt.ScrollPhase.NoScrollPhase and not pixels.isNull()
        if fingers and not control:
            self.pan(pixels.x(), pixels.y())
        elif control == self.wheel_zooms and not fingers:
            self.pan(angle.x() / 2, angle.y() / 2)
        else:
            self.zoom(1.0015 ** (angle.y() or angle.x()), event.position())
        self._focus = event.position()
        event.accept()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QNativeGestureEvent):
            if event.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
                self.zoom(1.0 + event.value(), event.position())
                return True
        elif isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            self._tooltip(event.pos(), event.globalPos())
            return True
        return super().event(event)

    def _tooltip(self, at: QPoint, on_screen: QPoint) -> None:
        told = self._told(self.pick(QPointF(at)))
        if not told and self._group_at(QPointF(at)) is not None:
            told = Words(self.session.view.language)("ui.fold.fold_again")
        if told:
            QToolTip.showText(on_screen, told, self)
        else:
            QToolTip.hideText()

    # ---- keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self._key(event):
            super().keyPressEvent(event)

    def _key(self, event: QKeyEvent) -> bool:
        key, view = Qt.Key(event.key()), self.session.view
        if event.modifiers() & Qt.KeyboardModifier.AltModifier and key in _WALK:
            return self._walk(_WALK[key])
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and key in _PAN:
            dx, dy = _PAN[key]
            self.pan(dx, dy)
            return True
        if key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom(1.25)
        elif key == Qt.Key.Key_Minus:
            self.zoom(0.8)
        elif key == Qt.Key.Key_0:
            self.zoom(1 / self.eye.scale)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and view.selection:
            self.open(view.selection)
        elif key == Qt.Key.Key_Backspace and self.composer and (group := self.composer.group_of(view.selection)):
            self.fold(group)
            self.session.update(selection=group)
        elif key == Qt.Key.Key_Escape and view.selection:
            self.session.update(selection=None)
        else:
            return False
        return True

    def _walk(self, direction: str) -> bool:
        scene = self.scene()
        if scene is None:
            return False
        key = neighbour(scene.moment, scene.far, self.session.view.selection, direction)
        if key is not None:
            self.session.update(selection=key)
            self.reveal(key)
        return True


_WALK = {
    Qt.Key.Key_Left: "left",
    Qt.Key.Key_Right: "right",
    Qt.Key.Key_Up: "up",
    Qt.Key.Key_Down: "down",
}
_PAN = {
    Qt.Key.Key_Left: (80.0, 0.0),
    Qt.Key.Key_Right: (-80.0, 0.0),
    Qt.Key.Key_Up: (0.0, 80.0),
    Qt.Key.Key_Down: (0.0, -80.0),
}
