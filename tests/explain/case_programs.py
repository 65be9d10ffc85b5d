"""The rows of the list of cases as programs, each recorded once for all tests of what is said about them."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.checkpoint import checkpoint

from gradviz.recorder import record
from gradviz.trace import Trace

Keep = Callable[[Callable[[], Any]], Callable[[], Any]]
PROGRAMS: dict[str, Callable[[], Any]] = {}
MORE: dict[str, Callable[[], Any]] = {}


def _kept(table: dict[str, Callable[[], Any]], name: str) -> Keep:
    def keep(program: Callable[[], Any]) -> Callable[[], Any]:
        table[name] = program
        return program

    return keep


def _case(name: str) -> Keep:
    return _kept(PROGRAMS, name)


def more(name: str) -> Keep:
    return _kept(MORE, name)


@cache
def trace_of(name: str) -> Trace:
    """The recording of a row. What the program raises is in it, as a fault."""
    recording, result = record(values="all"), None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with recording:
                result = (PROGRAMS | MORE)[name]()
        except Exception:
            assert recording.trace.faults
    del result
    assert recording.problems == []
    trace: Trace = recording.trace
    return trace


@_case("A1")
def _a1() -> None:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    loss.backward()


@_case("A2")
def _a2() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x + x).sum()
    loss.backward()
    loss.backward()


@_case("A3")
def _a3() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    loss.backward()


@_case("A6")
def _a6() -> None:
    w = torch.ones(2, requires_grad=True)
    state = torch.zeros(2)
    for _ in range(3):
        state = torch.tanh(state + w)
        state.sum().backward()
        state = state.detach()


@_case("A7")
def _a7() -> None:
    w = torch.ones(3, requires_grad=True)
    transform = w.exp()
    for _ in range(2):
        loss = (transform * 2).sum()
        loss.backward()


@_case("A9")
def _a9() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


@_case("A10")
def _a10() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x + 1
    y.mul_(2)
    y.sum().backward()


@_case("A11")
def _a11() -> None:
    x = torch.ones(3, requires_grad=True)
    x.mul_(2)


@_case("A13")
def _a13() -> None:
    w = torch.ones(3, requires_grad=True)
    loss = (w * w).sum()
    with torch.no_grad():
        w -= 0.1
    loss.backward()


@_case("A15")
def _a15() -> None:
    x = torch.ones(3, requires_grad=True)
    y = torch.sigmoid(x)
    alias = y.detach()
    alias.zero_()
    y.sum().backward()


@_case("A17")
def _a17() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.sum().backward()
    print(y.grad)


@_case("A18")
def _a18() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()


@_case("A20")
def _a20() -> None:
    w = torch.randn(3, requires_grad=True) * 0.01
    w.sum().backward()


@_case("A22")
def _a22() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.backward()


@_case("A23")
def _a23() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.backward(torch.tensor([1.0, 10.0, 100.0]))


@_case("A24")
def _a24() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.backward(torch.ones(2))


@_case("A25")
def _a25() -> None:
    n = torch.arange(3)
    n.requires_grad_()


@_case("A26")
def _a26() -> None:
    w = torch.ones(3)
    loss = (w * 2).sum()
    loss.backward()


@_case("A26 flag")
def _a26_flag() -> None:
    w = torch.ones(3)
    loss = (w * 2).sum()
    loss.requires_grad_()
    loss.backward()


@_case("A28")
def _a28() -> None:
    x = torch.randn(4, requires_grad=True)
    best = x.argmax()
    score = best * 2.0
    score.backward()


@_case("A29")
def _a29() -> None:
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2, requires_grad=True)
    torch.autograd.grad((b * b).sum(), [a])


@_case("A30")
def _a30() -> None:
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2, requires_grad=True)
    torch.autograd.grad((b * b).sum(), [a, b], allow_unused=True)


@_case("A31")
def _a31() -> None:
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2, requires_grad=True)
    ga, gb = torch.autograd.grad((b * b).sum(), [a, b], allow_unused=True, materialize_grads=True)
    print(ga, gb)


@_case("A32")
def _a32() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    (g,) = torch.autograd.grad(x**3, x, create_graph=True)
    torch.autograd.grad(g, x)


@_case("A34")
def _a34() -> None:
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward(create_graph=True)
    x.grad = None


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad * ctx.factor, None


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        return x * y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad


class Sneaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x.mul_(2)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad


@_case("A35")
def _a35() -> None:
    x = torch.ones(2, requires_grad=True)
    Scale.apply(x, 3.0).sum().backward()


@_case("A35 count")
def _a35_count() -> None:
    x = torch.ones(2, requires_grad=True)
    Wrong.apply(x, x).sum().backward()


@_case("A37")
def _a37() -> None:
    y = torch.ones(2, requires_grad=True) * 1
    Sneaky.apply(y).sum().backward()


@_case("A38")
def _a38() -> None:
    x = torch.tensor([0.3, 0.6], requires_grad=True)
    (g,) = torch.autograd.grad(F.binary_cross_entropy(x, torch.ones(2)), x, create_graph=True)
    torch.autograd.grad(g.sum(), x)


@_case("A40")
def _a40() -> None:
    net = nn.Linear(2, 2)
    x = torch.ones(1, 2)
    checkpoint(lambda t: net(t).tanh(), x, use_reentrant=False).sum().backward()


@_case("A41")
def _a41() -> None:
    x = torch.ones(2, requires_grad=True)
    y = checkpoint(torch.sin, x, use_reentrant=True)
    torch.autograd.grad(y.sum(), x)


@_case("A43")
def _a43() -> None:
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(30):
        y = checkpoint(torch.sin, y, use_reentrant=False)
    y.sum().backward()


@_case("A44")
def _a44() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    (y * 3).sum().backward()


@_case("A45")
def _a45() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True))
    net[0].register_full_backward_hook(lambda m, i, o: None)
    net(torch.ones(1, 2)).sum().backward()


@_case("A47")
def _a47() -> None:
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    (x * w).sum().backward(inputs=[x])


@_case("A48")
def _a48() -> None:
    table = nn.Embedding(5, 2, sparse=True)
    table(torch.tensor([1, 1, 4])).sum().backward()


@_case("A50")
def _a50() -> None:
    z = torch.tensor(1 + 1j, requires_grad=True)
    (z.abs() ** 2).backward()


@_case("A51")
def _a51() -> None:
    z = torch.ones(1, requires_grad=True)
    loss = (z * 1j).sum()
    loss.backward()


@_case("A52")
def _a52() -> None:
    w = torch.tensor(2.0, requires_grad=True)
    (w * 3 + w * w).backward()


@_case("A54")
def _a54() -> None:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    torch.where(x > 0, x / x, torch.zeros(2)).sum().backward()


@_case("A55")
def _a55() -> None:
    x = torch.zeros(2, requires_grad=True)
    (x * x).sum().sqrt().backward()


@_case("A56")
def _a56() -> None:
    x = torch.zeros(2, requires_grad=True)
    x.norm().backward()


@_case("A57")
def _a57() -> None:
    x = torch.zeros(2, requires_grad=True)
    torch.maximum(x, torch.zeros(2)).sum().backward()


@_case("A59")
def _a59() -> None:
    x = torch.ones(2, 2, requires_grad=True) * 1
    a, b = x.unbind(0)
    a.mul_(2)
    b.sum().backward()


@_case("A60")
def _a60() -> None:
    x = torch.ones(3, requires_grad=True) * 1
    with torch.no_grad():
        view = x[:2]
    view.mul_(2)


@_case("A62")
def _a62() -> None:
    with torch.inference_mode():
        x = torch.ones(3)
    w = torch.ones(3, requires_grad=True)
    y = w * x
    y.sum().backward()


@_case("A63")
def _a63() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.requires_grad = False


@_case("A64")
def _a64() -> None:
    net = nn.Linear(2, 2)
    net.cache = net(torch.ones(1, 2))
    copy.deepcopy(net)


@_case("A65")
def _a65() -> None:
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(2.0, requires_grad=True)
    ((a * 2).detach() * b).backward()


@_case("A67 none")
def _a67_none() -> None:
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1, weight_decay=0.5)
    (w * 2).sum().backward()
    optimizer.zero_grad(set_to_none=True)
    optimizer.step()


@_case("A67 zero")
def _a67_zero() -> None:
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1, weight_decay=0.5)
    (w * 2).sum().backward()
    optimizer.zero_grad(set_to_none=False)
    optimizer.step()


@_case("A68")
def _a68() -> Any:
    w = torch.ones(2, requires_grad=True)
    total: Any = 0
    for _ in range(4):
        total = total + (w * w).sum()
    return total


@_case("A70")
def _a70() -> None:
    x = torch.ones(1).expand(3)
    x.add_(1)


@_case("A72")
def _a72() -> None:
    x = torch.ones(4, requires_grad=True)
    a, b = x.split(2)
    (a * 3).sum().backward()
    print(b)


@_case("A73")
def _a73() -> None:
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    values, places = x.sort()
    (values * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    print(places)


@_case("A74")
def _a74() -> None:
    net = nn.Linear(2, 2)
    net.weight.requires_grad_(False)
    net(torch.ones(1, 2)).sum().backward()


@_case("A76")
def _a76() -> None:
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2, requires_grad=True)
    left = a.exp().sin()
    right = b.cos().tanh()
    (left + right).sum().backward()
