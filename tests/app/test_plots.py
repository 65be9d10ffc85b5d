"""The plots' numbers against the recording, and each plot against an empty one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from pytestqt.qtbot import QtBot

from gradviz.app.plots import KINDS, Plots, grad_norms, leaves_of, left_out, update_ratios
from gradviz.recorder import record
from gradviz.session import Session
from gradviz.trace import Trace
from gradviz.trace.events import Header, Node, Op, Saved, Tensor, Value
from tests.scene.one_layer import data, recording


def trained() -> Trace:
    """A leaf that an in-place operation changes, and a node that keeps something."""
    return Trace(
        [
            Header(),
            *recording(1).events[1:],
            Node(6, "MulBackward0", ((0, 0),), op=7, saved=(Saved("self", "tensor", 3, 0, (3,), storage=3, bytes=12),)),
            Tensor(7, (3,), requires_grad=True, is_leaf=False, node=6, op=7),
            Op(7, "mul", outputs=(7,), nodes=(6,)),
            Op(8, "sub_", writes=(3,)),
            Value(3, data([3.0, 4.0, 0.0])),
            Op(9, "sub_", writes=(3,)),
            Value(3, data([3.0, 4.0, 1.0])),
        ]
    )


def test_norms_are_those_of_the_frames() -> None:
    trace = recording(2)
    assert leaves_of(trace) == [2, 3]
    for leaf in leaves_of(trace):
        steps, norms = grad_norms(trace, leaf)
        for step, norm in zip(steps.tolist(), norms.tolist(), strict=True):
            grad = trace.at(step).grad(leaf)
            assert grad is not None and norm == pytest.approx(float(np.linalg.norm(grad.astype(np.float64))))


def test_update_ratio_of_a_changed_weight() -> None:
    trace = trained()
    steps, ratios = update_ratios(trace, 3)
    assert steps.tolist() == [trace.steps - 1, trace.steps]
    assert ratios[1] == pytest.approx(1 / 5)
    assert not len(update_ratios(trace, 2)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_each_plot_is_drawn_where_there_is_something_to_draw(qtbot: QtBot, kind: str) -> None:
    session = Session()
    plots = Plots(session)
    qtbot.addWidget(plots)
    plots.show_kind(kind)
    assert not plots.plot.isVisibleTo(plots) and plots.note.text()
    empty = plots.note.text()
    session.begin(trained())
    session.update(step=session.view.steps, selection="tensor:3")
    assert plots.plot.isVisibleTo(plots)
    assert plots.plot.getPlotItem().items and plots.note.text() != empty
    assert bool(plots.key.text()) == (kind in ("grads", "updates")), "curves are named"
    session.update(theme="dark", language="zh")
    assert plots.plot.isVisibleTo(plots)


OPTIMIZERS: list[Callable[[Any], torch.optim.Optimizer]] = [
    lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    lambda p: torch.optim.AdamW(p, lr=0.05, weight_decay=0.2),
    lambda p: torch.optim.Adam(p, lr=0.05, fused=True),
    lambda p: torch.optim.Adam(p, lr=0.05, foreach=False),
]


def _loop(make: Callable[[Any], torch.optim.Optimizer], noted: list[float]) -> None:
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = make(net.parameters())
    x = torch.randn(6, 4)
    weight = net.get_parameter("0.weight")
    for _ in range(4):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        before = weight.detach().clone()
        optimizer.step()
        noted.append(float((weight.detach() - before).double().norm() / before.double().norm()))


@pytest.mark.parametrize("make", OPTIMIZERS, ids=["sgd", "adamw", "fused", "one by one"])
def test_update_ratios_are_those_of_the_training_loop(make: Callable[[Any], torch.optim.Optimizer]) -> None:
    plain: list[float] = []
    _loop(make, plain)
    with record(values="all") as recording:
        _loop(make, [])
    leaf = recording.trace.named("0.weight")
    assert leaf is not None
    steps, ratios = update_ratios(recording.trace, leaf)
    assert ratios[-4:].tolist() == pytest.approx(plain, rel=1e-5)
    assert len(ratios) in (4, 5), "the first may be that of the initialisation"
    assert steps.tolist() == sorted(set(steps.tolist()))


def test_gradient_norms_by_layer_are_pytorchs() -> None:
    with record(values="all") as recording:
        torch.manual_seed(1)
        net = torch.nn.Sequential(*(m for _ in range(6) for m in (torch.nn.Linear(5, 5), torch.nn.Sigmoid())))
        net(torch.randn(3, 5)).sum().backward()
    trace = recording.trace
    real = {name: p.grad.double().norm().item() for name, p in net.named_parameters() if p.grad is not None}
    told = {}
    for leaf in leaves_of(trace):
        told[str(trace.name(leaf)).removeprefix("net.")] = grad_norms(trace, leaf)[1][-1]
    assert told == pytest.approx(real, rel=1e-6)
    assert real["0.weight"] < real["10.weight"] / 10, "gradients vanish here, which the plot has to show"


def test_weights_that_were_not_recorded_whole_are_counted() -> None:
    with record(value_limit=4) as recording:
        w = torch.ones(5, requires_grad=True)
        (w * w).sum().backward()
        with torch.no_grad():
            w -= 0.1
    assert left_out(recording.trace) == 1
    assert left_out(trained()) == 0
