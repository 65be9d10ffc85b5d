"""Each kind of fault: its code, its node, its line, and the facts that prove it; PyTorch's own message untouched."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from gradviz.recorder import record
from gradviz.trace import Trace
from gradviz.trace.events import Fault, Grad, Op
from tests.recorder.oracle import failing


def only(trace: Trace) -> Fault:
    (fault,) = trace.faults
    return fault


def line_of(program: Callable[[], object], text: str) -> int:
    """Line in this file of the first line of a program that contains a text."""
    lines, first = inspect.getsourcelines(program)
    return first + next(i for i, line in enumerate(lines) if text in line)


def node_name(trace: Trace, fault: Fault) -> str | None:
    return None if fault.node is None else trace.nodes[fault.node].name


def mismatch() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


def mismatch_through_alias() -> None:
    x = torch.ones(3, requires_grad=True)
    y = torch.sigmoid(x)
    alias = y.detach()
    alias.zero_()
    y.sum().backward()


def mismatch_of_leaf() -> None:
    w = torch.ones(3, requires_grad=True)
    y = (w * w).sum()
    with torch.no_grad():
        w.add_(1)
    y.backward()


def at_line(span: object) -> object:
    """The line of a fact that is a span."""
    assert isinstance(span, list) and len(span) == 5
    return span[1]


@pytest.mark.parametrize(
    ("program", "saved", "changed", "tensor", "node"),
    [
        (mismatch, "x.exp()", "y.add_(1)", "y", "ExpBackward0"),
        (mismatch_through_alias, "torch.sigmoid(x)", "alias.zero_()", "y", "SigmoidBackward0"),
        (mismatch_of_leaf, "(w * w)", "w.add_(1)", "w", "MulBackward0"),
    ],
)
def test_version_mismatch(program: Callable[[], None], saved: str, changed: str, tensor: str, node: str) -> None:
    trace = failing(program)
    fault = only(trace)
    assert fault.code == "version_mismatch"
    assert node_name(trace, fault) == node
    assert (fault.facts["saved_version"], fault.facts["version"]) == (0, 1)
    assert at_line(fault.facts["saved_at"]) == line_of(program, saved)
    assert at_line(fault.facts["changed_at"]) == line_of(program, changed)
    assert fault.facts["tensor"] == tensor
    assert fault.span is not None
    assert fault.span[1] == line_of(program, "backward()")


def vector_root() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.backward()


def vector_root_of_grad() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    torch.autograd.grad(y, x)


def vector_root_of_function() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    torch.autograd.backward(y)


def complex_root() -> None:
    x = torch.ones(1, requires_grad=True)
    y = (x * 2j).sum()
    y.backward()


@pytest.mark.parametrize(
    ("program", "shape"),
    [(vector_root, [3]), (vector_root_of_grad, [3]), (vector_root_of_function, [3]), (complex_root, [])],
)
def test_root_that_is_no_real_scalar(program: Callable[[], None], shape: list[int]) -> None:
    trace = failing(program)
    fault = only(trace)
    assert fault.code == "non_scalar_root"
    assert fault.facts == {"shape": shape, "name": "y"}
    assert fault.span is not None
    assert fault.tensor == trace.named("y")
    assert trace.passes == []


def no_path() -> None:
    x = torch.ones(3)
    loss = (x * 2).sum()
    loss.backward()


def no_path_after_detach() -> None:
    x = torch.ones(3, requires_grad=True)
    loss = (x * 2).detach().sum()
    loss.backward()


@pytest.mark.parametrize("program", [no_path, no_path_after_detach])
def test_no_path_to_a_leaf(program: Callable[[], None]) -> None:
    trace = failing(program)
    fault = only(trace)
    assert fault.code == "no_grad_path"
    assert fault.facts["name"] == "loss"
    assert trace.passes == []
    assert fault.span is not None
    assert fault.span[1] == line_of(program, "loss.backward()")
    assert any(op.untracked for op in trace.ops)


def leaf_changed() -> None:
    x = torch.ones(3, requires_grad=True)
    x.add_(1)


def view_of_leaf_changed() -> None:
    x = torch.ones(3, requires_grad=True)
    x[0] = 5


@pytest.mark.parametrize(
    ("program", "code"), [(leaf_changed, "leaf_inplace"), (view_of_leaf_changed, "leaf_view_inplace")]
)
def test_leaf_changed_in_place(program: Callable[[], None], code: str) -> None:
    trace = failing(program)
    fault = only(trace)
    assert fault.code == code
    assert fault.op is not None
    assert trace.ops[fault.op].error
    assert fault.facts["name"] == "x"
    value = trace.at(trace.steps).value("x")
    assert value is not None
    assert value.tolist() == [1, 1, 1]


def seed_of_wrong_shape() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.backward(torch.ones(2))


def grad_of_wrong_shape() -> None:
    x = torch.ones(3, requires_grad=True)
    x.grad = torch.ones(2)


@pytest.mark.parametrize("program", [seed_of_wrong_shape, grad_of_wrong_shape])
def test_gradient_of_wrong_shape(program: Callable[[], None]) -> None:
    fault = only(failing(program))
    assert fault.code == "grad_shape"
    if program is seed_of_wrong_shape:
        assert (fault.facts["got"], fault.facts["expected"]) == ("[2]", "[3]")


def unused() -> None:
    x = torch.ones(3, requires_grad=True)
    other = torch.ones(3, requires_grad=True)
    torch.autograd.grad((x * x).sum(), [x, other])


def test_unused_input_is_named() -> None:
    trace = failing(unused)
    fault = only(trace)
    assert fault.code == "unused_input"
    assert fault.facts == {"index": 1, "name": "other"}
    assert fault.tensor == trace.named("other")


def inference_saved() -> None:
    with torch.inference_mode():
        x = torch.ones(3)
    w = torch.ones(3, requires_grad=True)
    (w * x).sum().backward()


def flag_of_non_leaf() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.requires_grad = False


def flag_of_integers() -> None:
    torch.arange(3).requires_grad_()


def flag_of_new_integers() -> None:
    torch.tensor([1, 2], requires_grad=True)


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (inference_saved, "inference_tensor"),
        (flag_of_non_leaf, "flag_change"),
        (flag_of_integers, "flag_change"),
        (flag_of_new_integers, "flag_change"),
    ],
)
def test_other_forward_faults(program: Callable[[], None], code: str) -> None:
    fault = only(failing(program))
    assert fault.code == code
    assert fault.span is not None


class Wrong(torch.autograd.Function):
    """Its backward does what `how` says."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, how: str) -> Tensor:
        ctx.how = how
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        if ctx.how == "raise":
            raise ValueError("out of order")
        if ctx.how == "shape":
            return torch.ones(7), None
        return grad if ctx.how == "count" else (grad, None)


@pytest.mark.parametrize(
    ("how", "type_name"), [("count", "RuntimeError"), ("raise", "ValueError"), ("shape", "RuntimeError")]
)
def test_custom_backward(how: str, type_name: str) -> None:
    def program() -> None:
        x = torch.ones(3, requires_grad=True)
        Wrong.apply(x.sin(), how).sum().backward()

    trace = failing(program)
    fault = only(trace)
    assert fault.code == "custom_backward"
    assert fault.type == type_name
    assert node_name(trace, fault) == "WrongBackward"
    assert fault.within == 0
    assert [trace.nodes[n].name for n in trace.order(0)] == ["SumBackward0"]


def test_hook_that_raises_is_told_at_its_node() -> None:
    def program() -> None:
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        y.register_hook(lambda _: 1 / 0)
        y.sin().sum().backward()

    trace = failing(program)
    fault = only(trace)
    assert fault.type == "ZeroDivisionError"
    assert node_name(trace, fault) == "ExpBackward0"


def test_caught_faults_are_marked_and_told_once() -> None:
    with record() as recording:
        x = torch.ones(3, requires_grad=True)
        y = (x * x).sum()
        y.backward()
        for _ in range(2):
            with pytest.raises(RuntimeError):
                y.backward()
        z = x + 1
        with pytest.raises(RuntimeError):
            torch.ones(2) @ z
    trace: Trace = recording.trace
    assert [(f.code, f.caught) for f in trace.faults] == [("freed_graph", True)] * 2 + [("other", True)]
    assert trace.ended[0].status == "ok"
    failed = [op for op in trace.ops if op.error]
    assert [op.name for op in failed] == ["matmul"]


def test_partly_filled_gradients_after_a_fault_are_those_of_pytorch() -> None:
    leaves: list[Tensor] = []

    def program() -> None:
        a, b = torch.ones(3, requires_grad=True), torch.full((3,), 2.0, requires_grad=True)
        leaves[:] = [a, b]
        early = b.exp()
        early.sum().backward()
        (a * 2 + early).sum().backward()

    trace = failing(program)
    frame = trace.at(trace.steps)
    for name, leaf in zip("ab", leaves, strict=True):
        told, real = frame.grad(name), leaf.grad
        assert (told is None) == (real is None)
        if told is not None and real is not None:
            assert told.tobytes() == real.numpy().tobytes()
    assert any(isinstance(e, Grad) and e.within == 1 for e in trace.events)


def test_failed_operation_makes_no_step_of_its_own() -> None:
    trace = failing(leaf_changed)
    index = next(i for i, e in enumerate(trace.events) if isinstance(e, Op) and e.error)
    assert trace.kind(trace.steps) == "fault"
    assert trace.step_of_event(index) == trace.steps - 1
