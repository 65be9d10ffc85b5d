"""What holds at one step: keys, seeds, folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gradviz.graph import build
from gradviz.graph.index import GraphIndex
from gradviz.graph.model import Card, Graph
from gradviz.player.view import ViewState
from gradviz.scene.moment import HIDDEN, PLANNED, Moment, find_card
from gradviz.scene.runs import Runs
from gradviz.scene.theme import load_theme
from gradviz.trace import Trace, open_trace
from gradviz.trace.events import Grad, NodeRan
from tests.scene.one_layer import Numbers, data, placed, recording

LIGHT = load_theme("light")


def moment(trace: Trace, step: int, graph: Graph | None = None) -> Moment:
    graph = graph or placed()[0]
    view = ViewState(step=step, steps=trace.steps)
    return Moment(graph, GraphIndex.of(graph), trace.at(step), view, LIGHT, Runs(trace))


@pytest.mark.parametrize(
    ("key", "card"),
    [
        ("op:4", 2),
        ("node:2", 2),
        ("tensor:3", 3),
        ("leaf:2", 1),
        ("result:6", 7),
        ("node:x", None),
        ("op:", None),
        ("fold:a", None),
        ("", None),
        (None, None),
    ],
)
def test_keys_of_cards(key: str | None, card: int | None) -> None:
    assert find_card(placed()[0], key) == card


def test_where_each_step_happens() -> None:
    trace = recording()
    cards = placed()[0].cards
    places = [cards[now].key if (now := moment(trace, k).now) is not None else None for k in range(trace.steps + 1)]
    forward = [None, "leaf:0", "leaf:1", "leaf:2", "leaf:3", "op:4", "op:5", "op:6"]
    assert places == [*forward, "result:6", "op:6", "op:5", "leaf:3", "op:4", "op:4", "leaf:2"]


def test_seed_stays_with_its_root() -> None:
    trace = recording(2)
    assert moment(trace, 7).seeds == {}
    assert [active for _, active in moment(trace, 9).seeds.values()] == [True]
    assert list(moment(trace, trace.steps).seeds) == [6]


def test_a_fold_counts_its_nodes_and_sums_its_gradients() -> None:
    trace = recording()
    graph = Graph((Card("fold:all", "fold", "all", nodes=(0, 1, 2, 3, 4, 5), count=6),))
    numbers = Numbers()
    before, middle, end = (moment(trace, k, graph) for k in (7, 10, trace.steps))
    assert [m.shares(0) for m in (before, middle, end)] == [(0, 6), (2, 6), (6, 6)]
    assert before.gradient_of(0) == (False, None)
    norm = end.gradient_of(0)[1]
    assert norm == pytest.approx(np.sqrt((numbers.gw**2).sum() + (numbers.gz**2).sum()), rel=1e-6), "of its two leaves"


def test_a_nan_in_a_fold_is_seen() -> None:
    trace = recording(0)
    events = list(recording().events)
    at = next(i for i, event in enumerate(events) if isinstance(event, NodeRan) and event.node == 3)
    events[at] = NodeRan(0, 3, (data([np.nan, 1.0, 2.0]),))
    spoiled = Trace(events)
    graph = Graph((Card("fold:all", "fold", "all", nodes=(3, 4)),))
    assert moment(spoiled, spoiled.steps, graph).gradient_of(0)[0]
    assert not moment(trace, trace.steps, graph).gradient_of(0)[0]


def test_views_without_motion_are_at_rest() -> None:
    trace = recording()
    graph = placed()[0]
    view = ViewState(step=9, alpha=0.25)
    index, runs = GraphIndex.of(graph), Runs(trace)
    assert Moment(graph, index, trace.at(9), view, LIGHT, runs).motion == 0.25
    assert Moment(graph, index, trace.at(9), replace(view, reduced_motion=True), LIGHT, runs).motion == 1.0


def test_an_empty_graph_and_an_empty_trace() -> None:
    empty = moment(Trace(), 0, Graph())
    assert empty.codes.tolist() == []
    assert empty.now is None
    assert empty.lit == frozenset()


def test_a_freed_node_waits_when_a_pass_comes_again() -> None:
    trace = recording(2, retain=False)
    again = int(trace.pass_step.view[1])
    assert [moment(trace, again - 1).node_code(n) for n in trace.passes[1].planned if moment(trace, again - 1).freed(n)]
    now = moment(trace, again)
    for node in trace.passes[1].planned:
        assert now.node_code(node) == PLANNED and now.freed(node) == moment(trace, again - 1).freed(node)


def test_a_change_of_grad_happens_in_the_graph_that_was_built_last(recorded: Callable[[str], Path]) -> None:
    trace = open_trace(recorded("training_loop"))
    graph = build(trace)
    seen = []
    for step in range(1, trace.steps + 1):
        event = trace.event_at(step)
        if isinstance(event, Grad) and event.within is None:
            now = moment(trace, step, graph)
            assert now.now is not None and now.codes[now.now] != HIDDEN
            newest = max(card.generation for i, card in enumerate(graph.cards) if now.codes[i] != HIDDEN)
            assert graph.cards[now.now].generation == newest
            seen.append(newest)
    assert len(set(seen)) > 1
