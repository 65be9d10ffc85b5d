"""The engine's rule on recorded passes, and typed results against PyTorch's own numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from gradviz.player.engine import (
    Game,
    PlayedFrame,
    answer,
    finish,
    is_over,
    missing,
    pass_for,
    pick,
    plan_of,
    playable,
    ready,
    task,
)
from gradviz.trace import Trace, open_trace

PROGRAM = """import torch
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 0.5], requires_grad=True)
outside = b.cos()
y = a.exp() + b.sin() * a
loss = y.sum()
loss.backward(retain_graph=True)
loss.backward()
try:
    loss.backward()
except RuntimeError:
    pass
"""


def plain() -> tuple[torch.Tensor, torch.Tensor]:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.tensor([3.0, 0.5], requires_grad=True)
    (a.exp() + b.sin() * a).sum().backward()
    assert a.grad is not None and b.grad is not None
    return a.grad, b.grad


@pytest.fixture
def trace(record_text: Callable[[str], Trace]) -> Trace:
    return record_text(PROGRAM)


def node(trace: Trace, name: str) -> int:
    found = [n.id for n in trace.nodes if n.name == name or (n.leaf is not None and trace.name(n.leaf) == name)]
    assert len(found) == 1
    return found[0]


def played(trace: Trace, game: Game, *names: str) -> Game:
    for name in names:
        game = finish(trace, pick(trace, game, node(trace, name)))
    return game


def test_the_first_of_the_ready_ones_is_the_engines(trace: Trace) -> None:
    game, order = Game(0), []
    while not is_over(trace, game):
        order.append(ready(trace, game)[0])
        game = finish(trace, pick(trace, game, order[-1]))
        assert game.other is None
    assert order == trace.order(0) and game.refused == 0


def test_a_node_that_is_not_ready_is_refused_and_the_missing_named(trace: Trace) -> None:
    game = played(trace, Game(0), "SumBackward0", "AddBackward0", "ExpBackward0")
    refused = pick(trace, game, node(trace, "a"))
    assert refused.refusal == "waits" and refused.missing == (node(trace, "MulBackward0"),) and refused.refused == 1
    assert refused.picked is None and refused.done == game.done
    assert pick(trace, game, node(trace, "ExpBackward0")).refusal == "done"
    assert pick(trace, game, node(trace, "CosBackward0")).refusal == "outside"


def test_any_ready_node_is_legal(trace: Trace) -> None:
    game = played(trace, Game(0), "SumBackward0", "AddBackward0")
    free = ready(trace, game)
    assert {trace.nodes[n].name for n in free} == {"ExpBackward0", "MulBackward0"}
    other = pick(trace, game, free[1])
    assert other.picked == free[1] and other.other == free[0], "the engine would have taken the first"
    game = finish(trace, other)
    while not is_over(trace, game):
        game = finish(trace, pick(trace, game, ready(trace, game)[-1]))
    assert set(game.done) == set(plan_of(trace, 0)) and list(game.done) != trace.order(0)


@pytest.mark.parametrize("leaf", ["a", "b"])
def test_typed_results_are_judged_by_pytorchs_numbers(trace: Trace, leaf: str) -> None:
    truth = dict(zip("ab", plain(), strict=True))[leaf]
    game = Game(0)
    while not is_over(trace, game) and (first := ready(trace, game)[0]) != node(trace, leaf):
        game = finish(trace, pick(trace, game, first))
    game = pick(trace, game, node(trace, leaf))
    asked = task(trace, game)
    assert asked is not None and asked.leaf is not None
    exact = answer(trace, game, str(truth.tolist()))
    assert exact.verdict is not None and exact.verdict.grade == "exact" and exact.right == exact.answered == 1
    assert node(trace, leaf) in exact.done
    close = answer(trace, game, str([round(v, 4) for v in truth.tolist()]))
    assert close.verdict is not None and close.verdict.grade == "close" and 0 < close.verdict.difference < 1e-4
    off = answer(trace, game, str((truth + torch.tensor([0.0, 0.25])).tolist()))
    assert off.verdict is not None and off.verdict.grade == "off" and off.verdict.difference == pytest.approx(0.25)
    assert off.picked == game.picked and off.right == 0
    again = answer(trace, off, str(truth.tolist()))
    assert again.right == 0 and again.answered == 1 and again.picked is None, "only the first try counts"


@pytest.mark.parametrize(
    ("text", "grade"),
    [("1", "exact"), ("3/3", "exact"), ("[1, 2-1]", "exact"), ("[1, 1, 1]", "shape"), ("", "unreadable"),
     ("a", "unreadable"), ("__import__('os')", "unreadable"), ("1/0", "unreadable"), ("2**9", "unreadable"),
     ("[-1, +1]", "off"), ("True", "unreadable")],
)  # fmt: skip
def test_numbers_are_read_and_nothing_is_run(trace: Trace, text: str, grade: str) -> None:
    game = answer(trace, pick(trace, Game(0), node(trace, "SumBackward0")), text)
    assert game.verdict is not None and game.verdict.grade == grade


def test_the_frame_shows_what_the_player_ran(trace: Trace) -> None:
    game = played(trace, Game(1), "SumBackward0", "AddBackward0", "MulBackward0", "SinBackward0", "b")
    frame = PlayedFrame(trace, game)
    assert frame.status(node(trace, "b")) == "running" and frame.status(node(trace, "ExpBackward0")) == "pending"
    assert frame.status(node(trace, "MulBackward0")) == "freed" and frame.status(node(trace, "AddBackward0")) == "done"
    grads = {name: frame.grad(name) for name in "ab"}
    one, two = (g.numpy() for g in plain())
    assert grads["a"] is not None and grads["b"] is not None
    assert np.array_equal(grads["a"], one) and np.array_equal(grads["b"], 2 * two), "the second pass added to b alone"
    assert not frame.planned[node(trace, "b")] and frame.planned[node(trace, "a")]


@pytest.mark.parametrize("name", ["accumulation", "training_loop", "double_backward", "second_backward"])
def test_the_pass_at_hand_is_found_in_an_index(recorded: Callable[[str], Path], name: str) -> None:
    trace = open_trace(recorded(name))
    known = [p.id for p in trace.passes if p.parent is None and plan_of(trace, p.id) and p.id in trace.pass_end]
    assert playable(trace) == known and known
    for step in range(trace.steps + 1):
        assert pass_for(trace, step) == next((p for p in known if trace.pass_end[p] >= step), known[-1])


def test_the_game_ends_where_the_pass_raises(trace: Trace) -> None:
    assert playable(trace) == [0, 1, 2] and pass_for(trace, 0) == 0 and pass_for(trace, trace.steps) == 2
    game = Game(2)
    while not is_over(trace, game):
        game = finish(trace, pick(trace, game, ready(trace, game)[0]))
    assert game.raised == trace.faults[0].node and game.done == tuple(trace.order(2))
    assert not missing(trace, game, game.done[0])
