"""The graph as plain arrays: drawn when too much is in view for single shapes, and asked what stands where."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from gradviz.graph.model import Graph, Layout
from gradviz.scene.moment import DONE, FAILED, FREED, GONE, HIDDEN, IDLE, PENDING, PLANNED, RUNNING, Moment
from gradviz.scene.shapes import Box
from gradviz.scene.theme import Theme, mix

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
CODES = 9


class Far:
    """Boxes, and the routes cut into straight pieces, of one graph and layout."""

    def __init__(self, graph: Graph, layout: Layout) -> None:
        self.boxes = np.ascontiguousarray(layout.boxes, np.float64).reshape(-1, 4)
        self.right = self.boxes[:, 0] + self.boxes[:, 2]
        self.bottom = self.boxes[:, 1] + self.boxes[:, 3]
        self.is_leaf = np.asarray([c.kind == "leaf" for c in graph.cards], np.bool_)
        self.wire_boxes = _wire_boxes(layout, len(graph.wires))
        self.wire_node = np.asarray([w.edges[0][0] if w.edges else -1 for w in graph.wires], np.int64)
        born = np.asarray([c.born for c in graph.cards], np.int64)
        source = np.asarray([w.source for w in graph.wires], np.int64)
        target = np.asarray([w.target for w in graph.wires], np.int64)
        self.wire_born = np.maximum(born[source], born[target]) if len(source) else np.zeros(0, np.int64)
        self.coarse = Pieces(layout, 1)
        self._layout = layout

    @cached_property
    def fine(self) -> Pieces:
        """Routes in six pieces a curve."""
        return Pieces(self._layout, 6)

    def cards_in(self, box: Box) -> Ints:
        """Cards that touch a box."""
        x, y, w, h = box
        inside = (self.boxes[:, 0] < x + w) & (self.right > x) & (self.boxes[:, 1] < y + h) & (self.bottom > y)
        return np.flatnonzero(inside)

    def wires_in(self, box: Box) -> Ints:
        """Wires whose surrounding box touches a box."""
        x, y, w, h = box
        x0, y0, x1, y1 = self.wire_boxes.T
        return np.flatnonzero((x0 < x + w) & (x1 > x) & (y0 < y + h) & (y1 > y))

    def hit(self, x: float, y: float, slack: float = 0.0) -> int | None:
        """The card at a point; the nearest one within `slack` pixels."""
        dx = np.maximum(np.maximum(self.boxes[:, 0] - x, x - self.right), 0)
        dy = np.maximum(np.maximum(self.boxes[:, 1] - y, y - self.bottom), 0)
        if not len(dx):
            return None
        distance = dx + dy
        best = int(np.argmin(distance))
        return best if distance[best] <= slack else None

    def classes(self, moment: Moment) -> npt.NDArray[np.uint8]:
        """Index into `palette` of each card at a step."""
        return (moment.codes + CODES * self.is_leaf).astype(np.uint8)

    def wire_classes(self, moment: Moment) -> npt.NDArray[np.uint8]:
        """0: not there yet, 1: forward only or waiting, 2: its gradient was delivered, 3: it moves now."""
        classes = (self.wire_born <= moment.frame.step).astype(np.uint8)
        have = self.wire_node >= 0
        nodes = moment.node_codes
        if not len(nodes):
            return classes
        codes = nodes[np.clip(self.wire_node, 0, len(nodes) - 1)]
        classes[have & (classes > 0) & ((codes == DONE) | (codes == FREED))] = 2
        classes[have & (classes > 0) & (codes == RUNNING)] = 3
        return classes


def palette(theme: Theme) -> list[str]:
    """Fill of a far box by its class: code, then code + 9 for leaves."""
    plain = [""] * CODES
    plain[HIDDEN] = mix(theme.canvas, theme.card_border, 0.45)
    plain[IDLE] = mix(theme.forward_fill, theme.forward, 0.15)
    plain[PENDING] = mix(theme.forward_fill, theme.forward, 0.35)
    plain[PLANNED] = mix(theme.gradient_fill, theme.gradient, 0.3)
    plain[RUNNING] = theme.accent
    plain[DONE] = plain[FREED] = mix(theme.gradient_fill, theme.gradient, 0.75)
    plain[GONE] = mix(theme.canvas, theme.idle, 0.25)
    plain[FAILED] = theme.error
    leaf = list(plain)
    leaf[IDLE] = mix(theme.canvas, theme.idle, 0.35)
    leaf[PENDING] = leaf[PLANNED] = mix(theme.leaf_fill, theme.leaf, 0.35)
    leaf[DONE] = leaf[FREED] = theme.leaf
    return plain + leaf


def _wire_boxes(layout: Layout, count: int) -> Floats:
    """Shape (wires, 4): left, top, right, bottom of both routes; nothing: turned inside out."""
    boxes = np.full((count, 4), np.nan)
    boxes[:, :2], boxes[:, 2:] = np.inf, -np.inf
    for ptr, xy in ((layout.forward_ptr, layout.forward_xy), (layout.gradient_ptr, layout.gradient_xy)):
        starts = np.asarray(ptr[:-1], np.int64)
        some = starts < np.asarray(ptr[1:], np.int64)
        if some.any():
            boxes[some, :2] = np.minimum(boxes[some, :2], np.minimum.reduceat(xy, starts[some]))
            boxes[some, 2:] = np.maximum(boxes[some, 2:], np.maximum.reduceat(xy, starts[some]))
    for labels in (layout.forward_label, layout.gradient_label):
        have = ~np.isnan(labels[:, 0]) if len(labels) else np.zeros(0, np.bool_)
        boxes[have, :2] = np.minimum(boxes[have, :2], labels[have] - 60)
        boxes[have, 2:] = np.maximum(boxes[have, 2:], labels[have] + 60)
    boxes += np.asarray([-4.0, -4.0, 4.0, 4.0])
    return boxes


class Pieces:
    """Every forward route, or the gradient's where a wire has only that, as straight pieces in order of the wires.

    `lines` has shape (pieces, 4); those of wire i are `ptr[i]` to `ptr[i + 1]`.
    """

    def __init__(self, layout: Layout, steps: int) -> None:
        forward = np.diff(layout.forward_ptr) > 0
        back = ~forward & (np.diff(layout.gradient_ptr) > 0)
        parts = [
            _cut(layout.forward_xy, layout.forward_ptr, forward, steps),
            _cut(layout.gradient_xy, layout.gradient_ptr, back, steps),
        ]
        wires = np.concatenate([wire for _, wire in parts])
        order = np.argsort(wires, kind="stable")
        self.lines: Floats = np.ascontiguousarray(np.concatenate([lines for lines, _ in parts])[order])
        self.wire: Ints = wires[order]
        self.ptr: Ints = np.searchsorted(self.wire, np.arange(len(forward) + 1))

    def of(self, wires: Ints) -> tuple[Floats, Ints]:
        """Pieces of some wires (in rising order), and the wire of each piece."""
        if len(wires) == len(self.ptr) - 1:
            return self.lines, self.wire
        counts = self.ptr[wires + 1] - self.ptr[wires]
        index = np.repeat(self.ptr[wires] - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
        return self.lines[index], self.wire[index]


def _cut(xy: Floats, ptr: Ints, which: npt.NDArray[np.bool_], steps: int) -> tuple[Floats, Ints]:
    cubics = np.where(which, (np.diff(ptr) - 1) // 3, 0)
    total = int(cubics.sum())
    if not total:
        return np.zeros((0, 4)), np.zeros(0, np.int64)
    wire = np.repeat(np.arange(len(cubics)), cubics)
    within = np.arange(total) - np.repeat(np.cumsum(cubics) - cubics, cubics)
    first = np.asarray(ptr)[:-1][wire] + 3 * within
    p = [xy[first + k] for k in range(4)]
    t = np.linspace(0, 1, steps + 1)[None, :, None]
    s = 1 - t
    a, b, c, d = (point[:, None, :] for point in p)
    knots = s**3 * a + 3 * s * s * t * b + 3 * s * t * t * c + t**3 * d
    pieces = np.concatenate([knots[:, :-1], knots[:, 1:]], 2)
    return pieces.reshape(-1, 4), np.repeat(wire, steps)
