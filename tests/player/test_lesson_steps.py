"""Selectors: the step that each means, against the events of a real recording, and a sentence where it means none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gradviz.app.rehearse import rehearse
from gradviz.player.lesson_steps import SelectorError, describe, step_of
from gradviz.player.program import Program
from gradviz.trace import Trace, open_trace
from gradviz.trace.events import Backward, Fault, Grad, NodeRan, Op

PROGRAM = """import torch
w = torch.ones(3, requires_grad=True)
v = torch.ones(3, requires_grad=True)
z = w * v + w
loss = z.sum()
loss.backward(retain_graph=True)
w.grad.zero_()
loss.backward()
with torch.no_grad():
    w.add_(1)
"""


@pytest.fixture(scope="module")
def trace() -> Trace:
    return rehearse(Program(PROGRAM, "p.py"), ("v.grad = None", "loss.backward()", "(v + 1).sum().backward()"))


def event(trace: Trace, selector: str) -> object:
    return trace.event_at(step_of(trace, selector))


def test_start_and_end(trace: Trace) -> None:
    assert step_of(trace, "start") == 0
    assert step_of(trace, "end") == trace.steps
    assert step_of(trace, " end ") == trace.steps


def test_lines(trace: Trace) -> None:
    add = event(trace, "line 4")
    assert isinstance(add, Op) and add.name == "add"
    assert step_of(trace, "before line 4") == step_of(trace, "line 3")
    assert step_of(trace, "line 6") == trace.pass_end[0]
    with pytest.raises(SelectorError, match="no step in line 1"):
        step_of(trace, "line 1")


def test_operations(trace: Trace) -> None:
    mul, other = event(trace, "forward/mul"), event(trace, "forward/sum#last")
    assert isinstance(mul, Op) and mul.text == "w * v"
    assert isinstance(other, Op) and other.text == "(v + 1).sum()"
    assert step_of(trace, "forward/*(z)") == step_of(trace, "forward/add")
    with pytest.raises(SelectorError, match="add 2 times only"):
        step_of(trace, "forward/add#3")
    with pytest.raises(SelectorError, match="no add that gives w"):
        step_of(trace, "forward/add(w)")


def test_backward_passes_and_their_nodes(trace: Trace) -> None:
    first = event(trace, "backward")
    assert isinstance(first, Backward) and first.retain_graph
    second = event(trace, "backward#2/AccumulateGrad(w)")
    assert isinstance(second, NodeRan) and second.within == 1
    assert trace.name(trace.nodes[second.node].leaf or 0) == "w"
    order = trace.order(0)
    runs = [step_of(trace, f"backward#1/*#{k}") for k in range(1, len(order) + 1)]
    assert [trace.event_at(s).node for s in runs] == order  # type: ignore[union-attr]
    assert step_of(trace, "backward#1/end") == trace.pass_end[0] == runs[-1]
    by_op, by_name = step_of(trace, "backward#2/mul"), step_of(trace, "backward#2/MulBackward0")
    assert by_op == by_name > step_of(trace, "backward#2")
    assert step_of(trace, "backward#1/add(z)") == step_of(trace, "backward#1/AddBackward0(z)")
    with pytest.raises(SelectorError, match="no AccumulateGrad of loss"):
        step_of(trace, "backward#1/AccumulateGrad(loss)")
    with pytest.raises(SelectorError, match="no node of exp"):
        step_of(trace, "backward#1/exp")
    with pytest.raises(SelectorError, match="backward 4 times only"):
        step_of(trace, "backward#5")


def test_changes_outside_a_pass(trace: Trace) -> None:
    zeroed = event(trace, "zero(w)")
    assert isinstance(zeroed, Grad) and zeroed.cause == "zero"
    written = event(trace, "write(w)")
    assert isinstance(written, Op) and written.name == "add_"
    with pytest.raises(SelectorError, match="no zero"):
        step_of(trace, "zero(v)")


def test_actions_are_parts_of_their_own(trace: Trace) -> None:
    taken = event(trace, "action#1/none")
    assert isinstance(taken, Grad) and taken.cause == "none"
    assert step_of(trace, "action#1") == step_of(trace, "none(v)")
    failed = event(trace, "action#2/fault")
    assert isinstance(failed, Fault) and failed.code == "freed_graph"
    assert step_of(trace, "fault(freed_graph)") == step_of(trace, "backward#3/fault") == step_of(trace, "action#2/end")
    assert step_of(trace, "action#3/backward") == step_of(trace, "backward#4")
    assert step_of(trace, "action#last") == trace.steps
    with pytest.raises(SelectorError, match="it has 3 actions"):
        step_of(trace, "action#4")


@pytest.mark.parametrize(
    "text", ["", "somewhere", "backward#", "backward#1/", "forward", "line x", "fault/x", "w.grad"]
)
def test_what_is_no_selector_is_said(trace: Trace, text: str) -> None:
    with pytest.raises(SelectorError, match="selector"):
        step_of(trace, text)


@pytest.mark.parametrize("name", ["one_layer", "training_loop", "shared_weight", "second_backward"])
def test_every_step_is_meant_by_the_selector_that_describes_it(recorded: Callable[[str], Path], name: str) -> None:
    trace = open_trace(recorded(name))
    told = [describe(trace, step) for step in range(trace.steps + 1)]
    assert all(told)
    assert [step_of(trace, text) for text in told] == list(range(trace.steps + 1))
