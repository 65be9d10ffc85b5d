"""Graph, layout, frame and view put together: the scene that canvas, SVG, HTML and PNG draw."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gradviz.explain import Words
from gradviz.graph.index import GraphIndex
from gradviz.graph.messages import Placed
from gradviz.graph.model import Graph, Layout, Opened
from gradviz.player.view import ViewState
from gradviz.scene import places
from gradviz.scene.accumulate import sum_shapes
from gradviz.scene.captions import title_of
from gradviz.scene.cards import Look, card_shapes
from gradviz.scene.far import Far
from gradviz.scene.folds import TAB, frame_shapes
from gradviz.scene.moment import FAILED, GONE, HIDDEN, RUNNING, Moment, find_card
from gradviz.scene.runs import Runs
from gradviz.scene.shapes import Box, Shape
from gradviz.scene.theme import Theme
from gradviz.scene.wires import (
    Travel,
    ease,
    forward_rider,
    forward_shapes,
    gradient_rider,
    gradient_shapes,
    travel_of,
)
from gradviz.trace import Frame, Trace

CACHE = 6000
FAINT = 0.6
"""Opacity of what may still move."""
GLOWS, RIDES, SUMS = 16.0, 70.0, 260.0
"""How far what belongs to a card, to a wire, and to a sum at a leaf may lie beside it."""
GHOST_PLACES = 300
"""Up to so many cards, the places of cards that are not born yet are shown faintly."""


class Composer:
    """What stays the same from one step to the next: a graph, its layout, a theme, and shapes already made."""

    def __init__(self, trace: Trace, graph: Graph, layout: Layout, theme: Theme, placed: Placed | None = None) -> None:
        self.graph = graph
        self.layout = layout
        self.theme = theme
        self.index = placed.index if placed else GraphIndex.of(graph)
        self.far = Far(graph, layout, self.index, placed.boxes if placed else None)
        self.runs = Runs(trace)
        self.folds: list[int] = self.index.folds.tolist()
        self.hits: frozenset[int] = frozenset()
        """Cards that a search found."""
        self.provisional: int | None = None
        """From this card on, places are not final yet: the program is still running."""
        self._cache: dict[object, Any] = {}

    def tentative(self, card: int) -> bool:
        """Whether a card's place may still change."""
        return self.provisional is not None and card >= self.provisional

    @cached_property
    def regions(self) -> dict[int, Box]:
        """The box around each generation of the graph."""
        generation = self.index.generation
        found: dict[int, Box] = {}
        for number in np.unique(generation).tolist():
            mine = generation == number
            x, y = self.far.boxes[mine, :2].min(0).tolist()
            found[number] = (x, y, float(self.far.right[mine].max()) - x, float(self.far.bottom[mine].max()) - y)
        return found

    def recolor(self, theme: Theme) -> None:
        """Go on in another theme."""
        if theme is not self.theme:
            self.theme = theme
            self._cache.clear()

    def scene(self, frame: Frame, view: ViewState) -> Scene:
        """The scene at one step."""
        return Scene(self, Moment(self.graph, self.index, frame, view, self.theme, self.runs))

    def anchor(self, key: str | None) -> Box | None:
        """Where a card or a node's row stands; None where the graph does not show it."""
        card = find_card(self.graph, key)
        if card is None or key is None:
            return None
        x, y, w, h = (float(v) for v in self.layout.boxes[card])
        kind, _, ident = key.partition(":")
        shown = self.graph.cards[card]
        if kind == "node" and shown.kind == "op":
            return places.row_box((x, y, w, h), shown.nodes.index(int(ident)))
        return x, y, w, h

    def pick(self, x: float, y: float, slack: float = 0.0) -> str | None:
        """Key of what stands at a point: a node's row as "node:5", else the card's own key; None: nothing."""
        card = self.far.hit(x, y, slack)
        if card is None:
            return None
        shown = self.graph.cards[card]
        if shown.kind == "op":
            bx, by, bw, bh = (float(v) for v in self.layout.boxes[card])
            for row, node in enumerate(shown.nodes):
                rx, ry, rw, rh = places.row_box((bx, by, bw, bh), row)
                if rx <= x <= rx + rw and ry <= y <= ry + rh:
                    return f"node:{node}"
        return shown.key

    def tab(self, group: Opened, box: Sequence[float]) -> Box:
        """Where the title of an open group stands: in its frame, or above its first card where it has no frame."""
        wide, high = TAB
        if box[2]:
            return box[0] + 8.0, box[1] + 5.0, min(box[2] - 16.0, wide), high
        x, y = self.layout.boxes[group.cards[0], :2].tolist()
        return x, y - high - 3.0, wide, high

    def group_at(self, x: float, y: float) -> str | None:
        """Key of the open group whose title stands at a point."""
        for group, box in zip(self.graph.groups, self.layout.groups.tolist(), strict=True):
            left, top, w, h = self.tab(group, box)
            if left <= x <= left + w and top <= y <= top + h:
                return group.key
        return None

    def group_of(self, key: str | None) -> str | None:
        """Key of the innermost open group that a card is in."""
        card = find_card(self.graph, key)
        return next((group.key for group in reversed(self.graph.groups) if card in group.cards), None)

    def cached(self, key: object, made: Any) -> Any:
        """Keep what was made under a key."""
        if len(self._cache) > CACHE:
            self._cache.clear()
        self._cache[key] = made
        return made

    def known(self, key: object) -> Any:
        """What was kept under a key; None: nothing."""
        return self._cache.get(key)


class Scene:
    """One step as shapes. Only what is asked for is made."""

    def __init__(self, composer: Composer, moment: Moment) -> None:
        self.composer = composer
        self.moment = moment
        self.far = composer.far

    @property
    def bounds(self) -> Box:
        """x, y, width, height of everything."""
        return self.composer.layout.bounds

    @cached_property
    def classes(self) -> npt.NDArray[np.uint8]:
        """Index into `palette` of each card."""
        classes = self.far.classes(self.moment)
        for fold in self.composer.folds:
            if classes[fold] != HIDDEN and self.moment.gradient_of(fold)[0]:
                classes[fold] = FAILED
        return classes

    @cached_property
    def wire_classes(self) -> npt.NDArray[np.uint8]:
        """How each wire looks from afar, see `Far.wire_classes`."""
        return self.far.wire_classes(self.moment)

    def anchor(self, key: str | None) -> Box | None:
        """Where a card or a node's row stands; None where the graph does not show it."""
        return self.composer.anchor(key)

    def shapes(self, visible: Box | None = None) -> list[Shape]:
        """All shapes that touch a box, back to front; without one, all there are."""
        if visible is None:
            cards = np.arange(len(self.moment.graph.cards)).tolist()
            wires = np.arange(len(self.moment.graph.wires)).tolist()
        else:
            cards = self.far.cards_in(visible).tolist()
            wires = self.far.wires_in(visible).tolist()
        shapes: list[Shape] = []
        for group in self._groups:
            shapes += group
        lines, riders, movers = self._wires(wires)
        shapes += lines
        for i in cards:
            shapes += self.card(i)
        shapes += riders
        shapes += movers
        for i in cards:
            shapes += sum_shapes(self.moment, self.far, i)
        return shapes

    def parts(self, visible: Box) -> dict[tuple[str, int], object]:
        """What is drawn in a box, by card and wire. Where another scene of the same composer has the very same object
        under a key, it looks the same."""
        found: dict[tuple[str, int], object] = {}
        for i in self.far.cards_in(visible).tolist():
            found["card", i] = self.card(i)
            if sums := sum_shapes(self.moment, self.far, i):
                found["sum", i] = sums
        wires = self.far.wires_in(visible)
        for i in wires[self.far.wire_born[wires] <= self.moment.frame.step].tolist():
            found["wire", i] = self._wire(i, travel_of(self.moment, self.moment.graph.wires[i]))
        return found

    def reach(self, part: tuple[str, int]) -> Box:
        """How far a part of the drawing reaches, whatever it looks like."""
        kind, i = part
        if kind == "wire":
            x0, y0, x1, y1 = self.far.wire_boxes[i].tolist()
            return x0 - RIDES, y0 - RIDES, x1 - x0 + 2 * RIDES, y1 - y0 + 2 * RIDES
        beyond = GLOWS if kind == "card" else SUMS
        x, y, w, h = self.far.boxes[i].tolist()
        return x - beyond, y - beyond, w + 2 * beyond, h + 2 * beyond

    # ---- cards

    @cached_property
    def _chosen(self) -> int | None:
        return self.moment.card(self.moment.view.selection)

    @cached_property
    def _hover(self) -> int | None:
        return self.moment.card(self.moment.view.hover)

    def card(self, i: int) -> tuple[Shape, ...]:
        """Shapes of one card."""
        moment = self.moment
        code = int(moment.codes[i])
        if code == HIDDEN and (moment.view.hides or len(moment.graph.cards) > GHOST_PLACES):
            return ()
        now = moment.now == i
        newborn = now and moment.motion < 1.0 and moment.index.born[i] == moment.frame.step
        opacity = 0.2 + 0.8 * ease(moment.motion) if newborn else 1.0
        opacity *= FAINT if self.composer.tentative(i) else 1.0
        look = Look(
            code,
            now,
            chosen=self._chosen == i,
            hover=self._hover == i,
            lit=i in moment.lit,
            hit=i in self.composer.hits,
            back=now and moment.op is None,
            opacity=opacity,
        )
        x, y, w, h = (float(v) for v in self.composer.layout.boxes[i])
        if now or (moment.motion < 1.0 and moment.graph.cards[i].kind == "leaf"):
            return tuple(card_shapes(moment, i, (x, y, w, h), look))
        key = ("card", i, look, moment.card_state(i))
        known: tuple[Shape, ...] | None = self.composer.known(key)
        if known is None:
            known = self.composer.cached(key, tuple(card_shapes(moment, i, (x, y, w, h), look)))
        return known

    @cached_property
    def _groups(self) -> list[list[Shape]]:
        moment, groups = self.moment, []
        words = Words(moment.view.language)
        for group, box in zip(moment.graph.groups, self.composer.layout.groups.tolist(), strict=True):
            if int(moment.index.born[list(group.cards)].min()) <= moment.frame.step:
                title = title_of(group.title, group.fold, words)
                groups.append(frame_shapes(title, self.composer.tab(group, box), box, moment.theme))
        return groups

    # ---- wires

    def _wires(self, wires: list[int]) -> tuple[list[Shape], list[Shape], list[Shape]]:
        forward: list[Shape] = []
        back: list[Shape] = []
        riders: list[Shape] = []
        movers: list[Shape] = []
        for i in wires:
            if self.far.wire_born[i] > self.moment.frame.step:
                continue
            travel = travel_of(self.moment, self.moment.graph.wires[i])
            lines, sent, chips = self._wire(i, travel)
            forward += lines
            back += sent
            moving = travel is not None and travel.code == RUNNING
            (movers if moving else riders).extend(chips)
        return forward + back, riders, movers

    def _wire(self, i: int, travel: Travel | None) -> tuple[list[Shape], list[Shape], list[Shape]]:
        moment, layout = self.moment, self.composer.layout
        if layout.stub[i] and not self._wire_chosen(i):
            return [], [], []
        wire = moment.graph.wires[i]
        now = moment.now == wire.target and moment.op is not None
        opacity = self._wire_opacity(i)
        if now or (travel is not None and travel.code == RUNNING):
            return self._make_wire(i, travel, now=now, opacity=opacity)
        value = moment.value_index(wire.tensor)
        key = ("wire", i, travel and (travel.code, id(travel.data)), value, opacity, moment.view.ghosts)
        gone = moment.codes[wire.source] == GONE
        known: tuple[list[Shape], list[Shape], list[Shape]] | None = self.composer.known((key, gone))
        if known is None:
            known = self.composer.cached((key, gone), self._make_wire(i, travel, now=now, opacity=opacity))
        return known

    def _make_wire(
        self, i: int, travel: Travel | None, *, now: bool, opacity: float
    ) -> tuple[list[Shape], list[Shape], list[Shape]]:
        moment, layout = self.moment, self.composer.layout
        wire = moment.graph.wires[i]
        ghost = wire.ghost and not moment.view.ghosts
        lines = list(forward_shapes(moment, layout, i, now=now, opacity=opacity))
        sent: list[Shape] = []
        chips = forward_rider(moment, layout, i, opacity) if not now or moment.motion >= 1.0 else []
        if travel is not None and not (ghost and not wire.edges and travel.data is None):
            sent += gradient_shapes(moment, layout, i, travel, opacity=opacity)
            chips += gradient_rider(moment, layout, i, travel, opacity)
        return lines, sent, chips

    def _wire_chosen(self, i: int) -> bool:
        wire = self.moment.graph.wires[i]
        return self._chosen in (wire.source, wire.target) or self._hover in (wire.source, wire.target)

    def _wire_opacity(self, i: int) -> float:
        """Wires of the selected card stand out where there are many."""
        base = FAINT if self.composer.tentative(self.moment.graph.wires[i].target) else 1.0
        if self._chosen is None and self._hover is None:
            return base
        return base if self._wire_chosen(i) or len(self.moment.graph.wires) < 12 else 0.45 * base


def compose(
    graph: Graph, layout: Layout, frame: Frame, view: ViewState, theme: Theme, composer: Composer | None = None
) -> Scene:
    """The scene of a graph at one step. Pass the composer of the last one (`scene.composer`) to make nothing twice."""
    if (
        composer is None
        or composer.graph is not graph
        or composer.layout is not layout
        or composer.runs.trace is not frame.trace
    ):
        composer = Composer(frame.trace, graph, layout, theme)
    composer.recolor(theme)
    return composer.scene(frame, view)
