"""Hooks of the program: what came before them and what after is told apart."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from gradviz.trace import to_numpy
from tests.cases.helpers import end, fails, grads, recorded, runs, same


def test_a44_node_hook_scales_what_was_returned() -> None:
    def program() -> Tensor:
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        assert y.grad_fn is not None
        y.grad_fn.register_hook(lambda gin, _: tuple(None if g is None else g * 10 for g in gin))
        y.sum().backward()
        return x

    trace, x = recorded(program)
    (run,) = runs(trace, "MulBackward")
    assert run.gout_before is not None
    before, after = run.gout_before[0], run.gout[0]
    assert before is not None and after is not None
    assert np.array_equal(to_numpy(before) * 10, to_numpy(after))
    assert same(to_numpy(after), x.grad)


def test_a44_hook_after_the_addition_is_told_apart_from_it() -> None:
    def doubled(leaf: Tensor) -> None:
        assert leaf.grad is not None
        leaf.grad.mul_(2)

    def program() -> Tensor:
        x = torch.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(doubled)
        (x * 3).sum().backward()
        return x

    trace, x = recorded(program)
    added, hooked = grads(trace, "x")
    assert (added.cause, hooked.cause) == ("accumulate", "hook")
    assert added.after is not None and added.added is not None and hooked.after is not None
    assert same(to_numpy(added.after), torch.from_numpy(to_numpy(added.added).copy()))
    assert same(to_numpy(hooked.after), x.grad)
    assert not same(to_numpy(added.after), x.grad)


def test_a44_hook_that_raises_after_the_addition() -> None:
    kept: list[Tensor] = []

    def program() -> None:
        x = torch.ones(2, requires_grad=True)
        kept.append(x)
        x.register_post_accumulate_grad_hook(lambda _: 1 / 0)
        (x * 3).sum().backward()

    trace, fault = fails(program)
    assert fault.type == "ZeroDivisionError"
    assert same(end(trace).grad("x"), kept[-1].grad)
    assert kept[-1].grad is not None
