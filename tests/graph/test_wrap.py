"""Long chains are broken into lines, like a text; wires go round without touching a card."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from gradviz.graph import Card, Graph, Wire, build, lay_out
from gradviz.graph.wrap import WIDE, breaks
from tests.graph.test_folds import blocks, encoder, recorded
from tests.graph.test_layout import check


def chain(count: int, skips: tuple[int, ...] = ()) -> Graph:
    cards = tuple(Card(f"op:{i}", "op", "op", width=120.0 + 30 * (i % 3), height=60.0) for i in range(count))
    ends = [(i, i + 1) for i in range(count - 1)] + [(i, i + k) for k in skips for i in range(0, count - k, 4)]
    wires = tuple(Wire(a, b, 0, True, ((0, 0),), False, 14, 14, 40, 40, label=(84.0, 22.0)) for a, b in ends)
    return Graph(cards, wires, index={c.key: i for i, c in enumerate(cards)})


@pytest.mark.parametrize("skips", [(), (2,), (5, 3), (9, 20)])
def test_a_long_chain_is_read_in_lines(skips: tuple[int, ...]) -> None:
    graph = chain(80, skips)
    layout = lay_out(graph)
    check(graph, layout)
    assert not layout.stub.any()
    assert layout.bounds[2] < 1.5 * WIDE
    assert 0.8 < layout.bounds[2] / layout.bounds[3] < 6
    x, y = layout.boxes[:, 0], layout.boxes[:, 1]
    for a, b in pairwise(range(len(x))):
        assert x[b] > x[a] or y[b] > y[a] + 60, "to the right, or down to the next line"


def test_a_turning_wire_ends_where_others_do_and_runs_between_the_lines() -> None:
    graph = chain(60)
    layout = lay_out(graph)
    turned = 0
    for w, wire in enumerate(graph.wires):
        points = layout.forward_xy[layout.forward_ptr[w] : layout.forward_ptr[w + 1]]
        back = layout.gradient_xy[layout.gradient_ptr[w] : layout.gradient_ptr[w + 1]]
        source, target = layout.boxes[wire.source], layout.boxes[wire.target]
        np.testing.assert_allclose(points[0], (source[0] + source[2], source[1] + 14))
        np.testing.assert_allclose(points[-1], (target[0], target[1] + 14))
        np.testing.assert_allclose(back[0], (target[0], target[1] + 40))
        np.testing.assert_allclose(back[-1], (source[0] + source[2], source[1] + 40))
        if target[0] < source[0]:
            turned += 1
            between = points[(points[:, 1] > source[1] + 60) & (points[:, 1] < target[1])]
            assert len(between) >= 4
    assert turned >= 2


@pytest.mark.parametrize("folded", [True, False])
def test_real_graphs_are_wrapped_without_a_wire_through_a_card(folded: bool) -> None:
    for program in (blocks, encoder):
        graph = build(recorded(program), unfolded=frozenset() if folded else frozenset({"fold:*"}))
        layout = lay_out(graph)
        check(graph, layout)
        assert layout.bounds[2] < 12_000


def test_a_wrapped_graph_keeps_its_places_while_it_grows() -> None:
    graph = chain(60)
    layout = lay_out(graph)
    more = replace(
        graph,
        cards=(*graph.cards, Card("op:new", "op", "new", width=90.0, height=40.0)),
        wires=(*graph.wires, Wire(7, 60, 0, True, ((0, 0),), False, 14, 14, 30, 30)),
        index={**graph.index, "op:new": 60},
    )
    after = lay_out(more, (graph, layout))
    check(more, after)
    np.testing.assert_array_equal(after.boxes[:60], layout.boxes)


def test_short_or_high_graphs_stay_in_one_line() -> None:
    assert breaks([100.0] * 10, [50.0] * 10, [0.0] * 11, 100.0) == [0]
    assert breaks([100.0] * 40, [50.0] * 40, [0.0] * 41, 4000.0) == [0]
    assert len(breaks([100.0] * 60, [50.0] * 60, [0.0] * 61, 100.0)) > 2


def test_lines_break_where_fewest_wires_pass() -> None:
    costs = [5.0] * 61
    costs[17] = costs[44] = 1.0
    found = breaks([100.0] * 60, [50.0] * 60, costs, 300.0)
    assert {17, 44} <= set(found)
