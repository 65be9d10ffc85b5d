"""The three levels of detail of the canvas: every shape near by, boxes with titles farther out, then boxes."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap

from gradviz.app.bulk import Overview, draw_classes, draw_lines, placed
from gradviz.app.eye import Eye
from gradviz.app.paint import color, paint, words
from gradviz.scene.compose import Scene
from gradviz.scene.far import Floats, Ints, palette
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
MANY = 240
"""More cards than this in view are never drawn shape by shape."""
CROWD = 25_000
SMOOTH = 4_000
"""Up to so many boxes in view, lines are antialiased."""
GRID = 28.0


class Levels:
    """Draws a scene through an eye. Keeps pictures that stay the same between frames."""

    def __init__(self) -> None:
        self.overview: Overview | None = None
        self._tiles: dict[tuple[str, int], QPixmap] = {}

    def forget(self) -> None:
        """Another graph, or another theme: kept pictures are of no use."""
        self.overview = None

    def level(self, scene: Scene, eye: Eye, cards: int) -> str:
        """Which level is right: "near", "mid", "far" or "overview"."""
        if eye.scale >= (NEAR if cards > FEW else NEAR_IF_FEW) and cards <= MANY:
            return "near"
        if eye.scale >= MID and cards <= 10 * MANY:
            return "mid"
        return "far" if cards <= CROWD else "overview"

    def draw(self, painter: QPainter, scene: Scene, eye: Eye, size: tuple[float, float], *, still: bool = True) -> str:
        """Draw the scene; gives the level that was chosen. `still`: nobody is dragging, so edges may be smoothed."""
        visible = eye.visible(*size)
        cards = scene.far.cards_in(visible)
        level = self.level(scene, eye, len(cards))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, level == "near" or (still and len(cards) < SMOOTH))
        if level == "near":
            painter.save()
            painter.scale(eye.scale, eye.scale)
            painter.translate(-eye.left, -eye.top)
            paint(painter, scene.shapes(_grown(visible, 40)))
            painter.restore()
        elif level == "overview" and self.overview is not None and self.overview.ready:
            self._overview(painter, scene, eye, visible)
        else:
            self._boxes(painter, scene, eye, visible, cards, level)
        return level

    # ---- farther out

    def _boxes(
        self,
        painter: QPainter,
        scene: Scene,
        eye: Eye,
        visible: Box,
        cards: Ints,
        level: str,
    ) -> None:
        theme, far = scene.moment.theme, scene.far
        pieces, wires = (far.fine if level == "mid" else far.coarse).of(far.wires_in(visible))
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

    def _titles(
        self,
        painter: QPainter,
        scene: Scene,
        eye: Eye,
        rows: Floats,
        cards: Ints,
    ) -> None:
        """Titles at a size that can be read, where they fit."""
        theme = scene.moment.theme
        size = 11.0 if eye.scale > 0.28 else 9.0
        for (x, y, w, h), i in zip(rows.tolist(), cards.tolist(), strict=True):
            if w < TITLED or h < size or scene.moment.codes[i] == HIDDEN:
                continue
            text = fit(scene.moment.graph.cards[i].title, w - 4, size)
            if len(text) < 3 and text != scene.moment.graph.cards[i].title:
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
        for card, name, line in marks:
            if card is None:
                continue
            x, y, w, h = placed(scene.far.boxes[[card]], eye.left, eye.top, eye.scale, 4.0)[0].tolist()
            painter.setPen(QPen(color(name), line))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(x - 2, y - 2, w + 4, h + 4))

    def _overview(self, painter: QPainter, scene: Scene, eye: Eye, visible: Box) -> None:
        assert self.overview is not None
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
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

    def ground(self, painter: QPainter, theme: Theme, eye: Eye, width: int, height: int) -> None:
        """The dotted ground; dots stay 20 to 40 pixels apart."""
        painter.fillRect(0, 0, width, height, color(theme.canvas))
        pitch = GRID * eye.scale
        while pitch < 20:
            pitch *= 2
        while pitch > 44:
            pitch /= 2
        step = round(pitch)
        tile = self._tile(theme.dots, step)
        painter.drawTiledPixmap(
            QRectF(0, 0, width, height), tile, QPointF(eye.left * eye.scale % step, eye.top * eye.scale % step)
        )

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


def _grown(box: Box, by: float) -> Box:
    return box[0] - by, box[1] - by, box[2] + 2 * by, box[3] + 2 * by
