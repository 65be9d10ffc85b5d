"""One connected graph in a region of its own: columns, lanes for wires that span them, heights, widths of the gaps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from gradviz.graph.heights import SWEEPS, Link, heights
from gradviz.graph.layers import BEATS as ORDER_BEATS
from gradviz.graph.layers import ordered, ranks
from gradviz.graph.model import Graph
from gradviz.graph.routes import LANE, Plan
from gradviz.graph.wrap import CORRIDOR, OVER, PITCH, TURN, UNDER, WIDER, Turn, breaks

GAP = 56.0
LABEL_GAP = 96.0
LABEL_SIDES = 20.0
ROW_SPACE = 26.0
LANE_SPACE = 4.0
BEATS = ORDER_BEATS + SWEEPS
LONGEST = 24
"""A wire over more columns than this is a stub."""
STRAIGHT = 60.0
"""How much more a wire of the main chain wants to be straight than one from a leaf."""


class Region:
    """Items are its cards, then the lanes."""

    def __init__(
        self,
        graph: Graph,
        cards: Sequence[int],
        wires: Sequence[int],
        until: float = float("inf"),
        *,
        wraps: bool = True,
        beat: Callable[[], object] = lambda: None,
    ) -> None:
        self.graph = graph
        self.cards = list(cards)
        local = {card: i for i, card in enumerate(self.cards)}
        self.wires = [w for w in wires if graph.wires[w].source in local and graph.wires[w].target in local]
        self.ends = [(local[graph.wires[w].source], local[graph.wires[w].target]) for w in self.wires]
        self.rank = ranks(len(self.cards), self.ends)
        self.lanes: dict[int, tuple[int, int]] = {}
        """Wire -> (its first lane's item, how many)."""
        self.stubs: set[int] = set()
        self.links = self._lanes()
        columns, self.crossings = ordered(self.rank, [(a, b) for a, b, *_ in self.links], until, beat)
        high = [graph.cards[c].height + ROW_SPACE for c in self.cards]
        high += [LANE + LANE_SPACE] * (len(self.rank) - len(high))
        self.tops = heights(columns, high, self.links, beat)
        self.high = high
        self._columns(columns)
        self.turns: list[Turn] = []
        """Heights from the region's top."""
        if wraps:
            self._wrap(columns)

    def _lanes(self) -> list[Link]:
        """Links between neighbouring columns; the longest wires go without lanes, so that these stay few."""
        rank, cards, found = self.rank, self.graph.cards, []
        longest = self._longest()
        for w, (source, target) in zip(self.wires, self.ends, strict=True):
            left, right = rank[source], rank[target]
            if right <= left or right - left > longest:
                self.stubs.add(w)
                continue
            wire = self.graph.wires[w]
            weight = 1.0 if cards[wire.source].kind == "leaf" else STRAIGHT
            out, into = (wire.source_port, wire.target_port) if wire.forward else (wire.grad_to, wire.grad_from)
            before, port = source, out
            if right - left > 1:
                self.lanes[w] = (len(rank), right - left - 1)
                for column in range(left + 1, right):
                    found.append((before, len(rank), port, LANE / 2, weight))
                    before, port = len(rank), LANE / 2
                    rank.append(column)
            found.append((before, target, port, into, weight))
        return found

    def _longest(self) -> int:
        """So many columns may a wire span that all lanes together are about twice the cards."""
        spans = sorted(s for a, b in self.ends if 1 < (s := self.rank[b] - self.rank[a]) <= LONGEST)
        room = 2 * len(self.cards) + 2000
        fits = [s for s, sum_ in zip(spans, accumulate(s - 1 for s in spans), strict=True) if sum_ <= room]
        return LONGEST if len(fits) == len(spans) else max([4, *fits[-1:]])

    def _columns(self, columns: Sequence[Sequence[int]]) -> None:
        cards, count = self.graph.cards, len(self.cards)
        self.widths = [max((cards[self.cards[i]].width for i in c if i < count), default=0.0) for c in columns]
        self.gaps = [0.0] + [GAP] * (len(columns) - 1)
        """Before each column."""
        for w, (_, target) in zip(self.wires, self.ends, strict=True):
            label = self.graph.wires[w].label
            if label is not None and w not in self.stubs:
                rank = self.rank[target]
                self.gaps[rank] = max(self.gaps[rank], LABEL_GAP, label[0] + LABEL_SIDES)
        self.lefts, x = [], 0.0
        for gap, width in zip(self.gaps, self.widths, strict=True):
            self.lefts.append(x + gap)
            x += gap + width

    def _wrap(self, columns: Sequence[Sequence[int]]) -> None:
        """Break a long row of columns into lines. Columns of all lines stand below one another, so that the gaps
        between them go through."""
        tops = [min((self.tops[i] for i in c), default=0.0) for c in columns]
        ends = [max((self.tops[i] + self.high[i] for i in c), default=0.0) for c in columns]
        height = max(ends, default=0.0) - min(tops, default=0.0)
        starts = breaks(self.widths, self.gaps, self._costs(len(columns)), height)
        if len(starts) < 2:
            return
        lines = [range(a, b) for a, b in pairwise([*starts, len(columns)])]
        longest = max(map(len, lines))
        widths = [max(self.widths[line[p]] for line in lines if p < len(line)) for p in range(longest)]
        gaps = [max(self.gaps[line[p]] for line in lines if p < len(line)) for p in range(longest)]
        lefts = [sum(widths[:p]) + sum(gaps[: p + 1]) for p in range(longest)]
        bottom, shift = 0.0, [0.0] * len(columns)
        entering = self._entering(starts)
        for number, line in enumerate(lines):
            for p, column in enumerate(line):
                self.widths[column], self.gaps[column], self.lefts[column] = widths[p], gaps[p], lefts[p]
            if number:
                bottom = self._turned(entering[line[0]], bottom)
            down = bottom - min(tops[c] for c in line)
            for column in line:
                shift[column] = down
            bottom = max(ends[c] for c in line) + down - ROW_SPACE
        self.tops = [top + shift[rank] for top, rank in zip(self.tops, self.rank, strict=True)]

    def _costs(self, columns: int) -> list[float]:
        """How bad it is to break before each column: by the wires that pass, and the open groups that are cut."""
        costs = [0.0] * (columns + 1)
        for _, b, *_ in self.links:
            costs[self.rank[b]] += 1.0
        local = {card: i for i, card in enumerate(self.cards)}
        for group in self.graph.groups:
            inside = [self.rank[local[c]] for c in group.cards if c in local]
            if inside and max(inside) - min(inside) < columns // 2:
                for column in range(min(inside) + 1, max(inside) + 1):
                    costs[column] += 3.0
        return costs

    def _entering(self, starts: Sequence[int]) -> dict[int, list[tuple[float, int, int]]]:
        """First column of a line -> wires that come to it from the line before: height there, wire, lanes passed."""
        found: dict[int, list[tuple[float, int, int]]] = {column: [] for column in starts}
        for w, (source, target) in zip(self.wires, self.ends, strict=True):
            if w in self.stubs:
                continue
            left, right = self.rank[source], self.rank[target]
            for column in starts[bisect_right(starts, left) : bisect_right(starts, right)]:
                passed = column - 1 - left
                port = self.graph.wires[w].source_port
                y = self.tops[self.lanes[w][0] + passed - 1] if passed else self.tops[source] + port
                found[column].append((y, w, passed))
        return found

    def _turned(self, entering: list[tuple[float, int, int]], bottom: float) -> float:
        """Send wires round to their line, below `bottom`. Gives where that line may begin."""
        entering.sort()
        many, framed = len(entering), bool(self.graph.groups)
        first = bottom + CORRIDOR / 2 + (UNDER if framed else 0.0)
        for k, (_, w, passed) in enumerate(entering):
            back = many - 1 - k
            self.turns.append(Turn(w, passed, first + back * PITCH, TURN + back * WIDER, TURN + k * WIDER))
        return first + many * PITCH + CORRIDOR / 2 + (OVER if framed else 0.0)

    def place(self, plan: Plan, x: float, top: float) -> float:
        """Write the region down with its left edge at `x` and its top at `top`. Gives its bottom."""
        lift = top - min(self.tops, default=0.0)
        for i, card in enumerate(self.cards):
            rank, c = self.rank[i], self.graph.cards[card]
            left, width = x + self.lefts[rank], self.widths[rank]
            shift = (width - c.width) / (1 if c.kind == "leaf" else 2)
            plan.boxes[card] = left + shift, self.tops[i] + lift, c.width, c.height
            plan.column[card] = left, left + width
            plan.gap[card] = self.gaps[rank]
        for w, (item, count) in self.lanes.items():
            plan.first_lane[w], plan.lane_count[w] = len(plan.lanes), count
            for lane in range(item, item + count):
                left = x + self.lefts[self.rank[lane]]
                plan.lanes.append((self.tops[lane] + lift, left, left + self.widths[self.rank[lane]]))
        for w in self.stubs:
            plan.stub[w] = True
        plan.turns += [replace(turn, y=turn.y + lift) for turn in self.turns]
        plan.crossings += self.crossings
        deepest = max((t + h for t, h in zip(self.tops, self.high, strict=True)), default=0.0)
        return lift + deepest - ROW_SPACE
