"""What is drawn only in part, or from a kept picture, looks as if it were drawn whole."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from gradviz.app.canvas import REST_MS, Canvas
from gradviz.app.eye import Eye
from gradviz.graph import build, lay_out
from gradviz.session import Session
from tests.graph.test_build import recorded
from tests.scene.one_layer import placed, recording


def picture(canvas: Canvas) -> QImage:
    return canvas.grab().toImage()


def whole(canvas: Canvas) -> QImage:
    canvas._levels.forget()
    canvas._scene = None
    canvas.update()
    return picture(canvas)


def shown(qtbot: QtBot, name: str) -> Canvas:
    session = Session()
    canvas = Canvas(session)
    qtbot.addWidget(canvas)
    canvas.resize(900, 600)
    canvas.show()
    session.begin(recording(2) if name == "sums" else recorded(name))
    graph = build(session.trace)
    canvas.set_graph(*(placed() if name == "sums" else (graph, lay_out(graph))))
    canvas.minimap.hide()
    return canvas


@pytest.mark.parametrize("name", ["sums", "one_layer", "mlp", "training_loop", "shared_weight"])
def test_a_step_drawn_in_part_looks_as_if_drawn_whole(qtbot: QtBot, name: str) -> None:
    canvas = shown(qtbot, name)
    session = canvas.session
    session.update(step=session.trace.steps // 2)
    canvas._glide = None
    drawn = 0
    for step in range(session.trace.steps // 2, session.trace.steps):
        for alpha in (0.3, 0.8, 1.0):
            session.update(step=step, alpha=alpha)
            canvas._glide = None
            canvas.grab()
            in_part = picture(canvas)
            drawn += canvas.level == "near"
            assert in_part == whole(canvas), (step, alpha)
        if step % 5 == 0:
            session.update(selection=f"node:{step % max(1, len(session.trace.nodes))}")
            in_part = picture(canvas)
            assert in_part == whole(canvas), (step, "selected")
    assert drawn


def test_a_zoomed_picture_is_drawn_sharp_when_the_eye_rests(qtbot: QtBot) -> None:
    canvas = shown(qtbot, "one_layer")
    session = canvas.session
    session.update(step=session.trace.steps // 2, reduced_motion=True)
    picture(canvas)
    canvas.zoom(1.3, QPointF(300, 200))
    blurred = picture(canvas)
    qtbot.wait(3 * REST_MS)
    sharp = picture(canvas)
    assert sharp != blurred
    assert sharp == whole(canvas)
    canvas._see(Eye(canvas.eye.left, canvas.eye.top, canvas.eye.scale * 0.4))
    canvas.zoom(1.0)
    assert picture(canvas) != sharp
