"""Folds of real recordings: modules, layers that are alike, iterations, lines, what a library prepares."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import networkx as nx
import pytest
import torch
from torch import nn

import gradviz
from gradviz.graph import Card, Graph, build, lay_out
from gradviz.graph.folds import EVERY, MANY
from gradviz.graph.repeats import repeats
from gradviz.trace import Trace


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.mix = nn.LayerNorm(width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.mix(self.norm(x))
        out: torch.Tensor = x + self.mlp(x).tanh().sigmoid()
        return out


class Model(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(4) for _ in range(count))
        self.head = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        out: torch.Tensor = self.head(x)
        return out


def blocks() -> None:
    Model(24)(torch.ones(2, 4)).sum().backward()


def training() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(40):
        optimizer.zero_grad()
        loss = net(torch.ones(2, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()


def unrolled() -> None:
    w, u = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
    h = torch.zeros(1, 2)
    for _ in range(90):
        z = torch.ones(1, 2) @ u + h @ w
        h = torch.tanh(z)
    h.sum().backward()


def encoder() -> None:
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 1, 4), 4, enable_nested_tensor=False)
    net(torch.ones(2, 1, 4)).pow(2).mean().backward()


@cache
def recorded(program: Callable[[], Any]) -> Trace:
    with gradviz.record() as recording:
        program()
    trace: Trace = recording.trace
    return trace


def folds(graph: Graph) -> dict[str, Card]:
    return {card.key: card for card in graph.cards if card.kind == "fold"}


@pytest.mark.parametrize("seed", range(30))
def test_repeats_are_repeats(seed: int) -> None:
    chance = random.Random(seed)
    pattern = [chance.randrange(3) for _ in range(chance.randint(1, 7))]
    times = chance.randint(3, 9)
    sequence = [9, 8, *pattern * times, 7, 6]
    at = 0
    for start, period, count in repeats(sequence):
        assert start >= at and count >= 3
        at = start + period * count
        assert all(sequence[k] == sequence[k + period] for k in range(start, at - period))
    assert sum(period * count for _, period, count in repeats(sequence)) >= len(pattern) * (times - 1) + 1


def test_nothing_repeats_in_what_is_all_different() -> None:
    assert repeats(range(50)) == []
    assert repeats([]) == []
    assert repeats([1, 1]) == []


def test_layers_that_are_alike_are_shown_once_and_counted() -> None:
    graph = build(recorded(blocks))
    assert len(build(recorded(blocks), unfolded=frozenset({EVERY})).cards) > MANY
    assert len(graph.cards) < 40
    (stack,) = (card for card in folds(graph).values() if card.fold and card.fold.kind == "stack")
    assert stack.title == "blocks.1 – 23"
    assert stack.fold is not None
    assert stack.fold.numbers == (2, 24, 24)
    assert not stack.fold.looped
    assert [group.title for group in graph.groups] == ["blocks.0", "blocks.0.mlp"]


def test_an_iteration_is_told_by_its_number() -> None:
    for program, count in ((training, 40), (unrolled, 90)):
        graph = build(recorded(program))
        (stack,) = (card for card in folds(graph).values() if card.fold and card.fold.kind == "stack")
        assert stack.fold is not None and stack.fold.looped
        assert stack.fold.numbers == (2, count, count)
        third = stack.fold.members[1]
        opened = build(recorded(program), unfolded=frozenset({third}))
        numbers = [c.fold.numbers for c in folds(opened).values() if c.fold and c.fold.numbers]
        assert {(2, 2, count), (4, count, count)} <= set(numbers)
        assert third in [group.key for group in opened.groups]
        again = build(recorded(program), folded=frozenset({third}))
        assert folds(again).keys() == folds(graph).keys()


def test_what_a_library_prepares_is_one_fold() -> None:
    trace = recorded(encoder)
    graph = build(trace)
    (setup,) = (card for card in folds(graph).values() if card.fold and card.fold.kind == "setup")
    assert not setup.nodes
    names = {trace.ops[op].name for op in setup.ops}
    assert "clone" in names
    assert setup.count == sum(op.scope is None and op.name in names and op.id in setup.ops for op in trace.ops)
    assert len({card.generation for card in graph.cards}) == 1
    assert "fold:setup" in {card.key for card in build(trace, unfolded=frozenset({"fold:Nothing"})).cards}
    every = build(trace, unfolded=frozenset({EVERY}))
    assert "fold:setup" not in every.index
    assert set(setup.ops) <= every.card_of_op.keys()
    assert graph.card_of_op[setup.ops[0]] == graph.index["fold:setup"]


@pytest.mark.parametrize("seed", range(12))
def test_any_choice_of_folds_keeps_the_graph(seed: int) -> None:
    chance = random.Random(seed)
    trace = recorded((blocks, training, unrolled, encoder)[seed % 4])
    known, folded, unfolded = {EVERY}, frozenset[str](), frozenset[str]()
    for _ in range(4):
        graph = build(trace, folded=folded, unfolded=unfolded)
        check(trace, graph)
        lay_out(graph)
        known |= folds(graph).keys()
        known |= {member for card in folds(graph).values() if card.fold for member in card.fold.members[:9]}
        picked = frozenset(chance.sample(sorted(known), min(len(known), 4)))
        folded, unfolded = frozenset(sorted(picked)[:2]), frozenset(sorted(picked)[2:])


def check(trace: Trace, graph: Graph) -> None:
    """Every node stands in one card, every gradient edge between cards has a wire, nothing runs in a circle."""
    assert len(graph.index) == len(graph.cards)
    homes: dict[int, set[int]] = {}
    for i, card in enumerate(graph.cards):
        for node in card.nodes:
            homes.setdefault(node, set()).add(i)
    passed = [n for n in trace.nodes if n.leaf is None]
    assert all(len(homes[n.id]) == 1 for n in passed)
    assert nx.is_directed_acyclic_graph(nx.DiGraph([(w.source, w.target) for w in graph.wires]))
    told = {
        (n.id, k) for n in passed for k, (m, _) in enumerate(n.edges) if m is not None and trace.nodes[m].leaf is None
    }
    inside = {(n, k) for n, k in told if homes[n] == homes[trace.nodes[n].edges[k][0] or 0]}
    drawn = {edge for wire in graph.wires for edge in wire.edges}
    assert told - inside == {(n, k) for n, k in drawn if (n, k) in told}
    for wire in graph.wires:
        assert graph.cards[wire.source].generation == graph.cards[wire.target].generation


def test_frames_hold_no_other_cards() -> None:
    for program in (blocks, training, unrolled):
        graph = build(recorded(program))
        boxes = lay_out(graph).boxes
        frames = lay_out(graph).groups
        assert graph.groups
        for group, (x, y, w, h) in zip(graph.groups, frames.tolist(), strict=True):
            inside = [
                i for i, b in enumerate(boxes) if b[0] < x + w and b[0] + b[2] > x and b[1] < y + h and b[1] + b[3] > y
            ]
            assert not w or inside == list(group.cards)


def test_a_small_graph_stands_open_and_folds_when_asked() -> None:
    with gradviz.record() as recording:
        Model(2)(torch.ones(2, 4)).sum().backward()
    graph = build(recording.trace)
    assert not folds(graph) and not graph.groups
    folded = build(recording.trace, folded=frozenset({EVERY}))
    assert 0 < len(folded.cards) < len(graph.cards) / 2
    one = build(recording.trace, folded=frozenset({"fold:blocks.1"}))
    assert list(folds(one)) == ["fold:blocks.1"]
