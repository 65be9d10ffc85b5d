"""The graph as plain arrays: drawn when too much is in view for single shapes, and asked what stands where."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from gradviz.graph.index import GraphIndex, wire_boxes
from gradviz.graph.model import Graph, Layout
from gradviz.scene.moment import DONE, FAILED, FREED, GONE, HIDDEN, IDLE, PENDING, PLANNED, RUNNING, Moment
from gradviz.scene.shapes import Box
from gradviz.scene.theme import Theme, mix

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
CODES = 9


class Far:
    """Boxes, and the routes cut into straight pieces, of one graph and layout."""

    def __init__(self, graph: Graph, layout: Layout, index: GraphIndex, boxes: Floats | None = None) -> None:
        self.boxes = np.ascontiguousarray(layout.boxes, np.float64).reshape(-1, 4)
        self.right = self.boxes[:, 0] + self.boxes[:, 2]
        self.bottom = self.boxes[:, 1] + self.boxes[:, 3]
        self.is_leaf = index.is_leaf
        self.wire_born = np.maximum(index.born[index.source], index.born[index.target])
        self.wire_node = index.wire_node
        self._graph = graph
        self._layout = layout
        if boxes is not None:
            self.wire_boxes = boxes

    @cached_property
    def wire_boxes(self) -> Floats:
        """Left, top, right and bottom of each wire, shape (wires, 4)."""
        return wire_boxes(self._layout, len(self._graph.wires))

    @cached_property
    def coarse(self) -> tuple[Floats, Ints]:
        """Every wire as one straight piece a curve, shape (pieces, 4), and the wire of each piece."""
        return self.pieces(np.arange(len(self._graph.wires)), 1)

    def pieces(self, wires: Ints, steps: int) -> tuple[Floats, Ints]:
        """Some wires (in rising order) as `steps` straight pieces a curve: lines of shape (pieces, 4), and the wire of
        each. The forward route, or the gradient's where a wire has only that."""
        layout = self._layout
        ahead = np.diff(layout.forward_ptr)[wires] > 0
        parts = [
            _cut(layout.forward_xy, layout.forward_ptr, wires[ahead], steps),
            _cut(layout.gradient_xy, layout.gradient_ptr, wires[~ahead], steps),
        ]
        lines = np.concatenate([lines for lines, _ in parts])
        owner = np.concatenate([owner for _, owner in parts])
        if not len(parts[1][1]):
            return lines, owner
        order = np.argsort(owner, kind="stable")
        return lines[order], owner[order]

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


def _cut(xy: Floats, ptr: Ints, wires: Ints, steps: int) -> tuple[Floats, Ints]:
    cubics = np.maximum((np.diff(ptr)[wires] - 1) // 3, 0)
    total = int(cubics.sum())
    if not total:
        return np.zeros((0, 4)), np.zeros(0, np.int64)
    owner = np.repeat(wires, cubics)
    within = np.arange(total) - np.repeat(np.cumsum(cubics) - cubics, cubics)
    first = np.asarray(ptr)[owner] + 3 * within
    if steps == 1:
        return np.concatenate([xy[first], xy[first + 3]], 1), owner
    p = [xy[first + k] for k in range(4)]
    t = np.linspace(0, 1, steps + 1)[None, :, None]
    s = 1 - t
    a, b, c, d = (point[:, None, :] for point in p)
    knots = s**3 * a + 3 * s * s * t * b + 3 * s * t * t * c + t**3 * d
    pieces = np.concatenate([knots[:, :-1], knots[:, 1:]], 2)
    return pieces.reshape(-1, 4), np.repeat(owner, steps)
