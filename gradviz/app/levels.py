"""The three levels of detail of the canvas: every shape near by, boxes with titles farther out, then boxes."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap, QRegion

from gradviz.app.bulk import Overview, draw_classes, draw_lines, placed
from gradviz.app.eye import Eye
from gradviz.app.paint import color, paint, words
from gradviz.explain import Words
from gradviz.scene.captions import card_title
from gradviz.scene.compose import Scene
from gradviz.scene.far import Floats, Ints, palette
from gradviz.scene.folds import tail
from gradviz.scene.moment import HIDDEN
from gradviz.scene.shapes import Box, Text
from gradviz.scene.theme import Theme, mix
from gradviz.scene.words import fit, text_width

NEAR = 0.58
TITLED = 34.0
"""Narrower boxes, in pixels, get no title."""
FEW = 60
NEAR_IF_FEW = 0.3
MID = 0.16
MANY = 180
"""More cards than this in view are never drawn shape by shape."""
CROWD = 25_000
SMOOTH = 3_000
"""Up to so many boxes in view, lines are antialiased."""
GRID = 28.0
FURTHEST = 2.5
"""A picture is not stretched or shrunk by more than this."""
MOST_FRESH = 0.4
"""If a step changes more than this share of what is in view, all of it is drawn anew."""
MOVED = 0.7
"""If the picture moved by more than this share of the widget, it is drawn anew."""


class Levels:
    """Draws a scene through an eye. Keeps pictures that stay the same between frames."""

    def __init__(self) -> None:
        self.overview: Overview | None = None
        self._tiles: dict[tuple[str, int], QPixmap] = {}
        self._kept: tuple[object, tuple[int, int], QPixmap] | None = None
        self._parts: tuple[Scene, dict[tuple[str, int], object]] | None = None
        self._sharp: tuple[Scene, Eye, object] | None = None
        """Of what and from where the kept picture was drawn, and its size."""

    def forget(self) -> None:
        """Another graph, or another theme: kept pictures are of no use."""
        self.overview = None
        self.redraw()

    def redraw(self) -> None:
        """Something other than step and view has changed how the same graph looks."""
        self._kept = self._sharp = self._parts = None

    def level(self, scene: Scene, eye: Eye, cards: int) -> str:
        """Which level is right: "near", "mid", "far" or "overview"."""
        if eye.scale >= (NEAR if cards > FEW else NEAR_IF_FEW) and cards <= MANY:
            return "near"
        if eye.scale >= MID and cards <= 10 * MANY:
            return "mid"
        return "far" if cards <= CROWD else "overview"

    def show(self, painter: QPainter, scene: Scene, eye: Eye, size: QSize, ratio: float, *, quick: bool = False) -> str:
        """Draw the scene on a widget of that size; gives the level that was chosen.

        While only the place of the eye changes, the last picture is moved and just what comes into view is drawn.
        `quick`: the eye is zooming; the last picture is enlarged or shrunk, and the next call draws it sharp.
        """
        eye, offset = snapped(eye, ratio)
        cards = len(scene.far.cards_in(eye.visible(size.width(), size.height())))
        level = self.level(scene, eye, cards)
        if level == "overview" and not (self.overview is not None and self.overview.ready):
            level = "far"
        if quick and level in ("near", "mid") and self._stretched(painter, scene, eye, size, ratio):
            return level
        smooth = level == "near" or cards < SMOOTH
        key = (scene, eye.scale, size.toTuple(), ratio, level, smooth)
        picture = QPixmap(size * ratio)
        picture.setDevicePixelRatio(ratio)
        inner = QPainter(picture)
        changed = self._changed(inner, scene, eye, size, ratio) if level == "near" else None
        for part in self._kept_part(inner, key, offset, size, ratio) if changed is None else changed:
            inner.save()
            inner.setClipRect(part)
            self._draw(inner, scene, eye, part, level, smooth=smooth)
            inner.restore()
        inner.end()
        self._kept = (key, offset, picture)
        self._sharp = scene, eye, (size.toTuple(), ratio)
        if level != "near" or self._parts is None or self._parts[0] is not scene:
            self._parts = None
        painter.drawPixmap(0, 0, picture)
        return level

    def _changed(self, painter: QPainter, scene: Scene, eye: Eye, size: QSize, ratio: float) -> list[QRectF] | None:
        """Where a step has changed what is in view, the eye at rest: the last picture is painted, and these parts are
        to be drawn anew. None: everything is."""
        if self._sharp is None or self._kept is None or self._sharp[1:] != (eye, (size.toTuple(), ratio)):
            return None
        before = self._sharp[0]
        if before is scene or before.composer is not scene.composer or before.moment.theme is not scene.moment.theme:
            return None
        visible = _grown(eye.visible(size.width(), size.height()), 40)
        old = self._parts[1] if self._parts is not None and self._parts[0] is before else before.parts(visible)
        new = scene.parts(visible)
        self._parts = scene, new
        fresh = [part for part in {**old, **new} if old.get(part) is not new.get(part)]
        if len(fresh) > MOST_FRESH * len(new) + 4:
            return None
        whole = QRectF(QPointF(0, 0), QSizeF(size))
        places = [whole.intersected(_on_screen(scene.reach(part), eye)) for part in fresh]
        painter.drawPixmap(0, 0, self._kept[2])
        return _merged([place for place in places if not place.isEmpty()])

    def _stretched(self, painter: QPainter, scene: Scene, eye: Eye, size: QSize, ratio: float) -> bool:
        """Show the last sharp picture as it looks from another distance, and plain boxes around it."""
        if self._sharp is None or self._kept is None or self._sharp[0] is not scene:
            return False
        before, factor = self._sharp[1], eye.scale / self._sharp[1].scale
        if self._sharp[2] != (size.toTuple(), ratio) or not 1 / FURTHEST < factor < FURTHEST:
            return False
        x, y = eye.to_screen(before.left, before.top)
        place = QRectF(x, y, size.width() * factor, size.height() * factor)
        whole = QRect(QPoint(), size)
        if not place.contains(QRectF(whole)):
            painter.setClipRegion(QRegion(whole).subtracted(QRegion(place.toAlignedRect().adjusted(1, 1, -1, -1))))
            self.ground(painter, scene.moment.theme, eye, QRectF(whole))
            self._boxes(painter, scene, eye, eye.visible(size.width(), size.height()), "far")
            painter.setClipping(False)
        painter.drawPixmap(place, self._kept[2], QRectF(self._kept[2].rect()))
        return True

    def _kept_part(
        self, painter: QPainter, key: object, offset: tuple[int, int], size: QSize, ratio: float
    ) -> list[QRectF]:
        """Paint what can be kept of the last picture; gives the parts that have to be drawn."""
        width, height = size.width(), size.height()
        if self._kept is not None and self._kept[0] == key:
            dx, dy = (self._kept[1][0] - offset[0]) / ratio, (self._kept[1][1] - offset[1]) / ratio
            if abs(dx) < width * MOVED and abs(dy) < height * MOVED:
                painter.drawPixmap(QPointF(dx, dy), self._kept[2])
                parts = [QRectF(width + dx if dx < 0 else 0, 0, abs(dx), height)] if dx else []
                return parts + ([QRectF(0, height + dy if dy < 0 else 0, width, abs(dy))] if dy else [])
        return [QRectF(0, 0, width, height)]

    def _draw(self, painter: QPainter, scene: Scene, eye: Eye, part: QRectF, level: str, *, smooth: bool) -> None:
        """Draw the part of the view that lies in a box of the widget."""
        self.ground(painter, scene.moment.theme, eye, part)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, smooth)
        left, top = eye.to_scene(part.x(), part.y())
        visible = (left, top, part.width() / eye.scale, part.height() / eye.scale)
        if level == "near":
            painter.scale(eye.scale, eye.scale)
            painter.translate(-eye.left, -eye.top)
            paint(painter, scene.shapes(_grown(visible, 40)))
        elif level == "overview":
            self._overview(painter, scene, eye)
        else:
            self._boxes(painter, scene, eye, visible, level)

    # ---- farther out

    def _boxes(self, painter: QPainter, scene: Scene, eye: Eye, visible: Box, level: str) -> None:
        theme, far = scene.moment.theme, scene.far
        cards = far.cards_in(_grown(visible, 2 / eye.scale))
        pieces, wires = far.pieces(far.wires_in(visible), 6 if level == "mid" else 1)
        lines = (pieces - np.asarray([eye.left, eye.top] * 2)) * eye.scale
        kinds = scene.wire_classes[wires]
        for kind, pen in enumerate(line_pens(theme, eye.scale)):
            if kind:
                draw_lines(painter, lines[kinds == kind], pen)
        classes = scene.classes[cards]
        rows = placed(far.boxes[cards], eye.left, eye.top, eye.scale)
        outline = QPen(color(theme.card_border), 1.0) if eye.scale > 0.1 else None
        draw_classes(painter, rows, classes, fills(theme), outline)
        if level == "mid":
            self._titles(painter, scene, eye, rows, cards)
        self._marks(painter, scene, eye)

    def _titles(self, painter: QPainter, scene: Scene, eye: Eye, rows: Floats, cards: Ints) -> None:
        """Titles at a size that can be read, where they fit."""
        theme, said = scene.moment.theme, Words(scene.moment.view.language)
        size = 11.0 if eye.scale > 0.28 else 9.0
        for (x, y, w, h), i in zip(rows.tolist(), cards.tolist(), strict=True):
            if w < TITLED or h < size or scene.moment.codes[i] == HIDDEN:
                continue
            title = card_title(scene.moment.graph.cards[i], said)
            text = fit(tail(title, w - 4, size), w - 4, size)
            if len(text) < 3 and text != title:
                continue
            width = text_width(text, size)
            words(
                painter, Text(x + w / 2, y + h / 2 + size * 0.36, text, theme.text, size, "mono", 600, "middle", width)
            )

    def _marks(self, painter: QPainter, scene: Scene, eye: Eye) -> None:
        """Outlines of the running, the selected and the hovered card, which must be found at any distance."""
        theme, moment = scene.moment.theme, scene.moment
        marks = [(moment.now, theme.accent, 3.0), (moment.card(moment.view.selection), theme.selection, 2.0)]
        marks.append((moment.card(moment.view.hover), theme.selection, 1.0))
        marks += [(hit, theme.freed, 2.0) for hit in scene.composer.hits]
        for card, name, line in marks:
            if card is None:
                continue
            x, y, w, h = placed(scene.far.boxes[[card]], eye.left, eye.top, eye.scale, 4.0)[0].tolist()
            painter.setPen(QPen(color(name), line))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(x - 2, y - 2, w + 4, h + 4))

    def _overview(self, painter: QPainter, scene: Scene, eye: Eye) -> None:
        assert self.overview is not None
        self.overview.draw(painter, eye.left, eye.top, eye.scale)
        classes = scene.classes
        other = self.overview.changed(classes)
        rows = placed(scene.far.boxes[other], eye.left, eye.top, eye.scale, 1.0)
        draw_classes(painter, rows, classes[other], fills(scene.moment.theme), None)
        self._marks(painter, scene, eye)

    def prepare(self, scene: Scene) -> bool:
        """Draw one slice of the overview picture; true while more is to do."""
        theme = scene.moment.theme
        if self.overview is None or self.overview.far is not scene.far:
            pens = line_pens(theme, 0.05)
            self.overview = Overview(scene.far, scene.bounds, (color(theme.canvas), fills(theme), pens[1]))
        return not self.overview.work(scene.classes)

    # ---- ground

    def ground(self, painter: QPainter, theme: Theme, eye: Eye, part: QRectF) -> None:
        """The dotted ground of a part of the widget; dots stay 20 to 44 pixels apart."""
        painter.fillRect(part, color(theme.canvas))
        pitch = GRID * eye.scale
        while pitch < 20:
            pitch *= 2
        while pitch > 44:
            pitch /= 2
        step = round(pitch)
        start = QPointF((eye.left * eye.scale + part.x()) % step, (eye.top * eye.scale + part.y()) % step)
        painter.drawTiledPixmap(part, self._tile(theme.dots, step), start)

    def _tile(self, dots: str, step: int) -> QPixmap:
        known = self._tiles.get((dots, step))
        if known is None:
            known = QPixmap(step, step)
            known.fill(Qt.GlobalColor.transparent)
            painter = QPainter(known)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color(dots))
            painter.drawEllipse(QPointF(step / 2, step / 2), 1.1, 1.1)
            painter.end()
            self._tiles[dots, step] = known
        return known


def snapped(eye: Eye, ratio: float) -> tuple[Eye, tuple[int, int]]:
    """The same eye on whole device pixels, so that moved pictures fit and edges are crisp; and its offset in those."""
    offset = round(eye.left * eye.scale * ratio), round(eye.top * eye.scale * ratio)
    return Eye(offset[0] / ratio / eye.scale, offset[1] / ratio / eye.scale, eye.scale), offset


def fills(theme: Theme) -> list[QColor]:
    """Fill of each class of far boxes."""
    return [color(name) for name in palette(theme)]


def line_pens(theme: Theme, scale: float) -> list[QPen]:
    """Pens of far wires by class; thinner from far away."""
    width = 1.0 if scale < 0.3 else 1.4
    faint = mix(theme.canvas, theme.forward, 0.55 if scale > 0.05 else 0.35)
    sent = mix(theme.canvas, theme.gradient, 0.75 if scale > 0.05 else 0.5)
    return [
        QPen(color(name), line)
        for name, line in ((theme.canvas, 0.0), (faint, width), (sent, width), (theme.accent, 2 * width))
    ]


def _on_screen(box: Box, eye: Eye) -> QRectF:
    """A box of the scene on whole pixels of the widget."""
    x, y = eye.to_screen(box[0], box[1])
    place = QRectF(x, y, box[2] * eye.scale, box[3] * eye.scale)
    return QRectF(place.toAlignedRect().adjusted(-1, -1, 1, 1))


def _merged(places: list[QRectF]) -> list[QRectF]:
    """Boxes that lie over one another as one, so that nothing is drawn twice."""
    found: list[QRectF] = []
    for place in places:
        while (other := next((k for k, box in enumerate(found) if box.intersects(place)), None)) is not None:
            place = place.united(found.pop(other))
        found.append(place)
    return found


def _grown(box: Box, by: float) -> Box:
    return box[0] - by, box[1] - by, box[2] + 2 * by, box[3] + 2 * by
