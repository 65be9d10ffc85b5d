"""Cards and wires of real recordings, against PyTorch's own graph walked plain."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
import torch

import gradviz
from gradviz.graph import build
from gradviz.trace import Trace

PROGRAMS = Path(__file__).parents[2] / "resources" / "programs"


def recorded(name: str) -> Trace:
    with gradviz.record() as recording:
        runpy.run_path(str(PROGRAMS / f"{name}.py"))
    trace: Trace = recording.trace
    return trace


@pytest.mark.parametrize(
    "name", ["one_layer", "accumulation", "mlp", "lstm", "gpt", "double_backward", "shared_weight"]
)
def test_autograd_view_is_exactly_the_next_functions_graph(name: str) -> None:
    trace = recorded(name)
    graph = build(trace, "autograd")
    assert [card.nodes for card in graph.cards] == [(node.id,) for node in trace.nodes]
    drawn = sorted((edge[0], edge[1], graph.cards[w.source].nodes[0]) for w in graph.wires for edge in w.edges)
    told = sorted((n.id, i, m) for n in trace.nodes for i, (m, _) in enumerate(n.edges) if m is not None)
    assert drawn == told


def test_the_one_layer_network_has_the_cards_of_the_design() -> None:
    trace = recorded("one_layer")
    graph = build(trace)
    titles = {card.title: card for card in graph.cards}
    assert set(titles) == {"x", "y", "w", "b", "matmul", "add", "bce_with_logits", "loss"}
    assert [trace.nodes[n].name.rstrip("0123456789") for n in titles["add"].nodes] == ["AddBackward"]
    assert len(titles["matmul"].nodes) == len(trace.nodes) - 4
    assert titles["w"].slot
    assert not titles["x"].slot
    ghosts = {graph.cards[w.source].title for w in graph.wires if w.ghost}
    assert ghosts == {"x", "y"}


@pytest.mark.parametrize("name", ["one_layer", "accumulation", "mlp", "lstm", "gpt", "training_loop"])
def test_every_gradient_edge_between_cards_has_its_wire(name: str) -> None:
    trace = recorded(name)
    graph = build(trace)
    home = graph.card_of_node
    inside = {
        (n.id, i) for n in trace.nodes for i, (m, _) in enumerate(n.edges) if m is not None and home[m] == home[n.id]
    }
    told = {(n.id, i) for n in trace.nodes for i, (m, _) in enumerate(n.edges) if m is not None}
    drawn = {edge for wire in graph.wires for edge in wire.edges}
    assert drawn == told - inside


def test_a_function_of_the_programs_is_one_card() -> None:
    """But what it ran with grad mode on has nodes of its own."""
    import torch

    class Around(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            scaled = x * 2
            with torch.enable_grad():
                ctx.x = scaled.detach().requires_grad_()
                ctx.y = ctx.x.sin()
            return ctx.y.detach()  # type: ignore[no-any-return]

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return torch.autograd.grad(ctx.y, ctx.x, grads[0])[0] * 2

    with gradviz.record() as recording:
        x = torch.ones(3, requires_grad=True)
        result = Around.apply(x.exp()).sum()
        result.backward()
    trace = recording.trace
    graph = build(trace)
    cards = {card.title: card for card in graph.cards if card.kind == "op"}
    assert set(cards) == {"exp", "Around", "sin", "sum"}
    inside = [trace.ops[op].name for op in cards["Around"].ops]
    assert [name for name in inside if name != "requires_grad_"] == ["mul", "detach", "detach", "Around"]
    assert cards["Around"].born == trace.op_step.view[cards["Around"].ops[0]]
    of = {i: card.title for i, card in enumerate(graph.cards)}
    assert {("exp", "Around"), ("sin", "Around")} <= {(of[w.source], of[w.target]) for w in graph.wires}


def test_each_iteration_is_a_graph_of_its_own() -> None:
    graph = build(recorded("training_loop"))
    assert {card.generation for card in graph.cards} == {0, 1, 2}
    assert all(graph.cards[w.source].generation == graph.cards[w.target].generation for w in graph.wires)


def test_a_large_program_is_folded_at_first_and_unfolds() -> None:
    import torch

    with gradviz.record() as recording:
        layers = [torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()) for _ in range(120)]
        model = torch.nn.Sequential(*layers)
        model(torch.ones(1, 4)).sum().backward()
    full = len(recording.trace.nodes)
    graph = build(recording.trace)
    folds = [card for card in graph.cards if card.kind == "fold"]
    assert folds
    assert len(graph.cards) < full / 2
    assert sorted(n for card in graph.cards for n in card.nodes if recording.trace.nodes[n].leaf is None) == sorted(
        n.id for n in recording.trace.nodes if n.leaf is None
    )
    opened = build(recording.trace, unfolded=frozenset({folds[0].key}))
    assert folds[0].key not in opened.index


@pytest.mark.parametrize("call", ["torch.ones_like(out)", "out.new_tensor([0, 1])", "out.new_zeros(2)"])
def test_what_takes_only_type_and_device_of_a_tensor_has_no_card(call: str) -> None:
    with gradviz.record() as recording:
        w = torch.ones(2, requires_grad=True)
        out = w * 3
        out.backward(eval(call, {"torch": torch, "out": out}))
    assert [card.title for card in build(recording.trace).cards] == ["w", "mul", "out"]
