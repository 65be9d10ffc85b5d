"""Wires as shapes: the tensor's way forward, the gradients' way back beside it, and what rides on both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gradviz.graph.model import Layout, Wire
from gradviz.scene import heat
from gradviz.scene.marks import ARROW, arrow, word
from gradviz.scene.moment import DONE, FAILED, FREED, GONE, HIDDEN, PENDING, PLANNED, RUNNING, Moment
from gradviz.scene.shapes import Cells, Curve, Point, Rect, Shape
from gradviz.scene.theme import mix
from gradviz.trace.events import Data

Floats = npt.NDArray[np.float64]
LINE = 1.6
MOVING = 3.0
CHIP = 11.0
"""Size of a heat cell that rides on a wire."""


@dataclass(frozen=True, slots=True)
class Travel:
    """State of the gradient of a wire: how it looks, what it carries."""

    code: int
    data: Data | None = None
    undefined: bool = False
    """It ran and PyTorch gave no gradient for this edge."""


def route(xy: Floats, ptr: npt.NDArray[np.int64], i: int) -> Floats:
    """Points of wire i; shape (0, 2) where it has no such route."""
    return xy[ptr[i] : ptr[i + 1]]


def forward_shapes(moment: Moment, layout: Layout, i: int, *, now: bool, opacity: float) -> Iterator[Shape]:
    """The tensor's way: a solid line that grows to the operation which runs now."""
    theme, wire = moment.theme, moment.graph.wires[i]
    points = route(layout.forward_xy, layout.forward_ptr, i)
    if len(points) < 4 or not wire.forward:
        return
    growing = now and moment.motion < 1.0
    gone = _gone(moment, wire)
    color, opacity = (theme.idle, opacity * 0.3) if gone else (theme.forward, opacity)
    if growing:
        points = head(points, ease(moment.motion))
    yield from _line(points, color, 2.2 if now else LINE, opacity=opacity)


def gradient_shapes(moment: Moment, layout: Layout, i: int, travel: Travel, *, opacity: float) -> Iterator[Shape]:
    """The gradient's way back: dotted before any plan, dashed when planned, solid once delivered, thick now."""
    theme = moment.theme
    points = route(layout.gradient_xy, layout.gradient_ptr, i)
    if len(points) < 4:
        return
    if travel.code == RUNNING:
        moved = ease(moment.motion)
        if moved < 1.0:
            yield from _line(points, mix(theme.gradient, theme.canvas, 0.45), LINE, (4, 4), opacity)
        yield from _line(head(points, moved), theme.gradient, MOVING, opacity=opacity)
    elif travel.code in (DONE, FREED):
        if travel.undefined:
            yield from _line(points, theme.idle, 1.2, (1.5, 4), opacity * 0.7)
        else:
            yield from _line(points, theme.gradient, LINE, opacity=opacity)
    elif travel.code == PLANNED:
        yield from _line(points, mix(theme.gradient, theme.canvas, 0.45), LINE, (4, 4), opacity)
    elif travel.code in (PENDING, GONE, FAILED):
        yield from _line(points, theme.idle, 1.1, (1.2, 4.5), opacity * (0.3 if travel.code == GONE else 0.55))


def travel_of(moment: Moment, wire: Wire) -> Travel | None:
    """What the gradient of a wire is doing; None: none goes back along it, or its node is not born yet."""
    if not wire.edges:
        return seed_of(moment, wire)
    node, edge = wire.edges[0]
    best = Travel(moment.node_code(node), *_sent(moment, node, edge))
    for node, edge in wire.edges[1:]:
        other = Travel(moment.node_code(node), *_sent(moment, node, edge))
        if _URGENCY.get(other.code, 0) > _URGENCY.get(best.code, 0) or best.undefined:
            best = other
    return None if best.code == HIDDEN else best


_URGENCY = {RUNNING: 4, PLANNED: 3, DONE: 2, FREED: 2, PENDING: 1}


def _sent(moment: Moment, node: int, edge: int) -> tuple[Data | None, bool]:
    if moment.node_code(node) not in (RUNNING, DONE, FREED):
        return None, False
    run = moment.frame.run(node)
    if run is None or edge >= len(run.gout):
        return None, False
    return run.gout[edge], run.gout[edge] is None


def seed_of(moment: Moment, wire: Wire) -> Travel | None:
    """The seed's way from a root's card to the operation that made it."""
    target = moment.graph.cards[wire.target]
    if target.kind != "result" or target.tensor is None:
        return None
    if target.tensor not in moment.seeds:
        return None
    if moment.codes[wire.target] == GONE:
        return Travel(GONE)
    data, _ = moment.seeds[target.tensor]
    seed = moment.seed
    now = seed is not None and target.tensor in seed.tensors
    return Travel(RUNNING if now else DONE, data)


# ---- what rides


def forward_rider(moment: Moment, layout: Layout, i: int, opacity: float) -> list[Shape]:
    """Name and heat cells of the tensor on its wire. Leaves and roots show their own."""
    wire = moment.graph.wires[i]
    center = layout.forward_label[i]
    if wire.tensor is None or not wire.forward or wire.label is None or np.isnan(center[0]):
        return []
    if moment.graph.cards[wire.source].kind == "leaf" or moment.graph.cards[wire.target].kind == "result":
        return []
    data = moment.frame.value_data(wire.tensor)
    name = moment.trace.name(wire.tensor) or ""
    if data is None and not name:
        return []
    theme = moment.theme
    fade = theme.idle if _gone(moment, wire) else theme.forward
    return _rider(
        moment, name, data, (float(center[0]), float(center[1])), wire.label, (theme.card, fade, fade), opacity
    )


def gradient_rider(moment: Moment, layout: Layout, i: int, travel: Travel, opacity: float) -> list[Shape]:
    """∇ and the heat cells of the gradient, where it stands or as it travels. A root tells the seed 1 itself."""
    wire = moment.graph.wires[i]
    if travel.data is None or travel.code not in (RUNNING, DONE, FREED):
        return []
    if not wire.edges and not travel.data.shape:
        return []
    points = route(layout.gradient_xy, layout.gradient_ptr, i)
    rest = layout.gradient_label[i]
    if len(points) < 4 or (np.isnan(rest[0]) and travel.code != RUNNING):
        return []
    moving = travel.code == RUNNING and moment.motion < 1.0
    if np.isnan(rest[0]) and not moving:
        return []
    center = _on_the_way(points, rest, ease(moment.motion)) if moving else (float(rest[0]), float(rest[1]))
    theme = moment.theme
    colors = (theme.gradient_fill, theme.gradient, theme.ink("gradient"))
    return _rider(moment, "∇", travel.data, center, wire.label, colors, opacity)


def _on_the_way(points: Floats, rest: Floats, moved: float) -> Point:
    """From the sending node along the route to the place of rest, which lies beside it."""
    if np.isnan(rest[0]):
        x, y = at(points, moved)
        return x, y
    share = nearest(points, rest)
    x, y = at(points, share * moved)
    ex, ey = at(points, share)
    return x + (float(rest[0]) - ex) * moved, y + (float(rest[1]) - ey) * moved


def _rider(
    moment: Moment,
    name: str,
    data: Data | None,
    center: Point,
    room: tuple[float, float] | None,
    colors: tuple[str, str, str],
    opacity: float,
) -> list[Shape]:
    """A chip with a name and up to 8 heat cells, centred."""
    fill, stroke, ink = colors
    cells = _rider_cells(moment, data, opacity)
    most = room[0] if room else 96.0
    label = word(
        0, 0, name, ink, max(12.0, most - 16 - (cells.width + 5 if cells else 0)), size=11, weight=500, opacity=opacity
    )
    taken = label[0].width if label and hasattr(label[0], "width") else 0.0
    width = 14 + taken + (cells.width + (5 if taken else 0) if cells else 0.0)
    height = max(18.0, (cells.height if cells else 0) + 8)
    x, y = center[0] - width / 2, center[1] - height / 2
    shapes: list[Shape] = [Rect(x, y, width, height, fill, stroke, 1.0, min(9.0, height / 2), opacity=opacity)]
    if label:
        shapes += word(x + 7, center[1] + 4, name, ink, taken + 1, size=11, weight=500, opacity=opacity)
    if cells:
        left = x + width - 7 - cells.width
        top = center[1] - cells.height / 2
        shapes.append(
            Cells(
                left,
                top,
                cells.rows,
                cells.columns,
                cells.size,
                cells.gap,
                cells.colors,
                cells.marks,
                cells.ink,
                opacity,
            )
        )
    return shapes


def _rider_cells(moment: Moment, data: Data | None, opacity: float) -> Cells | None:
    if data is None:
        return None
    rows, columns = heat.grid_of(data, 5)
    size = CHIP if rows == 1 else max(3.0, (20.0 - rows + 1) / rows)
    return heat.cells(0, 0, data, (rows, columns), moment.theme, size=size, opacity=opacity)


def _gone(moment: Moment, wire: Wire) -> bool:
    return int(moment.codes[wire.source]) == GONE or int(moment.codes[wire.target]) == GONE


# ---- curves


def _line(
    points: Floats, color: str, line: float, dash: tuple[float, ...] = (), opacity: float = 1.0
) -> Iterator[Shape]:
    """A curve that ends in an arrow head; the line stops inside the head, so that its end is sharp."""
    tip = points[-1]
    direction = _direction(points)
    size = ARROW + (1.5 if line > 2 else 0.0)
    short = points.copy()
    short[-1] = tip - direction * size * 0.8
    if len(points) >= 4:
        short[-2] = points[-2] - direction * min(size * 0.8, float(np.linalg.norm(points[-2] - points[-1])) * 0.5)
    yield Curve(tuple((round(float(x), 2), round(float(y), 2)) for x, y in short), color, line, dash, opacity)
    yield arrow((float(tip[0]), float(tip[1])), (float(direction[0]), float(direction[1])), color, size, opacity)


def _direction(points: Floats) -> Floats:
    for back in points[-2::-1]:
        step = points[-1] - back
        length = float(np.hypot(step[0], step[1]))
        if length > 1e-6:
            unit: Floats = step / length
            return unit
    return np.asarray([1.0, 0.0])


def ease(share: float) -> float:
    """Slow at both ends."""
    return share * share * (3 - 2 * share)


def split(p: Floats, t: float) -> Floats:
    """The first part of one cubic curve, up to parameter t (de Casteljau)."""
    a, b, c = p[0] + (p[1] - p[0]) * t, p[1] + (p[2] - p[1]) * t, p[2] + (p[3] - p[2]) * t
    d, e = a + (b - a) * t, b + (c - b) * t
    return np.stack([p[0], a, d, d + (e - d) * t])


def _lengths(points: Floats) -> Floats:
    """Rough length of each cubic of a chain: mean of chord and control polygon."""
    quads = np.stack([points[:-1:3], points[1::3], points[2::3], points[3::3]], 1)
    legs = np.linalg.norm(np.diff(quads, axis=1), axis=2).sum(1)
    chords = np.linalg.norm(quads[:, 3] - quads[:, 0], axis=1)
    lengths: Floats = np.maximum((legs + chords) / 2, 1e-9)
    return lengths


def _locate(points: Floats, share: float) -> tuple[int, float]:
    """Which cubic of a chain, and its parameter, lie `share` of the way along."""
    ends = np.cumsum(_lengths(points))
    want = share * ends[-1]
    k = min(int(np.searchsorted(ends, want)), len(ends) - 1)
    before = ends[k - 1] if k else 0.0
    return k, float((want - before) / (ends[k] - before))


def head(points: Floats, share: float) -> Floats:
    """The first part of a chain of cubics."""
    if share >= 1:
        return points
    k, t = _locate(points, max(share, 0.02))
    return np.concatenate([points[: 3 * k], split(points[3 * k : 3 * k + 4], t)])


def at(points: Floats, share: float) -> Point:
    """The point that lies `share` of the way along a chain of cubics."""
    k, t = _locate(points, share)
    x, y = split(points[3 * k : 3 * k + 4], t)[-1]
    return float(x), float(y)


def nearest(points: Floats, place: Floats) -> float:
    """How far along a chain the point next to `place` lies, 0 to 1."""
    shares = np.linspace(0, 1, 33)
    spots = np.asarray([at(points, float(s)) for s in shares])
    return float(shares[int(np.argmin(np.hypot(*(spots - place).T)))])
