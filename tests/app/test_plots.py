"""The plots' numbers against the recording, and each plot against an empty one."""

from __future__ import annotations

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from gradviz.app.plots import KINDS, Plots, grad_norms, leaves_of, update_ratios
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
    session.update(theme="dark", language="zh")
    assert plots.plot.isVisibleTo(plots)
