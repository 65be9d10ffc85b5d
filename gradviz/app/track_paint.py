"""The four tracks painted for a stretch of steps: chips while they fit, bars when not, stairs, brackets, marks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPainterPath, QPolygonF

from gradviz.app.bulk import draw_boxes, draw_lines
from gradviz.app.paint import color, font, pen
from gradviz.app.tracks import (
    BACKWARD_ROW,
    FAULT,
    FAULT_BACK,
    FORWARD_ROW,
    LEAF,
    NODE,
    OP,
    ROW_OF,
    SEED,
    Bracket,
    Floats,
    Ints,
    Tracks,
    bars,
)
from gradviz.explain import Words
from gradviz.scene.theme import Theme, mix
from gradviz.trace.events import Grad

LEFT = 121
"""Where step 0 is when the view begins there."""
TOP = 36
ROWS: dict[str, tuple[float, float]] = {
    "forward": (36, 24),
    "backward": (74, 24),
    "leaves": (110, 46),
    "saved": (166, 30),
}
"""Name -> top and height of each track, at a height of `TALL`."""
TALL = 212
CHIP_FROM = 26.0
"""Fewest pixels a step needs for a chip with a label."""
EDGE = 4.0
"""The chip of the current step stays so far from the panel's edge."""
BAR = 3
"""Pixels of a bar, its gap included."""
PAST = 0.42
"""As far as a bracket reaches beyond its outer steps, in steps."""
BRACKET_FROM = 8.0
"""Fewest pixels of a bracket."""
BRACKET, CHANGE, APART = 29.0, 10.0, 9.0
"""Where brackets lie, the base line of the names of changes, and how far a name keeps from the playhead."""
LONGEST, COUNTER, RIM = 220, 130.0, 8.0
"""How long the name of a change may be, and what the step counter in the corner takes, or else the rim."""
DENSE = 600
"""Stairs of more steps in view than this are put together by pixels, and drawn thin and unsmoothed."""
MOST_CHANGES = 150
"""Up to so many changes outside a pass are drawn through all tracks."""
STEEP = 50.0
"""Norms further apart than this are shown on a logarithmic scale."""
_TOKENS = {OP: "forward", SEED: "gradient", NODE: "gradient", LEAF: "leaf", FAULT: "error", FAULT_BACK: "error"}
_DASHES: tuple[tuple[float, ...], ...] = ((), (6.0, 3.0), (2.0, 2.0), (8.0, 2.0, 2.0, 2.0))


@dataclass(frozen=True, slots=True)
class Name:
    """A text above the tracks: whose `step` it tells, where it stands best, how wide it is, and from where to where it
    may be moved."""

    step: int
    text: str
    left: float
    width: float
    start: float
    end: float


@dataclass(frozen=True)
class Picture:
    """What is painted, how large, and from where to where."""

    tracks: Tracks
    theme: Theme
    width: int
    height: int
    scale: float
    first: float
    label: Callable[[int], str]
    words: Words

    def x(self, step: float) -> float:
        """Middle of a step."""
        return LEFT + (step - self.first) * self.scale

    def xs(self, steps: Ints) -> Floats:
        """Middles of steps."""
        return LEFT + (steps - np.float64(self.first)) * self.scale

    def counts_right(self, head: float) -> bool:
        """Whether the step counter stands in the right corner: it leaves it to a playhead that comes near."""
        return head < self.width - COUNTER - 40

    def y(self, top: float) -> float:
        """A height of the drawing in pixels of this one: rows move apart in a tall panel and together in a low one."""
        return TOP + (top - TOP) * max(0.6, min((self.height - TOP) / (TALL - TOP), 1.5))

    @property
    def seen(self) -> tuple[int, int]:
        """First and last step in view, and one more on each side."""
        last = self.first + (self.width - LEFT) / self.scale
        return max(0, int(self.first) - 1), min(self.tracks.steps, int(last) + 2)

    @cached_property
    def brackets(self) -> list[Bracket]:
        """The brackets that are wide enough to be drawn, in the order of their steps."""
        return self.tracks.brackets_in(*self.seen, self.scale, BRACKET_FROM / self.scale - 2 * PAST)

    def edges(self, bracket: Bracket) -> tuple[float, float]:
        """From where to where a bracket lies."""
        return self.x(bracket.first - PAST), self.x(bracket.last + PAST)

    @cached_property
    def bracket_names(self) -> list[Name]:
        """What stands above the brackets that have room for it."""
        metrics, names = QFontMetricsF(font("sans", 10, 400)), []
        edges = [self.edges(bracket) for bracket in self.brackets]
        limit = float(self.width - RIM)
        for k, (bracket, (left, right)) in enumerate(zip(self.brackets, edges, strict=True)):
            left, right = max(left, float(LEFT - 14)), min(right, limit)
            text = self.words("ui.timeline.pass", number=bracket.label) if bracket.is_pass else bracket.label
            room = max(0.0, right - left - 4)
            if bracket.is_pass and metrics.horizontalAdvance(text) > room:
                text = bracket.label
            text = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, room)
            if len(text) < 2 and text != bracket.label:
                continue
            width, end = metrics.horizontalAdvance(text), edges[k + 1][0] if k + 1 < len(edges) else limit
            names.append(Name(bracket.first, text, (left + right - width) / 2, width, left, max(right, end)))
        return names

    @cached_property
    def changes(self) -> list[int]:
        """The steps in view that change a `.grad` outside a pass, as far as they can be told apart."""
        first, last = self.seen
        every = self.tracks.changes
        near = every[np.searchsorted(every, first) : np.searchsorted(every, last, "right")]
        if not len(near):
            return []
        place = np.round(self.xs(near) / 2)
        steps: list[int] = near[np.flatnonzero(np.diff(place, prepend=place[0] - 1))].tolist()
        return steps

    @cached_property
    def change_names(self) -> list[Name]:
        """What such steps are called, as long as names do not touch."""
        metrics, names, free = QFontMetricsF(font("mono", 10, 400)), list[Name](), -1e9
        for step in self.changes:
            x = self.x(step)
            if x <= free + 6:
                continue
            event = self.tracks.trace.event_at(step)
            text = (event.text if isinstance(event, Grad) else "") or self.label(step)
            width = metrics.horizontalAdvance(text)
            left = min(x - width / 2, self.width - RIM - width)
            if left > free + 6 and width < LONGEST:
                if names:
                    names[-1] = replace(names[-1], end=left - 6)
                names.append(Name(step, text, left, width, free + 6, self.width - RIM))
                free = left + width
        return names

    @cached_property
    def leaves(self) -> dict[int, tuple[Ints, Floats]]:
        """The stairs to draw."""
        return self.tracks.stairs()

    def norms_at(self, step: int) -> list[tuple[int, float]]:
        """Each stair's leaf and its norm at a step, NaN where its `.grad` is None."""
        found = []
        for leaf, (steps, norms) in self.leaves.items():
            position = int(np.searchsorted(steps, step, "right"))
            found.append((leaf, float(norms[position - 1]) if position else float("nan")))
        return found

    def leaf_inks(self) -> list[str]:
        """A colour for each stair: shades of the leaf colour."""
        shades = (0.0, 0.42, 0.0, 0.42, 0.2, 0.6, 0.2, 0.6)
        return [mix(self.theme.leaf, self.theme.text, shades[i % 8]) for i in range(len(self.leaves))]

    @cached_property
    def _norm_range(self) -> tuple[float, float]:
        known = [n[np.isfinite(n) & (n > 0)] for _, n in self.leaves.values()]
        joined = np.concatenate(known) if known else np.zeros(0)
        return (float(joined.min()), float(joined.max())) if joined.size else (0.0, 0.0)

    def stair_y(self, norm: float) -> float:
        """Height of a norm in its track."""
        return float(self.stair_ys(np.asarray([norm]))[0])

    def stair_ys(self, norms: Floats) -> Floats:
        """Heights of norms in their track."""
        low, high = self._norm_range
        top, height = ROWS["leaves"]
        bottom = self.y(top + height - 4)
        share = np.zeros(len(norms))
        known = norms > 0
        if high > 0:
            steep = high / low > STEEP
            above = np.log(np.maximum(norms[known], low) / low) / np.log(high / low) if steep else norms[known] / high
            share[known] = 0.08 + 0.92 * above if steep else above
            share[np.isposinf(norms)] = 1.0
        heights: Floats = bottom - share * (bottom - self.y(top + 8))
        return heights

    @cached_property
    def held(self) -> Ints:
        """Bytes kept after each step that was read."""
        return self.tracks.trace.held_bytes()[: self.tracks.steps + 1]

    @cached_property
    def _most_held(self) -> int:
        return int(self.held.max(initial=0))

    def held_y(self, held: float) -> float:
        """Height of a number of bytes in their track."""
        return float(self.held_ys(np.asarray([held]))[0])

    def held_ys(self, held: Floats) -> Floats:
        """Heights of numbers of bytes in their track."""
        top, height = ROWS["saved"]
        bottom = self.y(top + height - 2)
        heights: Floats = bottom - held / max(self._most_held, 1) * (bottom - self.y(top + 6))
        return heights


def paint_tracks(painter: QPainter, picture: Picture) -> None:
    """Everything that does not depend on the step."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setClipRect(QRectF(LEFT - 14, 0, picture.width - LEFT + 14, picture.height))
    _brackets(painter, picture)
    _saved(painter, picture)
    _stairs(painter, picture)
    if picture.scale >= CHIP_FROM:
        first, last = picture.seen
        for step in range(max(1, first), last + 1):
            paint_chip(painter, picture, step)
    else:
        _bars(painter, picture)
    _changes(painter, picture)


def paint_chip(painter: QPainter, picture: Picture, step: int, *, current: bool = False) -> None:
    """One step as a chip with its label; the current one filled. Too narrow for a label: only the current one, wide."""
    code = int(picture.tracks.kinds[step]) if step <= picture.tracks.steps else 0
    row, token = int(ROW_OF[code]), _TOKENS.get(code)
    if token is None:
        return
    top, height = ROWS["forward" if row == FORWARD_ROW else "backward"]
    text = picture.label(step)
    if token == "error" and not text.startswith("✖"):
        text = f"✖ {text}"
    painter.setFont(font("mono", 10, 600 if current else 400))
    width = picture.scale - 5
    if picture.scale < CHIP_FROM:
        width = min(110.0, painter.fontMetrics().horizontalAdvance(text) + 14)
    left = picture.x(step) - width / 2
    box = QRectF(chip_left(left, width, picture.width) if current else left, picture.y(top), width, height)
    theme = picture.theme
    ink, fill = theme.color(token), theme.color(f"{token}_fill")
    painter.setPen(pen(ink, 1.0, 2.0 if current else 1.0, ()))
    painter.setBrush(color(ink if current else fill))
    painter.drawRoundedRect(box, 4, 4)
    painter.setPen(color(theme.panel if current else theme.ink(token)))
    if painter.fontMetrics().horizontalAdvance(text) > box.width() - 2:
        painter.setFont(font("mono", 9, 600 if current else 400))
        if text.endswith(".grad") and painter.fontMetrics().horizontalAdvance(text) > box.width() - 2:
            text = f"∇{text.removesuffix('.grad')}"  # the sign that wires and cards have for it
    fitted = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, int(box.width() - 2))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, fitted)


def chip_left(left: float, width: float, room: float) -> float:
    """Where the current step's chip begins, so that it is whole at both ends of a panel `room` pixels wide."""
    return max(LEFT - 14.0, min(left, room - width - EDGE))


def _bars(painter: QPainter, picture: Picture) -> None:
    tracks = picture.tracks
    width = max(1, int(np.ceil(BAR / picture.scale)))
    first, last = picture.seen
    first -= first % width
    kinds, weights = tracks.kinds[first : last + 1], tracks.weights[first : last + 1]
    for row, name in ((FORWARD_ROW, "forward"), (BACKWARD_ROW, "backward")):
        top, height = ROWS[name]
        floor = picture.y(top) + height
        group, share, codes = bars(kinds, weights, row, 0, width)
        wide = max(1.0, picture.scale * width - (1.0 if picture.scale * width > 2 else 0.0))
        lefts = picture.xs(first + group * width) - picture.scale / 2
        rows = np.stack([lefts, floor - share * height, np.full(len(group), wide), share * height], 1)
        for code, token in _TOKENS.items():
            draw_boxes(painter, rows[codes == code], color(picture.theme.color(token)), None)
    painter.setFont(font("sans", 11, 700))
    painter.setPen(color(picture.theme.error))
    for step in tracks.faults:
        top, height = ROWS["backward" if tracks.kinds[step] == FAULT_BACK else "forward"]
        box = QRectF(picture.x(step) - 8, picture.y(top) - 12, 16, 14)
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, "✖")


def _stairs(painter: QPainter, picture: Picture) -> None:
    for i, (steps, norms) in enumerate(picture.leaves.values()):
        steps, norms = _in_view(steps, norms, picture)
        if len(steps) > DENSE:
            ink, none = pen(picture.theme.idle, 0.55, 1.0, ()), np.isnan(norms)
            flat, steep, last = _by_pixel(picture, steps, picture.stair_ys(norms))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            draw_lines(painter, flat[none[last]], ink)
            for rows in (flat[~none[last]], steep):
                draw_lines(painter, rows, pen(picture.leaf_inks()[i], 1.0, 1.0, ()))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        else:
            _stair(painter, picture, i, picture.xs(steps).tolist(), norms)


def _stair(painter: QPainter, picture: Picture, i: int, xs: list[float], norms: Floats) -> None:
    """One leaf's norms, dotted while its `.grad` is None."""
    line = [QPointF(picture.x(0), picture.stair_y(0.0))]
    solid: list[list[QPointF]] = []
    dotted = [line]
    none = True
    for x, y, norm in zip(xs, picture.stair_ys(norms).tolist(), norms.tolist(), strict=True):
        line.append(QPointF(x, line[-1].y()))
        if (norm != norm) != none:
            none = norm != norm
            line = [QPointF(line[-1])]
            (dotted if none else solid).append(line)
        line.append(QPointF(x, y))
    line.append(QPointF(picture.x(picture.tracks.steps), line[-1].y()))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(pen(picture.theme.idle, 0.55, 1.2, (1.5, 3.0)))
    for part in dotted:
        painter.drawPolyline(QPolygonF(part))
    painter.setPen(pen(picture.leaf_inks()[i], 1.0, 1.8, _DASHES[i % len(_DASHES)]))
    for part in solid:
        painter.drawPolyline(QPolygonF(part))


def _in_view(steps: Ints, values: Floats, picture: Picture) -> tuple[Ints, Floats]:
    """The changes in view and the one before."""
    first, last = picture.seen
    low = max(0, int(np.searchsorted(steps, first)) - 1)
    high = int(np.searchsorted(steps, last, "right")) + 1
    return steps[low:high], values[low:high]


def _by_pixel(picture: Picture, steps: Ints, heights: Floats) -> tuple[Floats, Floats, Ints]:
    """Stairs of more steps than can be seen, as lines, shape (n, 4): for each pixel that has any, one at the height
    that it leaves behind, one over all heights that were reached in it; and which of the steps is its last."""
    x = picture.xs(steps)
    starts = np.flatnonzero(np.diff(np.floor(x), prepend=np.floor(x[0]) - 1))
    ends = np.append(starts[1:], len(x)) - 1
    place, after = x[ends], heights[ends]
    before = np.concatenate([heights[:1], after[:-1]])
    low = np.minimum(np.minimum.reduceat(heights, starts), before)
    high = np.maximum(np.maximum.reduceat(heights, starts), before)
    until = np.append(place[1:], max(picture.x(picture.tracks.steps), place[-1]))
    return np.stack([place, after, until, after], 1), np.stack([place, low, place, high], 1), ends


def _saved(painter: QPainter, picture: Picture) -> None:
    held = picture.held
    changed = np.flatnonzero(np.diff(held, prepend=0))
    steps, values = _in_view(changed, held[changed].astype(np.float64), picture)
    floor = picture.held_y(0)
    heights = picture.held_ys(values)
    if len(steps) > DENSE:
        flat, steep, _ = _by_pixel(picture, steps, heights)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        area = np.stack([flat[:, 0], flat[:, 1], flat[:, 2] - flat[:, 0], floor - flat[:, 1]], 1)
        draw_boxes(painter, area, color(picture.theme.saved_fill), None)
        for rows in (flat, steep):
            draw_lines(painter, rows, pen(picture.theme.saved, 1.0, 1.0, ()))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        return
    xs = np.repeat(picture.xs(steps), 2).tolist()
    ys = np.repeat(np.concatenate([[floor], heights]), 2).tolist()
    ends = picture.x(0), picture.x(picture.tracks.steps)
    points = [QPointF(x, y) for x, y in zip([ends[0], *xs, ends[1]], ys, strict=True)]
    outline = QPainterPath()
    outline.addPolygon(QPolygonF([*points, QPointF(points[-1].x(), floor), points[0]]))
    painter.fillPath(outline, color(picture.theme.saved_fill))
    painter.setPen(pen(picture.theme.saved, 1.0, 1.8, ()))
    painter.drawPolyline(QPolygonF(points))


def _changes(painter: QPainter, picture: Picture) -> None:
    """Dashed lines where `.grad` changes outside a pass; short ones on the upper edge where they are many."""
    x = picture.xs(np.asarray(picture.changes, np.int64))
    many = len(x) > MOST_CHANGES
    top, bottom = np.full(len(x), 14.0), np.full(len(x), 20.0 if many else picture.height - 14.0)
    draw_lines(painter, np.stack([x, top, x, bottom], 1), pen(picture.theme.idle, 1.0, 1.0, () if many else (3.0, 3.0)))


def _brackets(painter: QPainter, picture: Picture) -> None:
    y = BRACKET
    painter.setPen(pen(picture.theme.idle, 0.8, 1.0, ()))
    for bracket in picture.brackets:
        left, right = picture.edges(bracket)
        corners = [QPointF(left, y + 4), QPointF(left, y), QPointF(right, y), QPointF(right, y + 4)]
        painter.drawPolyline(QPolygonF(corners))


def paint_names(painter: QPainter, picture: Picture, step: int, faint: float) -> None:
    """The names of brackets and changes, beside the playhead at `step` where it would cross them, and none under the
    step counter; later ones with opacity `faint`."""
    painter.setPen(color(picture.theme.text_dim))
    head = picture.x(step)
    limit = picture.width - (COUNTER if picture.counts_right(head) else RIM)
    for names, made, y in (
        (picture.bracket_names, font("sans", 10, 400), BRACKET - 5),
        (picture.change_names, font("mono", 10, 400), CHANGE),
    ):
        painter.setFont(made)
        for name in names:
            end = min(name.end, limit)
            x = min(name.left, end - name.width)
            if x < name.start:
                continue
            if x - APART < head < x + name.width + APART:
                x = head + APART if head + APART + name.width <= end else head - APART - name.width
            painter.setOpacity(faint if name.step > step else 1.0)
            painter.drawText(QPointF(x, y), name.text)
    painter.setOpacity(1.0)
