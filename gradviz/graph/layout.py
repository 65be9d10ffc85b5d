"""A layered layout of our own kind of graph: deterministic, in time order, every wire in the gaps between the columns.

Columns are counted from the results (a card stands just before its nearest reader). A wire that spans columns passes
each of them in a lane of its own, so that it can meet no card; one that would need too many lanes becomes a stub.
Heights come from least squares under the order of the column (pool adjacent violators), swept forth and back.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from gradviz.graph.model import Graph, Layout, Wire

GAP = 56.0
LABEL_GAP = 104.0
ROW_SPACE = 26.0
LANE = 16.0
BETWEEN = 90.0
LONGEST = 24
SWEEPS = 6

Points = list[tuple[float, float]]


def lay_out(graph: Graph, previous: tuple[Graph, Layout] | None = None) -> Layout:
    """Places for all cards and wires of `graph`. Each generation has a region of its own, below the one before.

    With `previous`, a generation whose cards have not changed keeps its places.
    """
    began = time.perf_counter()
    cards, wires = graph.cards, graph.wires
    boxes = np.zeros((len(cards), 4))
    regions: dict[int, list[int]] = defaultdict(list)
    for i, card in enumerate(cards):
        regions[card.generation].append(i)
    forward: list[Points] = [[] for _ in wires]
    gradient: list[Points] = [[] for _ in wires]
    labels = np.full((2, len(wires), 2), np.nan)
    stub = np.zeros(len(wires), np.bool_)
    by_region: dict[int, list[int]] = defaultdict(list)
    for w, wire in enumerate(wires):
        by_region[cards[wire.target].generation].append(w)
    top = 0.0
    for number in sorted(regions):
        region = _Region(graph, regions[number], by_region[number])
        top = region.place(top, boxes, forward, gradient, labels, stub) + BETWEEN
    bounds = (0.0, 0.0, 0.0, 0.0)
    if len(cards):
        low, high = boxes[:, :2].min(0), (boxes[:, :2] + boxes[:, 2:]).max(0)
        bounds = (float(low[0]), float(low[1]), float(high[0] - low[0]), float(high[1] - low[1]))
    return Layout(
        boxes, *_packed(forward), *_packed(gradient), stub, labels[0], labels[1], np.zeros((0, 4)), bounds,
        seconds=time.perf_counter() - began,
    )  # fmt: skip


def _packed(routes: list[Points]) -> tuple[np.ndarray, np.ndarray]:
    pointers = np.zeros(len(routes) + 1, np.int64)
    np.cumsum([len(r) for r in routes], out=pointers[1:])
    flat = [p for route in routes for p in route]
    return pointers, np.asarray(flat, np.float64).reshape(-1, 2)


class _Region:
    """One connected graph. Items are its cards, then the lanes of wires that span columns."""

    def __init__(self, graph: Graph, cards: Sequence[int], wires: Sequence[int]) -> None:
        self.graph = graph
        self.cards = list(cards)
        self.local = {card: i for i, card in enumerate(self.cards)}
        self.wires = [w for w in wires if graph.wires[w].source in self.local]
        self.outside = [w for w in wires if graph.wires[w].source not in self.local]
        self.height = [graph.cards[c].height for c in self.cards]
        self.rank = self._ranks()
        self.lanes: dict[int, list[int]] = {}
        self.links: list[tuple[int, int, float, float, float]] = []
        """(left item, right item, its port, the other's port, weight)."""
        self.stubs = self._add_lanes()
        self.columns: list[list[int]] = [[] for _ in range(max(self.rank, default=0) + 1)]
        for item, rank in enumerate(self.rank):
            self.columns[rank].append(item)

    def _ends(self, w: int) -> tuple[int, int]:
        wire = self.graph.wires[w]
        return self.local[wire.source], self.local[wire.target]

    def _ranks(self) -> list[int]:
        """Columns from the left. A card stands one before its leftmost reader; back edges (there are none in a
        recording that is not folded oddly) are left out."""
        readers: list[list[int]] = [[] for _ in self.cards]
        for w in self.wires:
            source, target = self._ends(w)
            if source != target:
                readers[source].append(target)
        depth = [0] * len(self.cards)
        for item in self._topological(readers):
            depth[item] = max((depth[r] + 1 for r in readers[item]), default=0)
        deepest = max(depth, default=0)
        return [deepest - d for d in depth]

    def _topological(self, readers: list[list[int]]) -> list[int]:
        """Readers before what they read (Kahn); items on a cycle come last, in order of time."""
        waiting = [len(set(r)) for r in readers]
        sources: list[list[int]] = [[] for _ in readers]
        for item, found in enumerate(readers):
            for reader in set(found):
                sources[reader].append(item)
        ready = [i for i, count in enumerate(waiting) if not count]
        order: list[int] = []
        while ready:
            item = ready.pop()
            order.append(item)
            for source in sources[item]:
                waiting[source] -= 1
                if not waiting[source]:
                    ready.append(source)
        seen = set(order)
        return order + [i for i in reversed(range(len(readers))) if i not in seen]

    def _add_lanes(self) -> set[int]:
        stubs = set(self.outside)
        for w in self.wires:
            source, target = self._ends(w)
            left, right = self.rank[source], self.rank[target]
            if right <= left or right - left > LONGEST:
                stubs.add(w)
                continue
            wire = self.graph.wires[w]
            strong = 1.0 if self.graph.cards[wire.source].kind == "leaf" else 8.0
            chain = [source]
            for rank in range(left + 1, right):
                chain.append(len(self.rank))
                self.rank.append(rank)
                self.height.append(LANE)
            self.lanes[w] = chain[1:]
            chain.append(target)
            for k, (a, b) in enumerate(pairwise(chain)):
                port_a = (wire.source_port if wire.forward else wire.grad_to) if k == 0 else LANE / 2
                port_b = (wire.target_port if wire.forward else wire.grad_from) if b == target else LANE / 2
                self.links.append((a, b, port_a, port_b, strong))
        return stubs

    def _order(self) -> None:
        """Order in each column: first as a walk from the results finds it, then by barycentre, forth and back."""
        left: list[list[int]] = [[] for _ in self.rank]
        right: list[list[int]] = [[] for _ in self.rank]
        for a, b, *_ in self.links:
            left[b].append(a)
            right[a].append(b)
        found: dict[int, int] = {}
        for start in (i for column in reversed(self.columns) for i in column):
            stack = [start]
            while stack:
                item = stack.pop()
                if item not in found:
                    found[item] = len(found)
                    stack.extend(reversed(left[item]))
        for column in self.columns:
            column.sort(key=found.__getitem__)
        best, fewest = [list(c) for c in self.columns], self._crossings()
        for sweep in range(SWEEPS):
            if not fewest:
                break
            forth = sweep % 2 == 0
            self._sweep(left if forth else right, self.columns if forth else self.columns[::-1])
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(c) for c in self.columns], crossings
        self.columns = best
        self.crossings = fewest

    def _sweep(self, near: list[list[int]], columns: list[list[int]]) -> None:
        place = {item: k for column in self.columns for k, item in enumerate(column)}
        for column in columns:
            key = {i: sum(place[n] for n in near[i]) / len(near[i]) if near[i] else float(place[i]) for i in column}
            column.sort(key=key.__getitem__)
            place |= {item: k for k, item in enumerate(column)}

    def _crossings(self) -> int:
        place = {item: k for column in self.columns for k, item in enumerate(column)}
        gaps: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for a, b, *_ in self.links:
            gaps[self.rank[a]].append((place[a], place[b]))
        return sum(_inversions([b for _, b in sorted(pairs)]) for pairs in gaps.values())

    def _heights(self) -> list[float]:
        """Tops of all items: least squares towards straight wires, under the order of each column."""
        near: list[list[tuple[int, float, float]]] = [[] for _ in self.rank]
        for a, b, port_a, port_b, weight in self.links:
            near[a].append((b, port_b - port_a, weight))
            near[b].append((a, port_a - port_b, weight))
        top = [0.0] * len(self.rank)
        for column in self.columns:
            y = 0.0
            for item in column:
                top[item] = y
                y += self.height[item] + self._space(item)
            for item in column:
                top[item] -= y / 2
        for sweep in range(2 * SWEEPS):
            forth = sweep % 2 == 1
            for column in self.columns if forth else self.columns[::-1]:
                wanted, weights, offset, offsets = [], [], 0.0, []
                for item in column:
                    total = sum(w for _, _, w in near[item])
                    aim = sum((top[n] + d) * w for n, d, w in near[item]) / total if total else top[item]
                    wanted.append(aim - offset)
                    weights.append(total or 0.1)
                    offsets.append(offset)
                    offset += self.height[item] + self._space(item)
                for item, level, moved in zip(column, _monotone(wanted, weights), offsets, strict=True):
                    top[item] = level + moved
        return top

    def _space(self, item: int) -> float:
        return ROW_SPACE if item < len(self.cards) else 4.0

    def place(
        self,
        start: float,
        boxes: np.ndarray,
        forward: list[Points],
        gradient: list[Points],
        labels: np.ndarray,
        stub: np.ndarray,
    ) -> float:
        """Fill in places and routes, the region's top at `start`. Gives its bottom."""
        self._order()
        tops = self._heights()
        lift = start - min(tops, default=0.0)
        tops = [t + lift for t in tops]
        widths = [max((self._width(i) for i in column), default=0.0) for column in self.columns]
        gaps = self._gaps()
        lefts, x = [], 0.0
        for rank, width in enumerate(widths):
            lefts.append(x)
            x += width + gaps[rank]
        self._frame = lefts, widths, gaps
        for item, card in enumerate(self.cards):
            rank, c = self.rank[item], self.graph.cards[card]
            shift = (widths[rank] - c.width) / (2 if c.kind != "leaf" else 1)
            boxes[card] = lefts[rank] + shift, tops[item], c.width, c.height
        for w in self.wires:
            if w not in self.stubs:
                self._route(w, tops, boxes, forward, gradient)
        for w in self.stubs:
            stub[w] = True
        self._labels(forward, gradient, labels)
        return max((tops[i] + self.height[i] for i in range(len(tops))), default=start)

    def _width(self, item: int) -> float:
        return self.graph.cards[self.cards[item]].width if item < len(self.cards) else 0.0

    def _gaps(self) -> list[float]:
        gaps = [GAP] * len(self.columns)
        for w in self.wires:
            if self.graph.wires[w].label is not None and w not in self.stubs:
                gaps[self.rank[self._ends(w)[1]] - 1] = LABEL_GAP
        return gaps

    def _route(
        self, w: int, tops: list[float], boxes: np.ndarray, forward: list[Points], gradient: list[Points]
    ) -> None:
        wire = self.graph.wires[w]
        if wire.forward:
            forward[w] = self._through(w, wire, tops, boxes, wire.source_port, wire.target_port, -3.0)
        if wire.edges or self.graph.cards[wire.target].kind == "result":
            gradient[w] = self._through(w, wire, tops, boxes, wire.grad_to, wire.grad_from, 3.0)[::-1]

    def _through(
        self, w: int, wire: Wire, tops: list[float], boxes: np.ndarray, out: float, into: float, beside: float
    ) -> Points:
        """From the source's right side over the lanes to the target's left side. Straight inside columns."""
        lefts, widths, _ = self._frame
        s, t = boxes[wire.source], boxes[wire.target]
        y = float(s[1] + out)
        points: Points = [(float(s[0] + s[2]), y)]
        rank = self.rank[self._ends(w)[0]]
        _straight(points, lefts[rank] + widths[rank], y)
        for lane in self.lanes[w]:
            rank = self.rank[lane]
            y = tops[lane] + LANE / 2 + beside
            _curve(points, lefts[rank], y)
            _straight(points, lefts[rank] + widths[rank], y)
        y = float(t[1] + into)
        _curve(points, lefts[rank + 1], y)
        _straight(points, float(t[0]), y)
        return points

    def _labels(self, forward: list[Points], gradient: list[Points], labels: np.ndarray) -> None:
        """What rides on wires stands in the gap before the target, one above the other, near its wire."""
        lefts, _, gaps = self._frame
        wanted: dict[int, list[tuple[float, int, int]]] = defaultdict(list)
        for w in self.wires:
            wire = self.graph.wires[w]
            if wire.label is None or w in self.stubs:
                continue
            rank = self.rank[self._ends(w)[1]]
            middle = lefts[rank] - gaps[rank - 1] / 2
            for kind, route in ((0, forward[w]), (1, gradient[w])):
                if len(route) >= 4 and not (kind == 0 and self.graph.cards[wire.source].kind == "leaf"):
                    wanted[rank].append((_height_at(route, middle) + (16.0 if kind else -16.0), kind, w))
        for rank, found in wanted.items():
            found.sort()
            levels = _monotone([y - 24.0 * k for k, (y, _, _) in enumerate(found)], [1.0] * len(found))
            for k, ((_, kind, w), level) in enumerate(zip(found, levels, strict=True)):
                labels[kind, w] = lefts[rank] - gaps[rank - 1] / 2, level + 24.0 * k


def _straight(points: Points, x: float, y: float) -> None:
    x0 = points[-1][0]
    if abs(x - x0) > 0.01:
        points += [(x0 + (x - x0) / 3, y), (x0 + (x - x0) * 2 / 3, y), (x, y)]


def _curve(points: Points, x: float, y: float) -> None:
    x0, y0 = points[-1]
    middle = (x0 + x) / 2
    points += [(middle, y0), (middle, y), (x, y)]


def _height_at(route: Points, x: float) -> float:
    """Height of a route at `x`, taken from the curve whose ends lie around it."""
    for k in range(0, len(route) - 3, 3):
        (x0, y0), (x1, y1) = route[k], route[k + 3]
        if min(x0, x1) <= x <= max(x0, x1):
            share = (x - x0) / (x1 - x0) if x1 != x0 else 0.5
            smooth = share * share * (3 - 2 * share)
            return y0 + (y1 - y0) * smooth
    return route[-1][1]


def _monotone(wanted: list[float], weights: list[float]) -> list[float]:
    """The nondecreasing sequence nearest to `wanted` in weighted least squares (pool adjacent violators)."""
    blocks: list[tuple[float, float, int]] = []
    for aim, weight in zip(wanted, weights, strict=True):
        mean, total, count = aim, weight, 1
        while blocks and blocks[-1][0] > mean:
            before, heavy, many = blocks.pop()
            mean = (before * heavy + mean * total) / (heavy + total)
            total, count = total + heavy, count + many
        blocks.append((mean, total, count))
    return [mean for mean, _, count in blocks for _ in range(count)]


def _inversions(places: list[int]) -> int:
    """Pairs out of order, by a binary indexed tree."""
    size = max(places, default=0) + 2
    tree = [0] * (size + 1)
    total = 0
    for seen, place in enumerate(places):
        i, below = place + 1, 0
        while i:
            below += tree[i]
            i -= i & -i
        total += seen - below
        i = place + 1
        while i <= size:
            tree[i] += 1
            i += i & -i
    return total
