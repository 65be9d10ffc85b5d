"""Programs that work and whose result surprised somebody: what the recording says is what PyTorch did."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.checkpoint import checkpoint

from gradviz.trace import to_numpy
from gradviz.trace.events import Gone, Grad, Named, Value
from tests.cases.helpers import end, grads, node, op, recorded, runs, same, warned


def test_a3_retained_and_run_again() -> None:
    def program() -> Tensor:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = (x * x).sum()
        y.backward(retain_graph=True)
        y.backward()
        return x

    trace, x = recorded(program)
    first, second = grads(trace, "x")
    assert first.before is None
    assert first.after == second.before
    assert second.added is not None and second.after is not None and second.before is not None
    assert np.array_equal(to_numpy(second.before) + to_numpy(second.added), to_numpy(second.after))
    assert same(to_numpy(second.after), x.grad)


def test_a6_state_detached_between_iterations() -> None:
    def program() -> Tensor:
        w = torch.ones(2, requires_grad=True)
        h = torch.zeros(2)
        for _ in range(3):
            h = torch.tanh(h + w)
            h.sum().backward()
            h = h.detach()
        return w

    trace, w = recorded(program)
    assert len(trace.passes) == 3
    assert same(end(trace).grad("w"), w.grad)
    assert op(trace, "detach").untracked == "detached"
    assert all(len(trace.order(i)) == len(trace.order(1)) for i in (1, 2))


def test_a10_rewritten_history_without_alarm() -> None:
    def program() -> Tensor:
        x = torch.ones(3, requires_grad=True)
        y = x + 1
        y.mul_(2)
        y.sum().backward()
        return x

    trace, x = recorded(program)
    assert trace.faults == []
    assert warned(trace, "data_edit") == []
    y = trace.named("y")
    assert y is not None
    told = trace.tensor(y)
    assert told is not None and told.node is not None
    assert trace.nodes[told.node].name.startswith("MulBackward")
    assert op(trace, "mul_").writes == (y,)
    assert same(end(trace).grad("x"), x.grad)


def test_a17_grad_of_a_non_leaf_is_none() -> None:
    def program() -> Tensor:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.sum().backward()
        assert y.grad is None
        return y

    trace, _ = recorded(program)
    y = trace.named("y")
    assert y is not None
    told = trace.tensor(y)
    assert told is not None
    assert not told.is_leaf
    assert not told.retains_grad
    assert end(trace).grad("y") is None
    (run,) = runs(trace, "MulBackward")
    assert run.gin[0] is not None
    assert to_numpy(run.gin[0]).tolist() == [1, 1, 1]


def test_a18_retained_grad() -> None:
    def program() -> Tensor:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.retain_grad()
        (y * y).sum().backward()
        return y

    trace, y = recorded(program)
    (grad,) = grads(trace, "y")
    assert grad.cause == "retain"
    assert same(end(trace).grad("y"), y.grad)
    told = trace.tensor(grad.tensor)
    assert told is not None
    assert told.retains_grad


def test_a20_scaled_leaf_is_no_leaf() -> None:
    def program() -> Tensor:
        w = torch.randn(3, requires_grad=True) * 0.01
        w.sum().backward()
        return w

    trace, w = recorded(program)
    number = trace.named("w")
    assert number is not None
    told = trace.tensor(number)
    assert told is not None
    assert told.is_leaf == w.is_leaf is False
    assert end(trace).grad("w") is None
    (leaf,) = [n.leaf for n in trace.nodes if n.leaf is not None]
    assert leaf != number
    assert end(trace).grad(leaf) is not None


def test_a23_gradient_argument() -> None:
    v = torch.tensor([1.0, 10.0, 100.0])

    def program() -> Tensor:
        x = torch.ones(3, requires_grad=True)
        (x * 2).backward(v)
        return x

    trace, x = recorded(program)
    (seed,) = trace.passes[0].seeds
    assert seed is not None
    assert same(to_numpy(seed), v)
    assert trace.passes[0].implicit == (False,)
    assert same(end(trace).grad("x"), x.grad)


def test_a28_argmax_in_the_path() -> None:
    def program() -> Tensor:
        x = torch.randn(4, requires_grad=True)
        return x.argmax()

    trace, _ = recorded(program)
    assert op(trace, "argmax").untracked == "not_differentiable"


def test_a30_allow_unused_gives_none() -> None:
    def program() -> Any:
        a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
        return torch.autograd.grad((b * b).sum(), [a, b], allow_unused=True)

    trace, (ga, gb) = recorded(program)
    assert ga is None
    (run,) = trace.passes
    assert run.call == "grad"
    assert run.inputs is not None
    assert len(run.inputs) == 2
    reached = {n.leaf for n in trace.nodes}
    assert run.inputs[0] not in reached
    assert run.inputs[1] in reached
    assert gb is not None


def test_a31_materialized_zeros_come_from_no_node() -> None:
    def program() -> Any:
        a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
        return torch.autograd.grad((b * b).sum(), [a, b], allow_unused=True, materialize_grads=True)

    trace, (ga, _) = recorded(program)
    assert ga.tolist() == [0, 0]
    assert trace.passes[0].inputs is not None
    assert trace.passes[0].inputs[0] not in {n.leaf for n in trace.nodes}


def test_a32_grad_of_grad_knows_its_parents() -> None:
    def program() -> Tensor:
        x = torch.tensor(2.0, requires_grad=True)
        (g,) = torch.autograd.grad(x**3, x, create_graph=True)
        (h,) = torch.autograd.grad(g, x)
        assert (g.item(), h.item()) == (12, 12)
        return x

    trace, _ = recorded(program)
    born = [n for n in trace.nodes if n.within == 0]
    assert born
    assert all(n.parent is not None and trace.nodes[n.parent].name.startswith("PowBackward") for n in born)
    assert [p.create_graph for p in trace.passes] == [True, False]
    assert set(trace.order(1)) & {n.id for n in born}


def test_a34_backward_with_create_graph_warns() -> None:
    def program() -> None:
        x = torch.ones(2, requires_grad=True)
        (x * x).sum().backward(create_graph=True)
        x.grad = None

    recording_trace, _ = _with_warnings(program)
    (warning,) = [w for w in recording_trace.warnings if w.code == "python"]
    assert "reference cycle" in warning.message
    assert warning.text == "(x * x).sum().backward(create_graph=True)"


def _with_warnings(program: Callable[[], Any]) -> Any:
    from gradviz.recorder import record

    recording = record(values="all")
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="reference cycle"), recording:
            result = program()
    finally:
        torch.set_warn_always(False)
    return recording.trace, result


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad * ctx.factor, None


def test_a35_none_for_an_argument_that_is_no_tensor() -> None:
    def program() -> Tensor:
        x = torch.ones(2, requires_grad=True)
        Scale.apply(x, 3.0).sum().backward()
        return x

    trace, x = recorded(program)
    (run,) = runs(trace, "ScaleBackward")
    assert len(run.gout) == len(trace.nodes[run.node].edges)
    assert run.gout[0] is not None
    assert run.gout[1:] in ((), (None,))
    assert same(end(trace).grad("x"), x.grad)
    inner = [o for o in trace.ops if o.within == 0]
    assert inner
    assert inner[-1].within_node == run.node


class Sneaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x.mul_(2)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad


def test_a37_in_place_without_mark_dirty() -> None:
    def program() -> None:
        y = torch.ones(2, requires_grad=True) * 1
        Sneaky.apply(y).sum().backward()

    trace, _ = recorded(program)
    (warning,) = [w for w in warned(trace, "data_edit") if w.facts.get("mark_dirty") is False]
    assert warning.tensor == trace.named("y")


def test_a38_double_backward_through_bce() -> None:
    def program() -> Any:
        x = torch.tensor([0.3, 0.6], requires_grad=True)
        (g,) = torch.autograd.grad(F.binary_cross_entropy(x, torch.ones(2)), x, create_graph=True)
        return torch.autograd.grad(g.sum(), x)

    trace, (second,) = recorded(program)
    assert [trace.nodes[n].name.split("0")[0] for n in trace.order(1)]
    last = [e for e in trace.events if isinstance(e, Value)][-1]
    assert same(to_numpy(last.data), second)


def test_a40_checkpoint_recomputes_inside_a_node() -> None:
    def program() -> Any:
        net = nn.Linear(2, 2)
        x = torch.ones(1, 2)
        checkpoint(lambda t: net(t).tanh(), x, use_reentrant=False).sum().backward()
        return net

    trace, net = recorded(program)
    assert net.weight.grad is not None
    again = [o for o in trace.ops if o.within == 0]
    assert {"linear", "tanh"} <= {o.name for o in again}
    assert all(o.within_node is not None for o in again)


def test_a44_tensor_hook_scales() -> None:
    def program() -> Tensor:
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: g * 10)
        (y * 3).sum().backward()
        return x

    trace, x = recorded(program)
    changed = [r for r in runs(trace, "MulBackward") if r.gin_before is not None]
    (run,) = changed
    assert run.gin_before is not None
    before, after = run.gin_before[0], run.gin[0]
    assert before is not None and after is not None
    assert np.array_equal(to_numpy(before) * 10, to_numpy(after))
    assert same(end(trace).grad("x"), x.grad)


def test_a47_inputs_limit_the_pass() -> None:
    def program() -> Any:
        x, w = (torch.ones(2, requires_grad=True) for _ in range(2))
        (x * w).sum().backward(inputs=[x])
        return x, w

    trace, (_, w) = recorded(program)
    assert w.grad is None
    ran = {trace.nodes[n].leaf for n in trace.order(0)}
    assert trace.passes[0].inputs is not None
    assert trace.passes[0].inputs[0] in ran
    assert len({n.leaf for n in trace.nodes if n.leaf is not None} - ran) == 1


def test_a48_sparse_embedding() -> None:
    def program() -> Any:
        table = nn.Embedding(5, 2, sparse=True)
        table(torch.tensor([1, 1, 4])).sum().backward()
        return table.weight

    trace, weight = recorded(program)
    (grad,) = [e for e in trace.events if isinstance(e, Grad)]
    assert grad.after is not None
    assert grad.after.layout == "sparse_coo"
    indices, values = grad.after.parts
    assert to_numpy(indices).tolist() == weight.grad._indices().tolist()
    assert to_numpy(values).shape[0] == weight.grad._nnz()
    assert same(to_numpy(grad.after), weight.grad)


def test_a50_complex_leaf() -> None:
    def program() -> Tensor:
        z = torch.tensor(1 + 1j, requires_grad=True)
        (z.abs() ** 2).backward()
        return z

    trace, z = recorded(program)
    assert z.grad is not None
    assert end(trace).grad("z").item() == z.grad.item()


def test_a52_two_edges_into_one_accumulation() -> None:
    def program() -> Tensor:
        w = torch.tensor(2.0, requires_grad=True)
        (w * 3 + w * w).backward()
        return w

    trace, w = recorded(program)
    assert w.grad is not None
    accumulate = node(trace, "AccumulateGrad")
    edges = [e for n in trace.nodes for e in n.edges if e[0] == accumulate.id]
    assert len(edges) == 3
    assert end(trace).grad("w").item() == w.grad.item() == 7


def test_a54_masked_away_is_still_nan() -> None:
    def program() -> Tensor:
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        torch.where(x > 0, x / x, torch.zeros(2)).sum().backward()
        return x

    trace, x = recorded(program)
    forward = [w for w in warned(trace, "nan") if w.op is not None]
    assert [trace.ops[w.op].text for w in forward if w.op is not None] == ["x / x"]
    backward = [w for w in warned(trace, "nan") if w.node is not None] + warned(trace, "inf")
    assert any(w.node is not None and trace.nodes[w.node].name.startswith("DivBackward") for w in backward)
    assert same(end(trace).grad("x"), x.grad)


def test_a55_square_root_at_zero() -> None:
    def program() -> Tensor:
        x = torch.zeros(2, requires_grad=True)
        (x * x).sum().sqrt().backward()
        return x

    trace, x = recorded(program)
    assert x.grad is not None
    assert x.grad.isnan().all()
    (sqrt,) = runs(trace, "SqrtBackward")
    (mul,) = runs(trace, "MulBackward")
    assert sqrt.gout[0] is not None
    assert sqrt.gout[0].inf == 1
    assert any(d is not None and d.nan == 2 for d in mul.gout)
    assert [w.node for w in warned(trace, "nan")] == [mul.node]


def _at_zero(function: Callable[[Tensor], Tensor]) -> Callable[[], Tensor]:
    def program() -> Tensor:
        x = torch.zeros(2, requires_grad=True)
        function(x).sum().backward()
        return x

    return program


@pytest.mark.parametrize(
    "function",
    [torch.norm, torch.relu, lambda x: torch.maximum(x, torch.zeros(2)), lambda x: x.clamp(min=0), torch.abs],
    ids=["a56-norm", "a57-relu", "a57-maximum", "a57-clamp", "a57-abs"],
)
def test_a56_a57_subgradients_are_whatever_pytorch_says(function: Callable[[Tensor], Tensor]) -> None:
    trace, x = recorded(_at_zero(function))
    assert same(end(trace).grad("x"), x.grad)
    assert warned(trace, "nan") == []


def test_a65_cut_by_detach() -> None:
    def program() -> Any:
        a, b = (torch.tensor(2.0, requires_grad=True) for _ in range(2))
        ((a * 2).detach() * b).backward()
        return a, b

    trace, (a, b) = recorded(program)
    assert a.grad is None
    assert op(trace, "detach").untracked == "detached"
    leaves = [n.leaf for n in trace.nodes if n.leaf is not None]
    told = [end(trace).grad(leaf) for leaf in leaves]
    assert sum(g is not None for g in told) == 1
    assert b.grad.item() == next(g.item() for g in told if g is not None)


@pytest.mark.parametrize("to_none", [True, False])
def test_a67_none_and_zero_differ(to_none: bool) -> None:
    def program() -> Tensor:
        w = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1, weight_decay=0.5)
        (w * 2).sum().backward()
        optimizer.zero_grad(set_to_none=to_none)
        optimizer.step()
        return w

    trace, w = recorded(program)
    last = grads(trace, "w")[-1]
    assert last.cause == ("none" if to_none else "zero")
    assert (last.after is None) == to_none == (w.grad is None)
    assert same(end(trace).value("w"), w)


def test_a68_graph_grows_with_a_running_total() -> None:
    def program() -> Any:
        w = torch.ones(2, requires_grad=True)
        total: Any = 0
        for _ in range(4):
            total = total + (w * w).sum()
        return total

    trace, total = recorded(program)
    alive = len(trace.nodes) - sum(len(e.nodes) for e in trace.events if isinstance(e, Gone))
    assert total.grad_fn is not None
    assert alive == len(trace.nodes)

    def losses() -> None:
        for _ in range(4):
            (torch.ones(2, requires_grad=True) * 2).sum().item()

    loops, _ = recorded(losses)
    gone = {n for e in loops.events if isinstance(e, Gone) for n in e.nodes}
    assert gone == {n.id for n in loops.nodes}


def test_a72_half_of_a_split() -> None:
    def program() -> Tensor:
        x = torch.ones(4, requires_grad=True)
        a, _ = x.split(2)
        (a * 3).sum().backward()
        return x

    trace, x = recorded(program)
    (run,) = runs(trace, "SplitBackward")
    assert [d is None for d in run.gin] == [False, True]
    assert same(end(trace).grad("x"), x.grad)


def test_a73_sort() -> None:
    def program() -> Tensor:
        x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
        values, places = x.sort()
        (values * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
        assert not places.requires_grad
        return x

    trace, x = recorded(program)
    places = trace.named("places")
    assert places is not None
    told = trace.tensor(places)
    assert told is not None
    assert not told.requires_grad
    assert told.node is None
    assert same(end(trace).grad("x"), x.grad)


def test_a74_frozen_weight() -> None:
    def program() -> Any:
        net = nn.Linear(2, 2)
        net.weight.requires_grad_(False)
        net(torch.ones(1, 2)).sum().backward()
        return net

    trace, net = recorded(program)
    assert net.weight.grad is None
    weight = trace.named("weight")
    assert weight is not None
    told = trace.tensor(weight)
    assert told is not None
    assert not told.requires_grad
    assert end(trace).grad("weight") is None
    assert same(end(trace).grad("bias"), net.bias.grad)


def test_a76_two_branches_in_the_engines_order() -> None:
    names: list[str] = []

    def program() -> None:
        a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
        left, right = a.exp().sin(), b.cos().tanh()
        stack, known = [(left + right).sum().grad_fn], set()
        root = stack[0]
        while stack:
            current = stack.pop()
            if current is None or current in known:
                continue
            known.add(current)
            name = current.name().rpartition("::")[2]
            current.register_hook(lambda *_, name=name: names.append(name))
            stack += [n for n, _ in current.next_functions]
        assert root is not None
        torch.autograd.backward(torch.autograd.graph.GradientEdge(root, 0), torch.tensor(1.0))

    trace, _ = recorded(program)
    assert [trace.nodes[n].name for n in trace.order(0)] == names


def test_names_follow_their_last_meaning() -> None:
    def program() -> None:
        x = torch.ones(1)
        x = x + 1
        x = x * 3

    trace, _ = recorded(program)
    bound = [e.tensor for e in trace.events if isinstance(e, Named) and e.name == "x"]
    assert len(set(bound)) == 3
    assert end(trace).value("x").tolist() == [6]
    assert same(trace.at(1).value("x"), torch.ones(1))
