"""The examples' texts are run by plain Python; PyTorch says what their gradients are."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest
import torch

from gradviz.player.forms import ACTIVATIONS, DTYPES, LOSSES, Accumulation, OneLayer, Seed, seed_text

DEFAULT = """import torch
torch.manual_seed(0)
x = torch.ones(5)
y = torch.zeros(3)
w = torch.randn(5, 3, requires_grad=True)
b = torch.randn(3, requires_grad=True)
z = torch.matmul(x, w) + b
loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
loss.backward(retain_graph=True)
"""


def run(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(source, "<form>", "exec"), names)
    return names


def test_the_one_layer_program_is_the_text_book_one() -> None:
    assert OneLayer().source() == DEFAULT
    names = run(DEFAULT)
    assert names["w"].grad.shape == (5, 3) and names["b"].grad.shape == (3,)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_network_gives_every_leaf_a_gradient(activation: Any, loss: Any) -> None:
    names = run(OneLayer(inputs=4, outputs=2, activation=activation, loss=loss, seed=3).source())
    assert names["x"].shape == (4,) and names["z"].shape == (2,)
    assert names["w"].grad is not None and names["b"].grad is not None
    assert names["loss"].shape == ()


@pytest.mark.parametrize("dtype", DTYPES)
def test_types_and_bias(dtype: str) -> None:
    names = run(OneLayer(bias=False, dtype=dtype).source())
    assert names["w"].grad.dtype == getattr(torch, dtype)
    assert "b" not in names


def test_seed_decides_the_numbers() -> None:
    first, again, other = (run(OneLayer(seed=s).source())["w"] for s in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_device_is_written_into_the_text() -> None:
    assert 'device="meta"' in OneLayer(device="meta").source()
    assert run(OneLayer(device="meta").source())["w"].grad.device.type == "meta"


def test_accumulation_is_what_pytorch_says_call_by_call() -> None:
    source = Accumulation().source()
    assert source.startswith("import torch\ninp = torch.eye(5, requires_grad=True)\nout = (inp + 1).pow(2)\n")
    lines = source.splitlines(keepends=True)
    calls = [k for k, line in enumerate(lines) if "backward" in line]
    assert len(calls) == 3 and lines[calls[2] - 1] == "inp.grad.zero_()\n"
    seen = [run("".join(lines[: k + 1]))["inp"].grad for k in calls]
    for grad, diagonal, rest in zip(seen, (4, 8, 4), (2, 4, 2), strict=True):
        assert torch.equal(grad, torch.full((5, 5), float(rest)) + torch.eye(5) * (diagonal - rest))


def test_one_call_zeroes_nothing() -> None:
    source = Accumulation(calls=1, size=2, offset=0.5, power=3).source()
    assert "zero_" not in source
    inp = torch.eye(2, requires_grad=True)
    (inp + 0.5).pow(3).sum().backward()
    assert inp.grad is not None
    assert torch.equal(run(source)["inp"].grad, inp.grad)


@pytest.mark.parametrize("size", [3, 9])
def test_one_hot_gradient_picks_one_element(size: int) -> None:
    form = Accumulation(size=size, calls=1, gradient=Seed("one_hot", index=(1, 2)))
    grad = run(form.source())["inp"].grad
    assert grad.nonzero().tolist() == [[1, 2]] and grad[1, 2] == 2


def test_a_small_one_hot_gradient_is_written_out() -> None:
    assert seed_text(Seed("one_hot", index=(1, 0)), "out", (2, 2)) == "out.new_tensor([[0, 0], [1, 0]])"
    assert "[[[0], [0]], [[0], [1]]]" in seed_text(Seed("one_hot", index=(1, 1, 0)), "out", (2, 2, 1))


@pytest.mark.parametrize("shape", [(100, 100), (0,)])
def test_a_large_one_hot_gradient_is_not(shape: tuple[int, ...]) -> None:
    assert len(seed_text(Seed("one_hot", index=(0,) * len(shape)), "out", shape)) < 120


def test_typed_gradients() -> None:
    typed = "[[1, 2], [3, 4.5]]"
    grad = run(Accumulation(size=2, calls=1, offset=0, gradient=Seed("typed", typed=typed)).source())["inp"].grad
    assert grad.tolist() == [[2, 0], [0, 9]]
    same = run(Accumulation(size=2, calls=1, offset=0, gradient=Seed("typed", typed="0.5")).source())["inp"].grad
    assert same.tolist() == [[1, 0], [0, 1]]


def test_typed_gradients_may_be_nan_or_inf() -> None:
    typed = Seed("typed", typed="[[nan, -inf], [float('inf'), 1]]")
    grad = run(Accumulation(size=2, calls=1, offset=1, gradient=typed).source())["inp"].grad
    inp = torch.eye(2, requires_grad=True)
    (inp + 1).pow(2).backward(torch.tensor([[float("nan"), -float("inf")], [float("inf"), 1.0]]))
    assert inp.grad is not None
    assert torch.equal(grad.isnan(), inp.grad.isnan()) and torch.equal(grad.nan_to_num(), inp.grad.nan_to_num())


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_have_the_root_s_type(dtype: str) -> None:
    typed = (Seed("typed", typed="[[1, 2], [3, 4]]"), Seed("typed", typed="2"))
    for seed in (Seed(), Seed("one_hot", index=(0, 0)), *typed):
        names = run(Accumulation(size=2, calls=2, dtype=dtype, gradient=seed).source())
        assert names["inp"].grad.dtype == getattr(torch, dtype)
