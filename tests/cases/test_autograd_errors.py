"""Programs at which people got stuck because PyTorch raised."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from gradviz.trace.events import Freed
from tests.cases.helpers import end, fails, grads, node, op, recorded, runs


def test_a1_backward_twice() -> None:
    def program() -> None:
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        loss = (x * x).sum()
        loss.backward()
        loss.backward()

    trace, fault = fails(program)
    assert fault.code == "freed_graph"
    assert fault.node is not None
    assert trace.nodes[fault.node].name == "MulBackward0"
    assert any(isinstance(e, Freed) and e.node == fault.node and e.within == 0 for e in trace.events)
    assert [trace.nodes[n].name for n in trace.order(1)] == ["SumBackward0"]
    assert len(grads(trace, "x")) == 1


def test_a7_transform_outside_the_loop_is_freed_by_the_first_iteration() -> None:
    def program() -> None:
        w = torch.ones(3, requires_grad=True)
        h = w.exp()
        for _ in range(2):
            loss = (h * 2).sum()
            loss.backward()

    trace, fault = fails(program)
    assert fault.code == "freed_graph"
    assert fault.node is not None
    made_by = trace.nodes[fault.node].op
    assert made_by is not None
    assert trace.ops[made_by].text == "w.exp()"
    assert fault.facts["freed_by"] == 0


def test_a9_a_saved_output_modified() -> None:
    def program() -> None:
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        y.add_(1)
        y.sum().backward()

    _, fault = fails(program)
    assert fault.code == "version_mismatch"
    assert (fault.facts["saved_version"], fault.facts["version"]) == (0, 1)
    assert (fault.facts["saved_text"], fault.facts["changed_text"]) == ("x.exp()", "y.add_(1)")


def test_a11_in_place_on_a_leaf() -> None:
    def program() -> None:
        x = torch.ones(3, requires_grad=True)
        x.mul_(2)

    trace, fault = fails(program)
    assert fault.code == "leaf_inplace"
    assert fault.text == "x.mul_(2)"
    assert end(trace).value("x").tolist() == [1, 1, 1]


def test_a13_leaf_changed_under_no_grad_after_being_saved() -> None:
    def program() -> None:
        w = torch.ones(3, requires_grad=True)
        loss = (w * w).sum()
        with torch.no_grad():
            w -= 0.1
        loss.backward()

    _, fault = fails(program)
    assert fault.code == "version_mismatch"
    assert fault.facts["tensor"] == "w"
    assert (fault.facts["saved_text"], fault.facts["changed_text"]) == ("w * w", "w -= 0.1")


def test_a15_zeroed_through_a_detached_alias() -> None:
    def program() -> None:
        x = torch.ones(3, requires_grad=True)
        y = torch.sigmoid(x)
        alias = y.detach()
        alias.zero_()
        y.sum().backward()

    trace, fault = fails(program)
    assert fault.code == "version_mismatch"
    assert fault.facts["changed_text"] == "alias.zero_()"
    y, alias = trace.named("y"), trace.named("alias")
    assert y is not None and alias is not None
    told_y, told_alias = trace.tensor(y), trace.tensor(alias)
    assert told_y is not None and told_alias is not None
    assert told_y.storage == told_alias.storage
    assert end(trace).value("y").tolist() == [0, 0, 0]


def test_a22_backward_on_a_vector() -> None:
    def program() -> None:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.backward()

    _, fault = fails(program)
    assert fault.code == "non_scalar_root"
    assert fault.facts["shape"] == [3]


def test_a24_gradient_of_wrong_shape() -> None:
    def program() -> None:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.backward(torch.ones(2))

    _, fault = fails(program)
    assert fault.code == "grad_shape"
    assert (fault.facts["got"], fault.facts["expected"]) == ("[2]", "[3]")


def test_a25_integers_cannot_require_grad() -> None:
    _, fault = fails(lambda: torch.arange(3).requires_grad_())
    assert fault.code == "flag_change"


def test_a26_loss_without_a_path() -> None:
    def program() -> None:
        w = torch.ones(3)
        loss = (w * 2).sum()
        loss.backward()

    trace, fault = fails(program)
    assert fault.code == "no_grad_path"
    assert all(o.untracked == "no_input_requires_grad" for o in trace.ops if o.inputs)


def test_a26_flag_set_on_the_loss_trains_nothing() -> None:
    def program() -> Tensor:
        w = torch.ones(3)
        loss = (w * 2).sum()
        loss.requires_grad_()
        loss.backward()
        return w

    trace, w = recorded(program)
    assert w.grad is None
    (run,) = trace.passes
    assert [trace.nodes[n].name for n in trace.order(run.id)] == ["AccumulateGrad"]
    assert trace.nodes[run.roots[0]].leaf == trace.named("loss")
    assert end(trace).grad("w") is None


def test_a29_unused_tensor() -> None:
    def program() -> None:
        a = torch.ones(2, requires_grad=True)
        b = torch.ones(2, requires_grad=True)
        torch.autograd.grad((b * b).sum(), [a])

    trace, fault = fails(program)
    assert fault.code == "unused_input"
    assert fault.facts == {"index": 0, "name": "a"}
    assert all(n.leaf != trace.named("a") for n in trace.nodes)


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        return x * y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad


def test_a35_custom_backward_with_the_wrong_count() -> None:
    def program() -> None:
        x = torch.ones(2, requires_grad=True)
        Wrong.apply(x, x).sum().backward()

    trace, fault = fails(program)
    assert fault.code == "custom_backward"
    assert fault.node is not None
    assert str(trace.nodes[fault.node].custom).endswith("Wrong")


def test_a41_reentrant_checkpoint_under_grad() -> None:
    def program() -> None:
        x = torch.ones(2, requires_grad=True)
        y = checkpoint(torch.sin, x, use_reentrant=True)
        torch.autograd.grad(y.sum(), x)

    trace, fault = fails(program)
    assert fault.node is not None
    assert trace.nodes[fault.node].name == "CheckpointFunctionBackward"


def test_a45_full_backward_hook_and_in_place_relu() -> None:
    def program() -> None:
        net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True))
        net[0].register_full_backward_hook(lambda m, i, o: None)
        net(torch.ones(1, 2)).sum().backward()

    _, fault = fails(program)
    assert "view" in fault.message
    assert "inplace" in fault.message


def test_a51_complex_loss() -> None:
    def program() -> None:
        z = torch.ones(1, requires_grad=True)
        loss = (z * 1j).sum()
        loss.backward()

    _, fault = fails(program)
    assert fault.code == "non_scalar_root"
    assert "real scalar" in fault.message


def test_a59_unbind_then_in_place() -> None:
    def program() -> None:
        x = torch.ones(2, 2, requires_grad=True) * 1
        a, b = x.unbind(0)
        a.mul_(2)
        b.sum().backward()

    trace, fault = fails(program)
    assert fault.op is not None
    assert trace.ops[fault.op].text == "a.mul_(2)"
    a, b = (trace.named(n) for n in "ab")
    assert a is not None and b is not None
    told = [trace.tensor(i) for i in (a, b)]
    assert all(t is not None and t.base is not None for t in told)
    assert len({t.node for t in told if t is not None}) == 1
    assert [t.output_nr for t in told if t is not None] == [0, 1]


def test_a60_view_made_in_no_grad_then_in_place() -> None:
    def program() -> None:
        x = torch.ones(3, requires_grad=True) * 1
        with torch.no_grad():
            view = x[:2]
        view.mul_(2)

    trace, fault = fails(program)
    assert fault.text == "view.mul_(2)"
    assert op(trace, "getitem").text == "x[:2]"
    assert op(trace, "getitem").untracked == "no_grad" or op(trace, "getitem").outputs


def test_a62_inference_tensor_used_in_autograd() -> None:
    def program() -> None:
        with torch.inference_mode():
            x = torch.ones(3)
        w = torch.ones(3, requires_grad=True)
        y = w * x
        y.sum().backward()

    trace, fault = fails(program)
    assert fault.code == "inference_tensor"
    x = trace.named("x")
    assert x is not None
    told = trace.tensor(x)
    assert told is not None
    assert told.inference
    assert told.version is None


def test_a63_flag_of_a_non_leaf() -> None:
    def program() -> None:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.requires_grad = False

    _, fault = fails(program)
    assert fault.code == "flag_change"
    assert fault.facts["name"] == "y"
    assert fault.facts["is_leaf"] is False


def test_a64_deepcopy_of_a_module_that_keeps_a_non_leaf() -> None:
    def program() -> None:
        net = nn.Linear(2, 2)
        net.cache = net(torch.ones(1, 2))
        copy.deepcopy(net)

    _, fault = fails(program)
    assert "deepcopy" in fault.message


def test_a70_expand_then_in_place() -> None:
    def program() -> None:
        x = torch.ones(1).expand(3)
        x.add_(1)

    _, fault = fails(program)
    assert fault.text == "x.add_(1)"
    assert "memory location" in fault.message


def test_a2_nothing_saved_may_run_twice() -> None:
    def program() -> Tensor:
        x = torch.ones(2, requires_grad=True)
        y = (x + x).sum()
        y.backward()
        y.backward()
        return x

    trace, x = recorded(program)
    assert trace.faults == []
    assert x.grad is not None
    assert x.grad.tolist() == end(trace).grad("x").tolist()
    assert len(grads(trace, "x")) == 2
    assert not any(s.kind == "tensor" for s in node(trace, "AddBackward0").saved)
    assert not any(isinstance(e, Freed) for e in trace.events)
    assert len(runs(trace, "AddBackward0")) == 2
