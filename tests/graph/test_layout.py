"""Nothing overlaps, no wire passes a card, the same graph gives the same places."""

from __future__ import annotations

import random
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from gradviz.graph import Card, Graph, Layout, Wire, build, lay_out
from gradviz.graph.heights import monotone
from gradviz.graph.layers import inversions, ranks
from tests.graph.test_build import recorded


def random_graph(seed: int) -> Graph:
    """A random acyclic graph in order of time, of cards of random size."""
    chance = random.Random(seed)
    count = chance.randint(2, 40)
    cards = tuple(
        Card(f"op:{i}", "op", f"op{i}", width=chance.uniform(60, 260), height=chance.uniform(28, 200))
        for i in range(count)
    )
    wires = []
    for target in range(1, count):
        for source in {chance.randrange(max(0, target - 12), target) for _ in range(chance.randint(1, 3))}:
            ports = (chance.uniform(2, 26), chance.uniform(2, 26), chance.uniform(2, 26), chance.uniform(2, 26))
            wires.append(Wire(source, target, 0, True, ((0, 0),), False, *ports, label=(84.0, 22.0)))
    return Graph(cards, tuple(wires))


def sampled(points: np.ndarray) -> np.ndarray:
    """Points densely along a chain of cubic curves."""
    t = np.linspace(0, 1, 24)[:, None]
    pieces = [
        (1 - t) ** 3 * points[k]
        + 3 * (1 - t) ** 2 * t * points[k + 1]
        + 3 * (1 - t) * t**2 * points[k + 2]
        + t**3 * points[k + 3]
        for k in range(0, len(points) - 3, 3)
    ]
    return np.concatenate(pieces)


def check(graph: Graph, layout: Layout) -> None:
    boxes = layout.boxes
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            assert a[0] + a[2] <= b[0] or b[0] + b[2] <= a[0] or a[1] + a[3] <= b[1] or b[1] + b[3] <= a[1]
    low, high = boxes[:, :2] + 0.5, boxes[:, :2] + boxes[:, 2:] - 0.5
    for pointers, flat in ((layout.forward_ptr, layout.forward_xy), (layout.gradient_ptr, layout.gradient_xy)):
        for w in range(len(graph.wires)):
            points = flat[pointers[w] : pointers[w + 1]]
            if len(points):
                path = sampled(points)[:, None, :]
                assert not ((path > low) & (path < high)).all(2).any(), f"wire {w} passes a card"
    for labels in (layout.forward_label, layout.gradient_label):
        placed = labels[~np.isnan(labels[:, 0])]
        assert not ((placed[:, None] > low) & (placed[:, None] < high)).all(2).any()
    both = np.concatenate([layout.forward_label, layout.gradient_label])
    both = both[~np.isnan(both[:, 0])]
    for i, a in enumerate(both):
        for b in both[i + 1 :]:
            assert abs(a[0] - b[0]) > 80 or abs(a[1] - b[1]) > 20


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs(seed: int) -> None:
    graph = random_graph(seed)
    check(graph, lay_out(graph))


@pytest.mark.parametrize("name", ["one_layer", "accumulation", "mlp", "lstm", "gpt", "training_loop", "shared_weight"])
@pytest.mark.parametrize("mode", ["both", "forward", "autograd"])
def test_real_graphs(name: str, mode: str) -> None:
    graph = build(recorded(name), mode)
    layout = lay_out(graph)
    check(graph, layout)
    again = lay_out(graph)
    assert (layout.boxes == again.boxes).all()
    assert (layout.forward_xy == again.forward_xy).all()


@pytest.mark.parametrize("name", ["one_layer", "lstm"])
def test_columns_may_run_down(name: str) -> None:
    graph = build(recorded(name))
    layout = lay_out(graph, direction="down")
    check(graph, layout)
    np.testing.assert_allclose(layout.boxes[:, 2:], [(c.width, c.height) for c in graph.cards])
    for wire in graph.wires:
        assert layout.boxes[wire.source, 1] < layout.boxes[wire.target, 1]
    again = lay_out(graph, (graph, layout), direction="down")
    np.testing.assert_array_equal(layout.boxes, again.boxes)


def test_progress_runs_from_nothing_to_all_and_a_spent_budget_still_gives_a_layout() -> None:
    heard: list[float] = []
    graph = random_graph(3)
    check(graph, lay_out(graph, budget_seconds=0.0, progress=heard.append))
    assert heard == sorted(heard)
    assert heard[-1] == 1.0


@pytest.mark.parametrize("seed", range(20))
def test_longest_paths_end_at_the_results(seed: int) -> None:
    graph = random_graph(seed)
    links = [(w.source, w.target) for w in graph.wires]
    column = ranks(len(graph.cards), links)
    assert all(column[a] < column[b] for a, b in links)
    walked = nx.dag_longest_path_length(nx.DiGraph(links)) if links else 0
    assert max(column) == walked


def test_a_ring_is_laid_out_too() -> None:
    cards = tuple(Card(f"fold:{i}", "fold", "f", width=100.0) for i in range(3))
    layout = lay_out(Graph(cards, tuple(Wire(i, (i + 1) % 3, 0) for i in range(3))))
    check(Graph(cards), replace(layout, forward_ptr=np.zeros(1, np.int64), forward_xy=np.zeros((0, 2))))
    assert layout.stub.any()


def test_routes_end_at_their_ports() -> None:
    graph = build(recorded("one_layer"))
    layout = lay_out(graph)
    for w, wire in enumerate(graph.wires):
        start, end = layout.forward_xy[layout.forward_ptr[w]], layout.forward_xy[layout.forward_ptr[w + 1] - 1]
        source, target = layout.boxes[wire.source], layout.boxes[wire.target]
        np.testing.assert_allclose(start, (source[0] + source[2], source[1] + wire.source_port))
        np.testing.assert_allclose(end, (target[0], target[1] + wire.target_port))


def test_an_empty_graph_has_a_layout() -> None:
    assert lay_out(Graph()).bounds == (0.0, 0.0, 0.0, 0.0)


def test_a_chain_of_twenty_thousand_needs_no_recursion() -> None:
    cards = tuple(Card(f"op:{i}", "op", "mul", width=100.0) for i in range(20_000))
    wires = tuple(Wire(i, i + 1, 0) for i in range(19_999))
    assert lay_out(Graph(cards, wires)).boxes[-1, 0] > 0


@pytest.mark.parametrize("seed", range(20))
def test_the_two_small_algorithms_against_their_definitions(seed: int) -> None:
    chance = random.Random(seed)
    places = [chance.randrange(9) for _ in range(12)]
    assert inversions(places) == sum(a > b for i, a in enumerate(places) for b in places[i + 1 :])
    wanted, weights = [chance.uniform(-5, 5) for _ in range(8)], [chance.uniform(0.1, 4) for _ in range(8)]
    levels = monotone(wanted, weights)
    assert levels == sorted(levels)
    cost = sum(w * (a - b) ** 2 for a, b, w in zip(wanted, levels, weights, strict=True))
    for _ in range(200):
        other = sorted(level + chance.gauss(0, 0.3) for level in levels)
        assert cost <= sum(w * (a - b) ** 2 for a, b, w in zip(wanted, other, weights, strict=True)) + 1e-9
