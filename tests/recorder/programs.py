"""Small programs, each of one kind. Each returns what must be equal whether it is recorded or not."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.checkpoint import checkpoint

Result = Sequence[Any]
PROGRAMS: list[Callable[[], Result]] = []


def program(function: Callable[[], Result]) -> Callable[[], Result]:
    PROGRAMS.append(function)
    return function


@program
def one_layer() -> Result:
    x, y = torch.ones(5), torch.zeros(3)
    w = torch.randn(5, 3, requires_grad=True)
    b = torch.randn(3, requires_grad=True)
    z = torch.matmul(x, w) + b
    loss = F.binary_cross_entropy_with_logits(z, y)
    loss.backward()
    return [z, loss, w.grad, b.grad]


@program
def accumulation() -> Result:
    inp = torch.eye(5, requires_grad=True)
    out = (inp + 1).pow(2)
    seen = []
    for _ in range(2):
        out.backward(torch.ones_like(inp), retain_graph=True)
        assert inp.grad is not None
        seen.append(inp.grad.clone())
    assert inp.grad is not None
    inp.grad.zero_()
    out.backward(torch.ones_like(inp), retain_graph=True)
    return [*seen, inp.grad]


def _net() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2))


def _train(make: Callable[[Any], torch.optim.Optimizer], steps: int = 3) -> Result:
    net = _net()
    optimizer = make(net.parameters())
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.mse_loss(net(torch.randn(6, 4)), torch.randn(6, 2))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return [*losses, *net.parameters(), *net.buffers()]


@program
def sgd() -> Result:
    return _train(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01))


@program
def adam() -> Result:
    return _train(lambda p: torch.optim.Adam(p, lr=0.1, foreach=True))


@program
def adam_fused() -> Result:
    return _train(lambda p: torch.optim.AdamW(p, lr=0.1, fused=True))


@program
def lstm() -> Result:
    net = nn.LSTM(3, 4, num_layers=2)
    out, (h, c) = net(torch.randn(5, 2, 3))
    (out.sum() + h.sum() * c.mean()).backward()
    return [out, h, c, *(p.grad for p in net.parameters())]


@program
def attention() -> Result:
    net = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    x = torch.randn(2, 5, 8)
    out = net(x)
    out.sum().backward()
    net.eval()
    with torch.no_grad():
        fast = net(x)
    return [out, fast, *(p.grad for p in net.parameters())]


@program
def grad_of_grad() -> Result:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    second.sum().backward()
    return [first, second, x.grad]


@program
def inputs_limited() -> Result:
    a, b = (torch.randn(3, requires_grad=True) for _ in range(2))
    c = a * b
    d = c.sin() + b
    d.sum().backward(inputs=[a], retain_graph=True)
    (g,) = torch.autograd.grad(d.sum(), [c], retain_graph=True)
    d.sum().backward(inputs=[c, b])
    return [a.grad, b.grad, g]


@program
def several_roots() -> Result:
    x = torch.randn(4, requires_grad=True)
    a, b = x.exp(), x.sin()
    torch.autograd.backward([a, b, a], [torch.ones(4), 2 * torch.ones(4), torch.ones(4)])
    u, s, v = torch.linalg.svd(torch.randn(3, 3, requires_grad=True))
    torch.autograd.backward([s.sum(), (u[0, 0] * v[0, 0]).abs()])
    return [x.grad, s]


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * x * x * scale

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        return grad * 3 * x * x * ctx.scale, None


@program
def custom_function() -> Result:
    x = torch.randn(3, requires_grad=True)
    y = Cube.apply(x.sin(), 2.0)
    y.sum().backward()
    return [y, x.grad]


@program
def tensor_hooks() -> Result:
    x = torch.randn(3, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g + 1)

    def halve(leaf: Tensor) -> None:
        assert leaf.grad is not None
        leaf.grad.mul_(0.5)

    x.register_post_accumulate_grad_hook(halve)
    (y * y).sum().backward()
    return [x.grad, y.grad]


@program
def node_hooks() -> Result:
    x = torch.randn(3, requires_grad=True)
    y = x.exp()
    z = y.sin()
    log: list[str] = []
    assert y.grad_fn is not None

    def before(grads: Any) -> Any:
        log.append("pre")
        return (grads[0] * 2,)

    def after(grads: Any, _incoming: Any) -> Any:
        log.append("post")
        return (grads[0] * 3,)

    y.grad_fn.register_prehook(before)
    y.grad_fn.register_hook(after)
    z.sum().backward()
    return [x.grad, *log]


@program
def module_hooks() -> Result:
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    log: list[Any] = []

    def note(_module: nn.Module, grads: Any, _outgoing: Any) -> None:
        log.extend(None if g is None else g.clone() for g in grads)

    net[0].register_full_backward_hook(note)
    net.register_forward_hook(lambda m, i, o: o * 2)
    net(torch.randn(2, 3)).sum().backward()
    return [*log, *(p.grad for p in net.parameters())]


@program
def checkpoint_plain() -> Result:
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Dropout(0.5))
    out = checkpoint(net, torch.randn(2, 3), use_reentrant=False)
    out.sum().backward()
    return [out, *(p.grad for p in net.parameters())]


@program
def checkpoint_reentrant() -> Result:
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Dropout(0.5))
    out = checkpoint(net, torch.randn(2, 3, requires_grad=True), use_reentrant=True)
    out.sum().backward()
    return [out, *(p.grad for p in net.parameters())]


@program
def in_place_and_views() -> Result:
    x = torch.randn(4, 4, requires_grad=True)
    y = x.clone()
    top, low = y[:2], y[2:]
    top.mul_(2)
    y[1] = 7
    low.add_(top.sum())
    y.t()[0].exp_()
    (y.sin().sum() + low.sum()).backward()
    return [y, top, low, x.grad]


@program
def multi_output() -> Result:
    x = torch.randn(6, 2, requires_grad=True)
    a, b, _ = x.split(2)
    p, q = a.unbind(1)
    (p.sum() + (q * b[:, 0]).sum()).backward()
    values, places = x.detach().sort()
    return [x.grad, values, places]


@program
def sparse_and_complex() -> Result:
    table = nn.Embedding(5, 3, sparse=True)
    table(torch.tensor([1, 1, 4])).sum().backward()
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    return [table.weight.grad, z.grad]


@program
def untracked() -> Result:
    w = torch.randn(3, requires_grad=True)
    with torch.no_grad():
        a = w * 2
        w -= 0.1
    with torch.inference_mode():
        b = w * 3
    c = (w * 4).detach() * w
    c.sum().backward()
    w.data.mul_(2)
    return [a, b.clone(), c, w, w.grad]


@program
def autocast() -> Result:
    net = nn.Linear(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(torch.randn(2, 4))
    out.float().sum().backward()
    return [out, *(p.grad for p in net.parameters())]


@program
def threads() -> Result:
    x = torch.randn(3, requires_grad=True)
    results: list[Tensor] = []

    def work() -> None:
        y = (x * 2).sum()
        y.backward()
        results.append(y.detach())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return [results[0], x.grad]


@program
def caught_errors() -> Result:
    x = torch.ones(3, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    messages = []
    for attempt in (y.backward, lambda: x.add_(1), (x * 2).backward):
        try:
            attempt()
        except RuntimeError as error:
            messages.append(str(error))
    return [x.grad, *messages]


@program
def functional_transforms() -> Result:
    x = torch.randn(3)
    jacobian = torch.func.jacrev(lambda t: t.sin() * 2)(x)
    rows = torch.vmap(lambda t: (t * t).sum())(torch.randn(4, 3))
    value = torch.func.grad(lambda t: (t**3).sum())(x)
    return [jacobian, rows, value]


@program
def anomaly_and_modes() -> Result:
    x = torch.randn(3, requires_grad=True)
    with torch.autograd.detect_anomaly(check_nan=False):
        (x.exp() * 2).sum().backward()
    with torch.autograd.graph.save_on_cpu():
        (x.exp() * x).sum().backward()
    return [x.grad]


@program
def shared_weight() -> Result:
    w = torch.randn(3, 3, requires_grad=True)
    h = torch.ones(3)
    for _ in range(12):
        h = torch.tanh(h @ w)
    h.sum().backward()
    return [h, w.grad]


@program
def nan_and_inf() -> Result:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    y = torch.where(x > 0, x / x, torch.zeros(2)).sum() + x.sqrt().sum()
    y.backward()
    return [y, x.grad]
