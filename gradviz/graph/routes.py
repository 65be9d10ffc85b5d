"""Curves of all wires at once, and where what rides on them stands. Wires bend in the gaps between columns only."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gradviz.graph.heights import monotone
from gradviz.graph.model import Floats, Graph, Ints
from gradviz.graph.wrap import Turn

LANE = 16.0
BESIDE = 3.0
"""How far from the middle of a lane its two ways run: forward above, gradient below."""
LABEL_ROOM = 4.0


@dataclass(slots=True)
class Plan:
    """Where cards and lanes stand; filled in region by region."""

    boxes: Floats
    column: Floats
    """Shape (cards, 2): left and right edge of the column that a card stands in."""
    gap: Floats
    """Shape (cards,): width of the gap before the card's column."""
    stub: np.ndarray
    fresh: np.ndarray
    """Wires whose routes are to be made here."""
    first_lane: Ints
    lane_count: Ints
    lanes: list[tuple[float, float, float]] = field(default_factory=list)
    """(top, left edge of its column, right edge)."""
    turns: list[Turn] = field(default_factory=list)
    """Where wires go round to the next line of a wrapped region."""
    crossings: int = 0

    @classmethod
    def of(cls, graph: Graph) -> Plan:
        """Nothing placed yet."""
        cards, wires = len(graph.cards), len(graph.wires)
        return cls(
            np.zeros((cards, 4)), np.zeros((cards, 2)), np.zeros(cards),
            np.zeros(wires, np.bool_), np.ones(wires, np.bool_), np.zeros(wires, np.int64), np.zeros(wires, np.int64),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Routes:
    """Routes in the form of a `Layout`."""

    ptr: Ints
    xy: Floats
    label: Floats


def routes(graph: Graph, plan: Plan) -> tuple[Routes, Routes]:
    """Forward and gradient routes of the plan's fresh wires."""
    wires = graph.wires
    count = len(wires)
    source = np.fromiter((w.source for w in wires), np.int64, count)
    target = np.fromiter((w.target for w in wires), np.int64, count)
    forward = np.fromiter((w.forward for w in wires), np.bool_, count)
    ends_in_result = np.fromiter((c.kind == "result" for c in graph.cards), np.bool_, len(graph.cards))
    from_leaf = np.fromiter((c.kind == "leaf" for c in graph.cards), np.bool_, len(graph.cards))
    back = np.fromiter((bool(w.edges) for w in wires), np.bool_, count) | ends_in_result[target]
    drawn = plan.fresh & ~plan.stub
    ports = [np.fromiter((getattr(w, name) for w in wires), np.float64, count) for name in _PORTS]
    ridden = np.fromiter((w.label is not None for w in wires), np.bool_, count)
    ahead, ahead_last = _chains(plan, source, target, ports[0], ports[1], -BESIDE, drawn & forward)
    behind, behind_last = _chains(plan, source, target, ports[3], ports[2], BESIDE, drawn & back)
    high = max((w.label[1] for w in wires if w.label is not None), default=0.0) + LABEL_ROOM
    labels = _labels(
        plan,
        target,
        (drawn & forward & ridden & ~from_leaf[source], drawn & back & ridden),
        (ahead_last - 16.0, behind_last + 16.0),
        high,
    )
    return (
        Routes(*_packed(ahead, count), labels[0]),
        Routes(*_packed(behind, count, flip=True), labels[1]),
    )


_PORTS = ("source_port", "target_port", "grad_from", "grad_to")

Segments = tuple[Ints, Floats, Floats, Floats]
"""Wire of each segment, its two ends, shape (segments, 2) each, and how far it reaches out to the right where it turns
round (negative: to the left; 0: it does not turn)."""


def _chains(
    plan: Plan, source: Ints, target: Ints, out: Floats, into: Floats, beside: float, drawn: np.ndarray
) -> tuple[Segments, Floats]:
    """Segments from source to target over the lanes, and the middle height of the last curve of each wire."""
    boxes = plan.boxes
    y0 = boxes[source, 1] + out
    y1 = boxes[target, 1] + into
    chosen = np.flatnonzero(drawn)
    lane_count = plan.lane_count[chosen]
    knots = 4 + 2 * lane_count
    ends = np.cumsum(knots)
    starts = ends - knots
    total = int(ends[-1]) if len(ends) else 0
    xy = np.zeros((total, 2))
    s, t = source[chosen], target[chosen]
    xy[starts, 0] = boxes[s, 0] + boxes[s, 2]
    xy[starts + 1, 0] = plan.column[s, 1]
    xy[starts, 1] = xy[starts + 1, 1] = y0[chosen]
    xy[ends - 2, 0] = plan.column[t, 0]
    xy[ends - 1, 0] = boxes[t, 0]
    xy[ends - 2, 1] = xy[ends - 1, 1] = y1[chosen]
    if lane_count.any():
        lanes = np.asarray(plan.lanes, np.float64).reshape(-1, 3)
        which = np.repeat(np.arange(len(chosen)), lane_count)
        nth = np.arange(len(which)) - np.repeat(np.cumsum(lane_count) - lane_count, lane_count)
        lane = plan.first_lane[chosen][which] + nth
        at = starts[which] + 2 + 2 * nth
        xy[at, 0], xy[at + 1, 0] = lanes[lane, 1], lanes[lane, 2]
        xy[at, 1] = xy[at + 1, 1] = lanes[lane, 0] + LANE / 2 + beside
    last = np.zeros(len(source))
    last[chosen] = (xy[ends - 3, 1] + xy[ends - 2, 1]) / 2
    wire = np.repeat(chosen, knots)
    wire, xy, out_ = _turned(plan, wire, xy, chosen, starts, beside)
    kept = np.zeros(0, np.bool_)
    if total:
        kept = (wire[:-1] == wire[1:]) & ((xy[1:, 0] - xy[:-1, 0] > 0.01) | (out_[:-1] != 0))
    bends = np.where(np.isnan(out_), 0.0, out_)[:-1]
    return (wire[:-1][kept], xy[:-1][kept], xy[1:][kept], bends[kept]), last


def _turned(
    plan: Plan, wire: Ints, xy: Floats, chosen: Ints, starts: Ints, beside: float
) -> tuple[Ints, Floats, Floats]:
    """Put two knots in for each turn: out at the end of the line, back between the lines. The third result tells how
    far the segment after each knot reaches out, NaN for the way back, which is straight."""
    at = {int(w): int(s) for w, s in zip(chosen, starts, strict=True)} if plan.turns else {}
    turns = [turn for turn in plan.turns if turn.wire in at]
    if not turns:
        return wire, xy, np.zeros(len(wire))
    knot = np.asarray([at[turn.wire] + 1 + 2 * turn.passed for turn in turns])
    order = np.argsort(knot, kind="stable")
    knot, turns = knot[order], [turns[i] for i in order]
    y = np.asarray([turn.y for turn in turns]) - beside
    new = np.empty((2 * len(turns), 2))
    new[0::2, 0], new[1::2, 0] = xy[knot, 0], xy[knot + 1, 0]
    new[0::2, 1] = new[1::2, 1] = y
    after = np.repeat(knot + 1, 2)
    bends = np.zeros(len(wire))
    bends[knot] = [turn.right - beside for turn in turns]
    back = np.empty(2 * len(turns))
    back[0::2], back[1::2] = np.nan, [-turn.left - beside for turn in turns]
    return np.insert(wire, after, np.repeat(wire[knot], 2)), np.insert(xy, after, new, 0), np.insert(bends, after, back)


def _packed(segments: Segments, count: int, *, flip: bool = False) -> tuple[Ints, Floats]:
    """One cubic for each segment, level at both ends; `flip` runs each chain from its end to its start."""
    wire, start, end, bends = segments
    pieces = np.bincount(wire, minlength=count)
    ptr = np.zeros(count + 1, np.int64)
    np.cumsum(np.where(pieces, 3 * pieces + 1, 0), out=ptr[1:])
    before = np.cumsum(pieces) - pieces
    at = ptr[wire] + 3 * (np.arange(len(wire)) - before[wire])
    xy = np.zeros((int(ptr[-1]), 2))
    middle = (start[:, 0] + end[:, 0]) / 2 + bends
    xy[at] = start
    xy[at + 1, 0] = xy[at + 2, 0] = middle
    xy[at + 1, 1], xy[at + 2, 1] = start[:, 1], end[:, 1]
    xy[at + 3] = end
    if flip and len(xy):
        of = np.repeat(np.arange(count), np.diff(ptr))
        xy = xy[ptr[of] + ptr[of + 1] - 1 - np.arange(len(xy))]
    return ptr, xy


def _labels(
    plan: Plan, target: Ints, ridden: tuple[np.ndarray, np.ndarray], wanted: tuple[Floats, Floats], high: float
) -> Floats:
    """Centres, shape (2, wires, 2): in the gap before the target, one above the other, near the wire."""
    found = np.full((2, len(target), 2), np.nan)
    kinds = np.concatenate([np.full(int(r.sum()), k) for k, r in enumerate(ridden)])
    wires = np.concatenate([np.flatnonzero(r) for r in ridden])
    if not len(wires):
        return found
    t = target[wires]
    x = np.round(plan.column[t, 0] - plan.gap[t] / 2, 1)
    y = np.where(kinds == 0, wanted[0][wires], wanted[1][wires])
    order = np.lexsort((wires, y, x))
    x, y, kinds, wires = x[order], y[order], kinds[order], wires[order]
    cuts = np.flatnonzero(np.concatenate([[True], np.diff(x) > 0, [True]]))
    crowded = np.concatenate([(np.diff(x) == 0) & (np.diff(y) < high), [False]])
    busy = np.add.reduceat(crowded, cuts[:-1]) > 0
    for k in np.flatnonzero(busy).tolist():
        a, b = int(cuts[k]), int(cuts[k + 1])
        apart = high * np.arange(b - a)
        y[a:b] = np.asarray(monotone((y[a:b] - apart).tolist(), [1.0] * (b - a))) + apart
    found[kinds, wires, 0], found[kinds, wires, 1] = x, y
    return found
