"""Programs whose shape broke other visualizers."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from gradviz.trace import open_trace
from gradviz.trace.events import Scope
from tests.cases.helpers import caught, end, op, recorded, runs, same, warned


def _chain(length: int) -> Any:
    def program() -> Tensor:
        x = torch.ones(1, requires_grad=True)
        y = x
        for _ in range(length):
            y = y + 1
        y.backward()
        return x

    return program


@pytest.mark.parametrize("length", [1000, 5000])
def test_v1_chains(length: int) -> None:
    trace, x = recorded(_chain(length), "none")
    assert len(trace.order(0)) == length + 1
    trace, x = recorded(_chain(length))
    assert same(end(trace).grad("x"), x.grad)


@pytest.mark.slow
@pytest.mark.parametrize("length", [100_000, 200_000])
def test_v1_very_long_chains_are_recorded_dropped_and_freed(tmp_path: Path, length: int) -> None:
    program = tmp_path / "chain.py"
    program.write_text(
        f"import torch\nx = y = torch.ones(1, requires_grad=True)\nfor _ in range({length}):\n    y = y + 1\n"
        "y.backward()\ndel y\nprint('freed')\n"
    )
    out = tmp_path / "out.gradviz"
    command = [sys.executable, "-m", "gradviz.recorder", "--values", "none", "-o", str(out), str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout) == (0, "freed\n"), done.stderr
    trace = open_trace(out)
    assert len(trace.order(0)) == length + 1
    assert len(trace.gone_node) >= length


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("count", [300, pytest.param(5000, marks=pytest.mark.slow)])
def test_a43_many_checkpoints_stacked(count: int, reentrant: bool) -> None:
    def program() -> Tensor:
        x = torch.ones(1, requires_grad=True)
        y = x
        for _ in range(count):
            y = checkpoint(torch.sin, y, use_reentrant=reentrant)
        y.sum().backward()
        return x

    trace, x = recorded(program)
    plain = program().grad
    assert plain is not None
    assert torch.equal(x.grad, plain)
    assert same(end(trace).grad("x"), plain)
    assert len([o for o in trace.ops if o.within is not None and o.name == "sin"]) == count


@pytest.mark.parametrize("steps", [20, 50, 200])
def test_v3_unrolled_cell(steps: int) -> None:
    def program() -> Any:
        cell = nn.LSTMCell(3, 4)
        h = c = torch.zeros(2, 4)
        for _ in range(steps):
            h, c = cell(torch.ones(2, 3), (h, c))
        h.sum().backward()
        return cell

    trace, cell = recorded(program)
    assert len([e for e in trace.events if isinstance(e, Scope) and e.enter]) == steps
    assert same(end(trace).grad("weight_hh"), cell.weight_hh.grad)


class Many(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def forward(self, *, x: Tensor) -> dict[str, Any]:
        if x.sum() > 0:
            out = self.inner(x)
            for _ in range(int(x.shape[0])):
                out = out.tanh()
        else:
            out = x
        return {"out": out, "none": None, "nested": [out * 2, (out.sum(), None)], "name": "text"}


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_v4_v15_outputs_of_any_form_and_branches_on_data(sign: float) -> None:
    def program() -> Any:
        net = Many()
        result = net(x=torch.full((3, 2), sign))
        result["nested"][1][0].backward() if sign > 0 else None
        return net

    trace, net = recorded(program)
    assert len([o for o in trace.ops if o.name == "tanh"]) == (3 if sign > 0 else 0)
    assert any(isinstance(e, Scope) and e.cls == "Many" for e in trace.events)
    if sign > 0:
        assert any(isinstance(e, Scope) and e.path == "inner" for e in trace.events)
        assert same(end(trace).grad("inner.weight"), net.inner.weight.grad)


def test_v6_one_tensor_saved_twice() -> None:
    def program() -> Tensor:
        a = torch.ones(2, requires_grad=True)
        b = torch.sin(a)
        return b * b

    trace, _ = recorded(program)
    node = next(n for n in trace.nodes if n.name.startswith("MulBackward"))
    assert [s.tensor for s in node.saved if s.kind == "tensor"] == [trace.named("b")] * 2
    assert {s.name for s in node.saved if s.kind == "tensor"} == {"self", "other"}
    assert {s.storage for s in node.saved if s.kind == "tensor"} != {None}


def test_v7_mean_to_a_scalar_in_the_middle() -> None:
    def program() -> Tensor:
        x = torch.randn(4, requires_grad=True)
        ((x - x.mean()) ** 2).sum().backward()
        return x

    trace, x = recorded(program)
    assert same(end(trace).grad("x"), x.grad)


class Loop:
    def __init__(self) -> None:
        self.me = self
        self.children = [self]

    def __repr__(self) -> str:
        raise AssertionError("the recorder must not ask for this")


class Takes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, what: Any, more: Any) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad * 2, None, None


def test_v8_arguments_that_contain_themselves() -> None:
    def program() -> Tensor:
        x = torch.ones(2, requires_grad=True)
        ring: list[Any] = []
        ring.append(ring)
        y: Tensor = Takes.apply(x, Loop(), ring)
        y.sum().backward()
        return x

    trace, x = recorded(program)
    assert same(end(trace).grad("x"), x.grad)
    assert ("", "<Loop>") in op(trace, "Takes").arguments


class GradInside(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        return (g**2).sum()


def test_v11_grad_inside_forward() -> None:
    def program() -> Tensor:
        x = torch.ones(2, requires_grad=True)
        GradInside()(x).backward()
        return x

    trace, x = recorded(program)
    assert [p.call for p in trace.passes] == ["grad", "backward"]
    assert same(end(trace).grad("x"), x.grad)


def test_v13_reading_a_graph_that_was_freed_or_changed() -> None:
    def program() -> None:
        x = torch.ones(2, requires_grad=True)
        y = Takes.apply(x.exp(), None, None)
        z = y.sin()
        z.sum().backward()
        (z * 2).sum()
        y.detach().add_(1)
        (z.cos() + y).sum()

    trace, _ = recorded(program)
    assert trace.faults == []
    statuses = {trace.nodes[i].name: trace.at(trace.steps - 1).status(i) for i in trace.order(0)}
    assert statuses["SinBackward0"] in ("freed", "gone")


def test_v16_what_cannot_be_seen_is_said() -> None:
    def program() -> Any:
        x = torch.randn(3, 2)
        rows = torch.vmap(lambda t: t.sin().sum())(x)
        sparse = torch.eye(3).to_sparse()
        product = torch.sparse.mm(sparse, x.requires_grad_())
        product.sum().backward()
        return rows, x

    trace, (_, x) = recorded(program)
    assert warned(trace, "unseen")
    assert same(end(trace).grad("x"), x.grad)


def test_v16_scripted_module() -> None:
    def program() -> Any:
        net = torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2))
        x = torch.ones(1, 2, requires_grad=True)
        net(x).sum().backward()
        return x

    trace, x = recorded(program)
    assert warned(trace, "unseen")
    assert same(end(trace).grad("x"), x.grad)


def test_v16_data_parallel() -> None:
    def program() -> Any:
        net = nn.DataParallel(nn.Linear(2, 2))
        net(torch.ones(1, 2)).sum().backward()
        return net.module

    trace, net = recorded(program)
    assert same(end(trace).grad("module.weight"), net.weight.grad)


def test_v16_compiled_function_is_not_recompiled_and_is_said_to_be_unseen() -> None:
    counted: list[int] = []

    def backend(graph: Any, _inputs: Any) -> Any:
        counted.append(1)
        return graph.forward

    def program() -> Any:
        torch._dynamo.reset()
        counted.clear()
        function = torch.compile(lambda t: (t.sin() * 2).sum(), backend=backend)
        x = torch.ones(3, requires_grad=True)
        for _ in range(3):
            function(x).backward()
        return x, len(counted)

    plain = program()
    trace, (x, compiled) = recorded(program)
    assert compiled == plain[1] == 1
    assert same(end(trace).grad("x"), plain[0].grad)
    assert same(end(trace).grad("x"), x.grad)
    assert warned(trace, "unseen")


def test_v17_reentrant_checkpoint_shows_its_inner_nodes() -> None:
    def program() -> Any:
        net = nn.Linear(2, 2)
        x = torch.ones(1, 2, requires_grad=True)
        checkpoint(lambda t: net(t).tanh(), x, use_reentrant=True).sum().backward()
        return net

    trace, net = recorded(program)
    outer, inner = trace.passes
    assert inner.parent == outer.id
    assert inner.parent_node is not None
    assert trace.nodes[inner.parent_node].name == "CheckpointFunctionBackward"
    assert {"TanhBackward0", "AddmmBackward0"} <= {trace.nodes[n].name for n in trace.order(inner.id)}
    assert len(runs(trace, "CheckpointFunction")) == 1
    assert same(end(trace).grad("weight"), net.weight.grad)


def test_v20_names_stay_with_their_tensors() -> None:
    def program() -> Any:
        net = nn.Linear(2, 2)
        net(torch.ones(1, 2)).sum().backward()
        net.weight.data = torch.zeros(2, 2)
        net.renamed = net.weight
        net(torch.ones(1, 2)).sum().backward()
        return net

    trace, net = recorded(program)
    weight = trace.named("weight")
    assert weight is not None
    assert trace.name(weight) == "net.weight"
    assert same(end(trace).value("weight"), net.weight)
    assert same(end(trace).grad("weight"), net.weight.grad)


def test_threads_are_told_apart() -> None:
    def program() -> list[float]:
        results: list[float] = []

        def work(k: float) -> None:
            x = torch.full((2,), k, requires_grad=True)
            (x * x).sum().backward()
            assert x.grad is not None
            results.append(x.grad.sum().item())

        threads = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sorted(results)

    trace, results = recorded(program)
    assert results == [0, 4, 8, 12]
    assert len(trace.passes) == 4
    for run in trace.passes:
        assert trace.order(run.id) == list(run.planned)
    assert len({o.thread for o in trace.ops}) >= 1


def test_nothing_is_told_of_an_error_outside_pytorch_that_is_handled() -> None:
    assert caught(lambda: dict[int, int]()[1]) is not None  # `caught` itself works
    trace, _ = recorded(lambda: torch.ones(1))
    assert trace.faults == []
