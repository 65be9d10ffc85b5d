"""A layered layout of our own kind of graph: deterministic, in time order, every wire in the gaps between the columns.

Each graph generation is a region of its own, below the one before (`regions`); what was placed before keeps its place
(`keep`); the curves of all wires come last and at once (`routes`).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from gradviz.graph.keep import Kept
from gradviz.graph.model import Card, Floats, Graph, Layout, Wire
from gradviz.graph.regions import BEATS, Region
from gradviz.graph.routes import Plan, Routes, routes

BETWEEN = 90.0
"""Between two regions."""
FRAME = (14.0, 34.0)
"""Space inside a group's frame: at the sides, and at the top, where its title stands..."""
NESTED = (10.0, 24.0)
"""...and so much more around a frame in it."""


def lay_out(
    graph: Graph,
    previous: tuple[Graph, Layout] | None = None,
    *,
    direction: Literal["right", "down"] = "right",
    budget_seconds: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Layout:
    """Places for all cards and wires of `graph`.

    With `previous`, a card that was there keeps its place: only new generations are placed, and new operations on an
    old graph stand to its right. A generation is laid out afresh where something new comes before what is there (a
    fold was opened) or where it grew by more than it was. `direction`: of the columns; for "down" a port's distance
    from the top becomes one from the left, in proportion. `budget_seconds` of processor time are spent on fewer
    crossings, then what is best so far is taken (so a budget gives up determinism). `progress` hears shares up to 1;
    what it raises ends the work.
    """
    began, until = time.perf_counter(), float("inf")
    if budget_seconds is not None:
        until = time.process_time() + budget_seconds
    if direction == "down":
        turned = (_turned_graph(previous[0]), _turned(previous[1])) if previous else None
        return replace(_turned(_right(_turned_graph(graph), turned, until, progress)), seconds=_since(began))
    return replace(_right(graph, previous, until, progress), seconds=_since(began))


def _since(began: float) -> float:
    return time.perf_counter() - began


def _right(
    graph: Graph, previous: tuple[Graph, Layout] | None, until: float, progress: Callable[[float], None] | None
) -> Layout:
    plan = Plan.of(graph)
    cards, wires = _by_generation(graph)
    kept = Kept(graph, *previous) if previous else None
    done, bottom = 0, -BETWEEN
    beats = 0

    def beat() -> None:
        nonlocal beats
        beats += 1
        if progress is not None:
            share = min(1.0, beats / BEATS) * len(cards[number])
            progress(0.9 * (done + share) / len(graph.cards))

    for number in sorted(cards):
        top = bottom + BETWEEN
        placed = kept.place(plan, cards[number], wires[number], top) if kept else None
        if placed is None:
            if kept:
                top = max(top, kept.top(cards[number]))
            beats = 0
            placed = Region(graph, cards[number], wires[number], until, beat=beat).place(plan, 0.0, top)
        bottom = max(bottom, placed)
        done += len(cards[number])
        if progress is not None:
            progress(0.9 * done / len(graph.cards))
    forward, gradient = routes(graph, plan)
    if kept:
        forward, gradient = kept.routes(forward, gradient)
    if progress is not None:
        progress(1.0)
    return Layout(
        plan.boxes, forward.ptr, forward.xy, gradient.ptr, gradient.xy, plan.stub, forward.label, gradient.label,
        _frames(graph, plan.boxes), _bounds(plan.boxes, forward, gradient), plan.crossings,
    )  # fmt: skip


def _by_generation(graph: Graph) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    cards: dict[int, list[int]] = defaultdict(list)
    wires: dict[int, list[int]] = defaultdict(list)
    for i, card in enumerate(graph.cards):
        cards[card.generation].append(i)
    for w, wire in enumerate(graph.wires):
        wires[graph.cards[wire.target].generation].append(w)
    return cards, wires


def _bounds(boxes: Floats, *ways: Routes) -> tuple[float, float, float, float]:
    if not len(boxes):
        return 0.0, 0.0, 0.0, 0.0
    low, high = boxes[:, :2].min(0), (boxes[:, :2] + boxes[:, 2:]).max(0)
    for way in ways:
        if len(way.xy):
            low, high = np.minimum(low, way.xy.min(0)), np.maximum(high, way.xy.max(0))
    return float(low[0]), float(low[1]), float(high[0] - low[0]), float(high[1] - low[1])


def _frames(graph: Graph, boxes: Floats) -> Floats:
    """Frames around the cards of open groups, shape (groups, 4); zero where a frame would take in other cards."""
    found = np.zeros((len(graph.groups), 4))
    right = boxes[:, :2] + boxes[:, 2:]
    levels: list[int] = []
    for i, group in reversed([*enumerate(graph.groups)]):
        mine = list(group.cards)
        inside = [levels[-k] for k, other in enumerate(graph.groups[i + 1 :], 1) if set(other.cards) <= set(mine)]
        level = max(inside, default=-1) + 1
        levels.append(level)
        low = boxes[mine, :2].min(0) - FRAME - level * np.asarray(NESTED)
        high = right[mine].max(0) + FRAME[0] + level * NESTED[0]
        if ((boxes[:, :2] < high).all(1) & (right > low).all(1)).sum() == len(mine):
            found[i] = *low, *(high - low)
    return found


def _turned_graph(graph: Graph) -> Graph:
    """The graph as seen when rows are columns: sizes change places, ports keep their share of the side."""

    def turn(card: Card) -> Card:
        return replace(card, width=card.height, height=card.width)

    def port(wire: Wire) -> Wire:
        s, t = graph.cards[wire.source], graph.cards[wire.target]
        out, into = s.width / max(s.height, 1e-9), t.width / max(t.height, 1e-9)
        label = (wire.label[1], wire.label[0]) if wire.label else None
        return replace(
            wire, source_port=wire.source_port * out, grad_to=wire.grad_to * out, label=label,
            target_port=wire.target_port * into, grad_from=wire.grad_from * into,
        )  # fmt: skip

    return replace(graph, cards=tuple(map(turn, graph.cards)), wires=tuple(map(port, graph.wires)))


def _turned(layout: Layout) -> Layout:
    x, y, width, height = layout.bounds
    return replace(
        layout,
        boxes=np.ascontiguousarray(layout.boxes[:, [1, 0, 3, 2]]),
        forward_xy=np.ascontiguousarray(layout.forward_xy[:, ::-1]),
        gradient_xy=np.ascontiguousarray(layout.gradient_xy[:, ::-1]),
        forward_label=np.ascontiguousarray(layout.forward_label[:, ::-1]),
        gradient_label=np.ascontiguousarray(layout.gradient_label[:, ::-1]),
        groups=np.ascontiguousarray(layout.groups[:, [1, 0, 3, 2]]),
        bounds=(y, x, height, width),
    )
