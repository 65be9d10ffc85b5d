"""While a recording grows, what was on the canvas stays where it was."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from gradviz.graph import Card, Graph, Wire, build, lay_out
from gradviz.trace import Trace
from tests.graph.test_build import recorded
from tests.graph.test_layout import check, random_graph


@pytest.mark.parametrize("name", ["one_layer", "accumulation", "lstm", "training_loop", "shared_weight"])
@pytest.mark.parametrize("mode", ["both", "autograd"])
def test_a_growing_recording_never_breaks_the_rules(name: str, mode: str) -> None:
    events = recorded(name).events
    before = None
    for end in range(1, len(events), max(1, len(events) // 25)):
        graph = build(Trace(events[:end]), mode)
        layout = lay_out(graph, before)
        check(graph, layout)
        before = graph, layout


def test_earlier_iterations_do_not_move() -> None:
    events = recorded("training_loop").events
    whole = build(Trace(events))
    second = min(card.born for card in whole.cards if card.generation == 2 and card.kind == "op")
    trace = Trace(events)
    end = next(i for i in range(len(events)) if trace.step_of_event(i) >= second)
    graph = build(Trace(events[:end]))
    before = lay_out(graph)
    after = lay_out(whole, (graph, before))
    check(whole, after)
    known = [(i, whole.index[card.key]) for i, card in enumerate(graph.cards) if card.key in whole.index]
    assert len(known) > 6
    old, new = (list(part) for part in zip(*known, strict=True))
    np.testing.assert_allclose(before.boxes[old], after.boxes[new])


def grown(graph: Graph, chance: random.Random) -> Graph:
    """A few more operations that read what is there and one another."""
    cards, wires = list(graph.cards), list(graph.wires)
    for _ in range(chance.randint(1, max(1, len(graph.cards) // 2))):
        card = Card(f"op:{len(cards)}", "op", "more", width=chance.uniform(60, 260), height=chance.uniform(28, 200))
        for source in {chance.randrange(len(cards)) for _ in range(chance.randint(1, 3))}:
            wires.append(Wire(source, len(cards), 0, True, ((0, 0),), False, 14, 14, 20, 20, label=(84.0, 22.0)))
        cards.append(card)
    return replace(graph, cards=tuple(cards), wires=tuple(wires), index={c.key: i for i, c in enumerate(cards)})


@pytest.mark.parametrize("seed", range(30))
def test_new_operations_stand_right_of_an_old_graph(seed: int) -> None:
    chance = random.Random(seed)
    graph = random_graph(seed)
    graph = replace(graph, index={c.key: i for i, c in enumerate(graph.cards)})
    layout = lay_out(graph)
    edge = (layout.boxes[:, 0] + layout.boxes[:, 2]).max()
    for _ in range(3):
        more = grown(graph, chance)
        after = lay_out(more, (graph, layout))
        check(more, after)
        count = len(graph.cards)
        np.testing.assert_array_equal(after.boxes[:count], layout.boxes)
        assert (after.boxes[count:, 0] > edge).all()
        np.testing.assert_array_equal(after.forward_xy[: len(layout.forward_xy)], layout.forward_xy)
        graph, layout = more, after
        edge = (layout.boxes[:, 0] + layout.boxes[:, 2]).max()


def test_an_unchanged_graph_has_the_same_layout() -> None:
    graph = build(recorded("lstm"))
    layout = lay_out(graph)
    again = lay_out(graph, (graph, layout))
    for name in ("boxes", "forward_ptr", "forward_xy", "gradient_xy", "forward_label", "gradient_label", "stub"):
        np.testing.assert_array_equal(getattr(layout, name), getattr(again, name))


def test_a_card_that_grew_makes_its_graph_be_laid_out_afresh() -> None:
    graph = build(recorded("one_layer"))
    layout = lay_out(graph)
    cards = tuple(replace(c, height=c.height + 60) if c.kind == "leaf" else c for c in graph.cards)
    taller = replace(graph, cards=cards)
    check(taller, lay_out(taller, (graph, layout)))
