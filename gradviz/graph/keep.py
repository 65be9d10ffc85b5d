"""What was on the canvas before stays where it was while the recording grows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np

from gradviz.graph.model import Floats, Graph, Ints, Layout
from gradviz.graph.regions import LABEL_GAP, LABEL_SIDES, Region
from gradviz.graph.routes import LANE, Plan, Routes

LANE_PITCH = LANE + 4.0
Key = tuple[str, str, int | None, bool, bool, int]


class Kept:
    """The layout before, seen from the graph now."""

    def __init__(self, graph: Graph, before: Graph, layout: Layout) -> None:
        self.graph, self.before, self.layout = graph, before, layout
        self.card = [self._known(i) for i in range(len(graph.cards))]
        """Card now -> card before of the same size, or None."""
        known = {key: w for w, key in enumerate(_keys(before))}
        self.wire = [
            known.get(key) if self.card[w.source] is not None and self.card[w.target] is not None else None
            for key, w in zip(_keys(graph), graph.wires, strict=True)
        ]
        self.shift = np.zeros(len(graph.wires))
        """How far each kept wire moved down."""
        self.taken = np.full(len(graph.wires), -1, np.int64)

    def _known(self, i: int) -> int | None:
        card = self.graph.cards[i]
        old = self.before.index.get(card.key)
        if old is None:
            return None
        box = self.layout.boxes[old]
        same = abs(box[2] - card.width) < 0.5 and abs(box[3] - card.height) < 0.5
        return old if same else None

    def top(self, cards: list[int]) -> float:
        """Where these cards began before; minus infinity where none was there."""
        old = [self.before.index.get(self.graph.cards[i].key) for i in cards]
        return min((float(self.layout.boxes[o, 1]) for o in old if o is not None), default=-np.inf)

    def place(self, plan: Plan, cards: list[int], wires: list[int], top: float) -> float | None:
        """Put a generation where it was, its new cards to the right, not above `top`. Gives its bottom, or None where
        the generation has to be laid out afresh."""
        old = [(i, o) for i in cards if (o := self.card[i]) is not None]
        new = [i for i in cards if self.card[i] is None]
        added = [w for w in wires if self.wire[w] is None]
        stays = {i for i, _ in old}
        if not old or len(new) > len(old) or any(self.graph.wires[w].target in stays for w in added):
            return None
        here, there = (np.asarray(part) for part in zip(*old, strict=True))
        boxes = self.layout.boxes[there].copy()
        kept = [(w, o) for w in wires if (o := self.wire[w]) is not None]
        ways = self._points([o for _, o in kept])
        first = min(boxes[:, 1].min(), ways[:, 1].min(initial=np.inf))
        moved = max(0.0, top - first)
        boxes[:, 1] += moved
        plan.boxes[here] = boxes
        plan.column[here] = _columns(boxes)
        for w, before in kept:
            self.taken[w], self.shift[w] = before, moved
            plan.stub[w], plan.fresh[w] = self.layout.stub[before], False
        low = max((boxes[:, 1] + boxes[:, 3]).max(), moved + ways[:, 1].max(initial=-np.inf))
        edge = max(plan.column[here, 1].max(), ways[:, 0].max(initial=-np.inf))
        return self._beside(plan, new, added, stays, (float(edge), moved + first, low)) if new else float(low)

    def _beside(
        self, plan: Plan, new: list[int], added: list[int], stays: set[int], around: tuple[float, float, float]
    ) -> float:
        """New cards stand right of all old ones, at the height of their inputs; wires to them run below. `around`:
        right edge, top and bottom of what was there."""
        graph = self.graph
        edge, top, low = around
        joins = [w for w in added if graph.wires[w].source in stays]
        region = Region(graph, new, [w for w in added if graph.wires[w].source not in stays], wraps=False)
        lanes = len(plan.lanes)
        gap = max([LABEL_GAP, *(lab[0] + LABEL_SIDES for w in joins if (lab := graph.wires[w].label) is not None)])
        region.place(plan, edge + gap, top)
        pulls = [
            plan.boxes[(x := graph.wires[w]).source, 1] + x.source_port - plan.boxes[x.target, 1] - x.target_port
            for w in joins
        ]
        down = max(0.0, float(np.mean(pulls))) if pulls else 0.0
        plan.boxes[new, 1] += down
        plan.lanes[lanes:] = [(y + down, a, b) for y, a, b in plan.lanes[lanes:]]
        columns = sorted({(float(a), float(b)) for a, b in plan.column[sorted(stays)]})
        following = {a: b for (_, a), (b, _) in pairwise([*columns, (edge + gap, edge + gap)])}
        places = sorted({(float(a), float(b)) for a, b in plan.column[new]})
        ahead = {a: p[1] for p, (a, _) in pairwise(places)} | {edge + gap: edge}
        below = max(low, (plan.boxes[new, 1] + plan.boxes[new, 3]).max())
        for n, w in enumerate(joins):
            wire = graph.wires[w]
            left = following[float(plan.column[wire.source, 1])]
            right = ahead[float(plan.column[wire.target, 0])]
            plan.gap[wire.target] = plan.column[wire.target, 0] - right
            if left < right:
                plan.first_lane[w], plan.lane_count[w] = len(plan.lanes), 1
                plan.lanes.append((below + 4.0 + n * LANE_PITCH, left, right))
        return float(below + (len(joins) * LANE_PITCH if joins else 0.0))

    def _points(self, wires: list[int]) -> Floats:
        ways = [(self.layout.forward_ptr, self.layout.forward_xy), (self.layout.gradient_ptr, self.layout.gradient_xy)]
        return np.concatenate([xy[_rows(ptr, np.asarray(wires, np.int64))] for ptr, xy in ways])

    def routes(self, forward: Routes, gradient: Routes) -> tuple[Routes, Routes]:
        """The fresh routes and the kept ones together."""
        old = self.layout
        return (
            self._merged(forward, Routes(old.forward_ptr, old.forward_xy, old.forward_label)),
            self._merged(gradient, Routes(old.gradient_ptr, old.gradient_xy, old.gradient_label)),
        )

    def _merged(self, fresh: Routes, old: Routes) -> Routes:
        kept = np.flatnonzero(self.taken >= 0)
        before = self.taken[kept]
        lengths = np.diff(fresh.ptr)
        lengths[kept] = np.diff(old.ptr)[before]
        ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        xy = np.zeros((int(ptr[-1]), 2))
        made = np.flatnonzero(self.taken < 0)
        xy[_rows(ptr, made)] = fresh.xy[_rows(fresh.ptr, made)]
        rows = _rows(ptr, kept)
        xy[rows] = old.xy[_rows(old.ptr, before)]
        xy[rows, 1] += np.repeat(self.shift[kept], lengths[kept])
        label = fresh.label.copy()
        label[kept] = old.label[before]
        label[kept, 1] += self.shift[kept]
        return replace(fresh, ptr=ptr, xy=xy, label=label)


def _keys(graph: Graph) -> list[Key]:
    """What makes a wire the same one later: its cards, tensor, ways, and which of several it is."""
    again: Counter[tuple[str, str, int | None, bool, bool]] = Counter()
    keys: list[Key] = []
    for wire in graph.wires:
        source, target = graph.cards[wire.source].key, graph.cards[wire.target].key
        key = source, target, wire.tensor, wire.forward, bool(wire.edges)
        again[key] += 1
        keys.append((*key, again[key]))
    return keys


def _rows(ptr: Ints, wires: Ints) -> Ints:
    """Rows of the points of these wires, in their order."""
    lengths = ptr[wires + 1] - ptr[wires]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    rows: Ints = np.arange(total) + np.repeat(ptr[wires] - (ends - lengths), lengths)
    return rows


def _columns(boxes: Floats) -> Floats:
    """Left and right edge of the column that each box stands in: boxes whose widths overlap share one."""
    order = np.argsort(boxes[:, 0], kind="stable")
    left, right = boxes[order, 0], boxes[order, 0] + boxes[order, 2]
    reach = np.maximum.accumulate(right)
    first = np.concatenate([[True], left[1:] > reach[:-1] + 0.5])
    group = np.cumsum(first) - 1
    ends = np.concatenate([np.flatnonzero(first)[1:] - 1, [len(order) - 1]])
    found = np.empty((len(boxes), 2))
    found[order, 0], found[order, 1] = left[first][group], reach[ends][group]
    return found
