"""The two programs that everything began with, recorded and compared with PyTorch value by value."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from gradviz.recorder import record
from gradviz.trace import Trace, to_numpy
from gradviz.trace.events import BackwardEnded, Freed, Grad, NodeRan
from tests.recorder.oracle import failing, order, told, walk


def _layer() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(3)
    x, y = torch.ones(5), torch.zeros(3)
    w = torch.randn(5, 3, requires_grad=True)
    b = torch.randn(3, requires_grad=True)
    z = torch.matmul(x, w) + b
    loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
    return w, b, loss


def test_nodes_and_edges_are_those_of_a_walk_and_the_order_is_the_engines() -> None:
    w, b, loss = _layer()
    graph = walk([loss.grad_fn])
    names = order([loss.grad_fn], loss.backward)
    with record() as recording:
        _layer()[2].backward()
    trace: Trace = recording.trace
    run = trace.passes[0]
    assert told(trace, run.roots) == graph
    assert [trace.nodes[n].name for n in trace.order(0)] == names
    assert list(run.planned) == trace.order(0)
    frame = trace.at(trace.steps)
    for name, leaf in (("w", w), ("b", b)):
        assert leaf.grad is not None
        grad = frame.grad(name)
        assert grad is not None
        assert grad.tobytes() == leaf.grad.numpy().tobytes()
    assert {trace.nodes[e.node].name for e in trace.events if isinstance(e, Freed)} >= {"MmBackward0"}


def test_names_lines_and_expressions() -> None:
    with record() as recording:
        _layer()
    trace: Trace = recording.trace
    ops = {op.name: op for op in trace.ops}
    assert ops["matmul"].text == "torch.matmul(x, w)"
    assert ops["add"].text == "torch.matmul(x, w) + b"
    assert ops["matmul"].span is not None
    assert trace.files[ops["matmul"].span[0]].path == __file__
    assert trace.name(ops["add"].outputs[0]) == "z"
    assert [trace.name(i) for i in ops["matmul"].inputs] == ["x", "w"]
    line = trace.files[ops["matmul"].span[0]].text.splitlines()[ops["matmul"].span[1] - 1]
    assert line[ops["matmul"].span[2] : ops["matmul"].span[4]] == "torch.matmul(x, w)"


def test_accumulation_is_told_as_before_added_after() -> None:
    with record() as recording:
        inp = torch.eye(5, requires_grad=True)
        out = (inp + 1).pow(2)
        expected = []
        for _ in range(2):
            out.backward(torch.ones_like(inp), retain_graph=True)
            assert inp.grad is not None
            expected.append(inp.grad.numpy().copy())
        assert inp.grad is not None
        inp.grad.zero_()
        out.backward(torch.ones_like(inp), retain_graph=True)
        expected.append(inp.grad.numpy().copy())
    trace: Trace = recording.trace
    grads = [e for e in trace.events if isinstance(e, Grad)]
    assert [g.cause for g in grads] == ["accumulate", "accumulate", "zero", "accumulate"]
    afters = [to_numpy(g.after) for g in grads if g.after is not None]
    for seen, wanted in zip([afters[0], afters[1], afters[3]], expected, strict=True):
        assert np.array_equal(seen, wanted)
    assert not afters[2].any()
    assert grads[0].before is None
    for grad in (grads[1], grads[3]):
        assert grad.before is not None and grad.added is not None and grad.after is not None
        assert np.array_equal(to_numpy(grad.before) + to_numpy(grad.added), to_numpy(grad.after))
    assert trace.kind(next(s for s in range(trace.steps + 1) if trace.event_at(s) is grads[2])) == "grad"


def test_second_backward_without_retained_buffers_fails_at_its_node() -> None:
    def program() -> None:
        _, _, loss = _layer()
        loss.backward()
        loss.backward()

    trace = failing(program)
    (fault,) = trace.faults
    assert fault.code == "freed_graph"
    assert not fault.caught
    assert fault.within == 1
    first = trace.passes[1].planned[0]
    assert fault.node == first
    assert fault.text == "loss.backward()"
    assert fault.facts["freed_by"] == 0
    assert fault.span is not None
    freed = fault.facts["freed_at"]
    assert isinstance(freed, list)
    assert freed[:2] == [fault.span[0], fault.span[1] - 1]
    assert [e.error for e in trace.events if isinstance(e, BackwardEnded)] == [False, True]
    assert trace.order(1) == []
    assert trace.at(trace.steps).status(first) == "failed"


def test_what_ran_before_a_fault_is_told() -> None:
    def program() -> None:
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        (y + 1).sum().backward(retain_graph=True)
        z = (x * 2 + y).sum()
        y.backward(torch.ones(3))
        z.backward()

    trace = failing(program)
    (fault,) = trace.faults
    assert fault.node is not None
    assert trace.nodes[fault.node].name == "ExpBackward0"
    last = fault.within
    assert last is not None
    assert trace.order(last) == list(trace.passes[last].planned)[: len(trace.order(last))]
    assert len(trace.order(last)) >= 2
    partly = [e for e in trace.events if isinstance(e, Grad) and e.within == last]
    ran = [trace.nodes[n].name for n in trace.order(last)]
    assert len(partly) == ran.count("AccumulateGrad")


def test_gradients_in_and_out_are_those_of_hooks() -> None:
    def program() -> torch.Tensor:
        torch.manual_seed(1)
        x = torch.randn(3, requires_grad=True)
        return (x.exp() * x.sin()).sum()

    loss = program()
    seen: list[tuple[str, list[bytes | None], list[bytes | None]]] = []
    stack, known = [loss.grad_fn], set()
    while stack:
        node = stack.pop()
        if node is None or node in known:
            continue
        known.add(node)

        node.register_hook(partial(_note, seen, node.name().rpartition("::")[2]))
        stack += [n for n, _ in node.next_functions]
    loss.backward()
    with record() as recording:
        program().backward()
    trace: Trace = recording.trace
    runs = [e for e in trace.events if isinstance(e, NodeRan)]
    assert [trace.nodes[r.node].name for r in runs] == [name for name, *_ in seen]
    for run, (name, gin, gout) in zip(runs, seen, strict=True):
        assert [None if d is None else d.raw for d in run.gin] == gin
        if name != "AccumulateGrad":
            assert [None if d is None else d.raw for d in run.gout] == gout


def _note(seen: list[Any], name: str, gout: Any, gin: Any) -> None:
    seen.append((name, _bytes(gin), _bytes(gout)))


def _bytes(grads: tuple[torch.Tensor | None, ...]) -> list[bytes | None]:
    return [None if g is None else g.detach().numpy().tobytes() for g in grads]


def test_grad_retained_of_a_view_whose_base_was_written_to() -> None:
    with record(values="all") as recording:
        base = torch.randn(3, 3, requires_grad=True) * 2
        view = base[:2]
        base.mul_(0.5)
        view.retain_grad()
        view.sum().backward()
    grad = recording.trace.at(recording.trace.steps).grad("view")
    assert view.grad is not None
    assert grad is not None
    assert grad.tobytes() == view.grad.numpy().tobytes()


@pytest.mark.parametrize("off", ["off", "OFF"])
def test_switched_off_by_the_environment(off: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADVIZ", off)
    with record() as recording:
        torch.ones(3).sum()
    assert recording.trace.steps == 0
    assert recording.trace.events == []


def test_as_a_decorator() -> None:
    @record
    def step(x: torch.Tensor) -> torch.Tensor:
        return (x * 2).sum()

    assert step(torch.ones(2)).item() == 4
    assert [op.name for op in step.recording.trace.ops] == ["mul", "sum"]
