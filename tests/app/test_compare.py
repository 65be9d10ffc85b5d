"""Change and compare in the window: turn a switch, run, walk through what differs, on both canvases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QDoubleSpinBox, QSlider, QTableWidget
from pytestqt.qtbot import QtBot

from gradviz.app.knob_list import snippet
from gradviz.app.window import Window
from gradviz.player.knobs import knobs

Key = Qt.Key


def switch(window: Window, line: int) -> QCheckBox:
    found = [w for knob, w, _ in window.desk.compare.knobs.rows if knob.line == line and isinstance(w, QCheckBox)]
    return found[0]


def cell(table: QTableWidget, row: int, column: int) -> str:
    item = table.item(row, column)
    return item.text() if item else ""


def test_flip_requires_grad_run_and_walk_through_the_differences(live: Window, qtbot: QtBot) -> None:
    live.session.update(step=7)
    assert live.trigger("compare.toggle")
    panel, rival = live.desk.compare, live.desk.rival
    assert panel.isVisible() and not rival.isVisible(), "there is no other run yet"
    assert not live.trigger("compare.next")
    box = switch(live, 3)
    assert not box.isChecked()
    box.setChecked(True)
    assert not live.is_ready
    assert live.wait_ready(60)
    view = live.session.view
    assert "x = torch.ones(5, requires_grad=True)" in view.program.text and view.step == 7
    assert rival.isVisible() and rival.rival.view.step == 7
    assert live.trigger("compare.first") and live.session.view.step == 1
    assert "requires_grad" in panel.said.text()
    assert {"tensor:0"} <= live.desk.canvas._differs and {"tensor:0"} <= rival.canvas._differs
    seen = [1]
    while live.trigger("compare.next"):
        seen.append(live.session.view.step)
    assert seen == sorted(set(seen)) and seen[-1] == live.session.view.steps
    assert rival.rival.view.step == rival.rival.view.steps == 14
    cells = [[cell(panel.table, row, column) for column in range(3)] for row in range(panel.table.rowCount())]
    row = next(k for k, texts in enumerate(cells) if texts[0] == "≠ x.grad")
    assert cells[row][2] == "None" != cells[row][1]
    panel.table.selectRow(row)
    panel.table.setCurrentCell(row, 0)
    assert live.session.view.selection == f"tensor:{live.session.trace.named('x')}"
    qtbot.waitUntil(lambda: rival.layouts.is_settled)
    live.grab()
    live.trigger("compare.toggle")
    assert not panel.isVisible() and not rival.isVisible() and not live.desk.canvas._differs


def test_a_slider_runs_once_and_is_compared_with_what_was_there_first(live: Window, qtbot: QtBot) -> None:
    live.trigger("compare.toggle")
    first = live.session.trace
    ran: list[str] = []
    live.desk.compare.knobs.turned.connect(ran.append)
    _, number, slider = live.desk.compare.knobs.rows[0]
    assert isinstance(slider, QSlider) and isinstance(number, QDoubleSpinBox)
    for tick in (1, 2, 3):
        slider.setValue(tick)
    assert live.wait_ready(60) and len(ran) == 1 and "manual_seed(3)" in live.session.view.program.text
    assert live.session.before is first
    slider = live.desk.compare.knobs.rows[0][2]
    assert slider is not None
    slider.setValue(4)
    assert live.wait_ready(60) and "manual_seed(4)" in live.session.view.program.text
    assert live.session.before is first, "a comparison goes on with the run that it began with"
    assert live.trigger("compare.keep") and live.session.before is live.session.trace
    assert not live.trigger("compare.first"), "a run does not differ from itself"


def test_another_recording_beside_this_one(
    open_on: Callable[..., Window], recorded: Callable[[str], Path], tmp_path: Path
) -> None:
    window = open_on(recorded("one_layer"))
    assert window.wait_ready(20)
    assert window.trigger("compare.open", str(recorded("second_backward")))
    view, rival = window.session.view, window.desk.rival
    assert view.comparing and rival.isVisible() and "second_backward" in rival.title.text()
    comparison = window.session.aligned
    assert comparison is not None and window.session.moment == comparison.next(0)
    moments = [window.session.moment]
    while window.trigger("compare.next"):
        moments.append(window.session.moment)
        assert rival.rival.view.step == comparison.steps(moments[-1])[1]
        assert window.session.view.step == comparison.steps(moments[-1])[0]
    assert moments == [m for m in range(comparison.last + 1) if comparison.differs(m)]
    assert any(comparison.pairs[m][0] is None for m in moments), "steps of the other run are moments too"
    window.trigger("step.first")
    assert window.session.moment == 0
    broken = tmp_path / "broken.gradviz"
    broken.write_bytes(b"no")
    window.trigger("compare.open", str(broken))
    assert window.desk.banner.isVisible() and window.session.before_name == "second_backward.gradviz"


def test_keys_walk_through_the_differences(
    open_on: Callable[..., Window], recorded: Callable[[str], Path], qtbot: QtBot
) -> None:
    window = open_on(recorded("one_layer"))
    assert window.wait_ready(20)
    window.trigger("compare.open", str(recorded("accumulation")))
    window.desk.canvas.setFocus()
    first = window.session.moment
    qtbot.keyClick(window.desk.canvas, Key.Key_F4)
    assert window.session.moment > first
    qtbot.keyClick(window.desk.canvas, Key.Key_F4, Qt.KeyboardModifier.ShiftModifier)
    assert window.session.moment == first


def test_a_run_after_a_change_keeps_the_step_only_where_it_is_the_same(live: Window, qtbot: QtBot) -> None:
    live.session.update(step=9)
    text = live.session.view.program.text
    live.desk.port.rerun(
        live.session.view.program.__class__(text.replace("torch.matmul(x, w) + b", "x @ w * b"), "p.py")
    )
    assert live.wait_ready(60)
    trace = live.session.trace
    step = live.session.view.step
    assert 0 < step < 9 and trace.event_at(step).name == "mul"  # type: ignore[union-attr]


@pytest.mark.parametrize("line", ["x = torch.ones(5)", "model = build(a, b, c, d, e, f, g, 12345, h, i, j, k, l, m)"])
def test_the_place_of_a_number_is_seen_in_its_line(line: str) -> None:
    for knob in knobs(f"import torch\n{line}\n"):
        said = snippet(f"import torch\n{line}\n", knob)
        assert "▢" in said and len(said) <= 40
