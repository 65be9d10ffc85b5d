"""What no row of the list of cases meets: programs for the sentences about it."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tests.explain.case_programs import more


class Silent(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None


@more("partial")
def _partial() -> None:
    a = torch.ones(2, requires_grad=True)
    c = torch.ones(2, requires_grad=True)
    e = a.exp()
    out = (e + c).sum()
    e.add_(1)
    out.backward()


@more("all reached")
def _all_reached() -> None:
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2, requires_grad=True)
    h = a.exp()
    out = (h + b).sum()
    h.detach().add_(1)
    out.backward(inputs=[b, h])


@more("flag of integers")
def _flag_of_integers() -> None:
    torch.ones(2, dtype=torch.int64, requires_grad=True)


@more("view of a leaf")
def _view_of_a_leaf() -> None:
    x = torch.ones(3, requires_grad=True)
    part = x[:2]
    part.add_(1)


@more("other")
def _other() -> None:
    torch.ones(2, 3) @ torch.ones(2, 3)


def _doubled(leaf: Tensor) -> None:
    assert leaf.grad is not None
    leaf.grad.mul_(2)


def _raises(leaf: Tensor) -> None:
    raise ValueError("from a hook")


@more("hook raises")
def _hook_raises() -> None:
    x = torch.ones(3, requires_grad=True)
    x.register_post_accumulate_grad_hook(_raises)
    (x * 2).sum().backward()


@more("grad writes")
def _grad_writes() -> None:
    x = torch.ones(3, requires_grad=True)
    (x * x).sum().backward()
    torch.nn.utils.clip_grad_norm_([x], 1.0)
    x.grad = torch.zeros(3)
    x.register_post_accumulate_grad_hook(_doubled)
    (x * 2).sum().backward()


@more("silent")
def _silent() -> None:
    x = torch.ones(3, requires_grad=True)
    Silent.apply(x).sum().backward()


@more("post hook")
def _post_hook() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    assert y.grad_fn is not None
    y.grad_fn.register_hook(lambda gin, gout: tuple(None if g is None else g * 2 for g in gin))
    y.sum().backward()


@more("inference")
def _inference() -> None:
    x = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        y = x * 2
    print(y)


@more("empty")
def _empty() -> None:
    pass


@more("retained")
def _retained() -> Tensor:
    x = torch.ones(30, requires_grad=True)
    loss = (x.exp() * 2).sum()
    loss.backward(retain_graph=True)
    return loss


@more("late and unused")
def _late_and_unused() -> None:
    late = torch.ones(2)
    used = torch.ones(2, requires_grad=True)
    alone = torch.ones(2, requires_grad=True)
    other = torch.ones(2, requires_grad=True)
    aside = other * 2
    out = (late * used).sum()
    late.requires_grad_()
    out.backward()
    print(alone, aside)


@more("second order")
def _second_order() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    (g,) = torch.autograd.grad(x**3 + 2 * x**2, x, create_graph=True)
    g.backward()


@more("rebound")
def _rebound() -> None:
    w = torch.ones(2, requires_grad=True)
    (w * 2).sum().backward()
    w = w - 0.1 * w.grad  # type: ignore[operator]
    print(w)


class Raises(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        raise ValueError("no gradient today")


@more("carried state")
def _carried_state() -> None:
    w, h = torch.ones(3, requires_grad=True), torch.zeros(3)
    for _ in range(3):
        h = torch.tanh(h + w)
        h.sum().backward()


@more("numpy")
def _numpy() -> None:
    x = torch.ones(2, requires_grad=True)
    x.numpy()


@more("shapes")
def _shapes() -> None:
    x, y = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3)
    (x @ y).sum().backward()


@more("raised in backward")
def _raised() -> None:
    Raises.apply(torch.ones(2, requires_grad=True)).sum().backward()


@more("grad assigned")
def _assigned() -> None:
    x = torch.ones(3, requires_grad=True)
    x.grad = torch.ones(2)


@more("rounded")
def _rounded() -> None:
    x = torch.ones(3, requires_grad=True)
    (x * 2).round().sum().backward()


@more("edited behind")
def _edited() -> None:
    w = torch.ones(2, requires_grad=True)
    y = w * w
    w.data.mul_(3)
    y.sum().backward()


@more("dead branch")
def _dead_branch() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x / 0
    y = torch.log(x - 1) * 0
    y.sum().backward()
