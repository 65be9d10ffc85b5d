"""What is told of operations: those that ran inside another."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import threading
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from tests.recorder.oracle import both, failing


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grads[0] * 3 * x * x


class Around(torch.autograd.Function):
    """Keeps a graph of its own, which its backward runs."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = Cube.apply(ctx.x).sin()
        return ctx.y.detach()  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return torch.autograd.grad(ctx.y, ctx.x, grads[0])[0]


class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        raise ValueError(f"not today: {float((x * 2).sum())}")


def test_what_runs_inside_a_function_knows_it() -> None:
    def program() -> list[Any]:
        x = torch.randn(3, requires_grad=True)
        y = Around.apply(x.exp())
        z = checkpoint(torch.tanh, y, use_reentrant=True)
        z.sum().backward()
        return [x.grad]

    trace = both(program)
    ops = trace.ops
    inside = [(ops[i].name, ops[o].name) for i, o in sorted(trace.outer_op.items()) if ops[i].outputs]
    cube = [("mul", "Cube")] * 2
    assert inside == [("detach", "Around"), *cube, ("Cube", "Around"), ("sin", "Around"), ("detach", "Around"),
                      ("tanh", "CheckpointFunction")]  # fmt: skip


def test_operations_of_another_thread_are_not_inside() -> None:
    started, done = threading.Event(), threading.Event()

    class Waits(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            started.set()
            done.wait(5)
            return x.sin()

    def program() -> list[Any]:
        started.clear()
        done.clear()
        made: list[Any] = []

        def other() -> None:
            started.wait(5)
            made.append(torch.ones(2).cosh())
            done.set()

        worker = threading.Thread(target=other)
        worker.start()
        made.append(Waits.apply(torch.ones(2, requires_grad=True)))
        worker.join()
        return made

    trace = both(program)
    assert [(trace.ops[i].name, trace.ops[o].name) for i, o in trace.outer_op.items()] == [("sin", "Waits")]


def test_a_function_that_fails_holds_what_ran_in_it() -> None:
    trace = failing(lambda: Broken.apply(torch.ones(2, requires_grad=True)))
    assert [
        (trace.ops[i].name, trace.ops[o].name) for i, o in sorted(trace.outer_op.items()) if trace.ops[i].outputs
    ] == [
        ("mul", "Broken"),
        ("sum", "Broken"),
    ]
    assert trace.faults[0].op is not None
    assert trace.ops[trace.faults[0].op].name == "Broken"
