"""The program panel: what is marked at each step, and editing by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gradviz.app.code import CodeView, Marks
from gradviz.app.window import Window
from gradviz.scene.theme import load_theme


def test_the_line_of_every_step_is_marked(shown: Window) -> None:
    code, trace = shown.desk.left.program.code, shown.session.trace
    for step in range(trace.steps + 1):
        shown.session.update(step=step)
        span = trace.span(step)
        assert code.marks.current == ((span[1], span[3]) if span else None)
        if span:
            text = code.document().findBlockByNumber(span[1] - 1).text()
            assert any(name in text for name in ("torch", "backward", "matmul"))


def test_a_running_node_shows_the_expression_it_came_from(shown: Window) -> None:
    code, trace = shown.desk.left.program.code, shown.session.trace
    shown.session.update(step=10)
    event = trace.event_at(10)
    origin = trace.origin(10)
    assert event is not None and origin is not None and code.marks.origin == origin
    lines = code.toPlainText().split("\n")
    assert lines[origin[1] - 1][origin[2] : origin[4]] == "torch.matmul(x, w) + b"
    (box,) = code.origin_boxes()
    assert box.width() > 50 and code.viewport().rect().intersects(box.toRect())


def test_a_fault_marks_its_line_red(
    open_on: Callable[..., Window], recorded: Callable[[str], Path], qtbot: QtBot
) -> None:
    window = open_on(recorded("second_backward"))
    assert window.wait_ready(20)
    window.trigger("step.last")
    code, span = window.desk.left.program.code, window.session.trace.faults[0].span
    assert span is not None and replace(code.marks, wrong=None) == Marks(fault=(span[1], span[3]))
    error = load_theme("light").error_fill.lower()
    assert error in [s.format.background().color().name() for s in code.extraSelections()]


def test_typing_makes_it_one_s_own_and_f5_records_it(live: Window, qtbot: QtBot) -> None:
    code = live.desk.left.program.code
    assert code.isReadOnly()
    qtbot.keyClicks(code, "x")
    assert "x" * 2 not in code.toPlainText()
    qtbot.mouseClick(live.desk.left.edit, Qt.MouseButton.LeftButton)
    assert not code.isReadOnly() and live.session.view.editing
    code.setPlainText("import torch\nq = torch.ones(2, requires_grad=True)\n(q * q).sum().backward()")
    code.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClicks(code, "  ")
    view = live.session.view
    assert view.program.form is None and view.program.text == code.toPlainText() and live.isWindowModified()
    assert "F5" in live.desk.left.edit.toolTip() or live.session.trace.header.source != view.program.text
    qtbot.keyClick(code, Qt.Key.Key_F5)
    assert live.wait_ready(60)
    assert "q" in live.session.trace.names and live.session.trace.header.source == view.program.text


def test_text_keeps_its_own_undo(live: Window, qtbot: QtBot) -> None:
    assert live.trigger("run.backward") and live.wait_ready(20)
    live.trigger("edit.program")
    code = live.desk.left.program.code
    before = code.toPlainText()
    code.setFocus()
    qtbot.keyClicks(code, "zz")
    qtbot.keyClick(code, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert code.toPlainText() == before and len(live.session.view.actions) == 1, "no action was undone"


@pytest.fixture
def code(qtbot: QtBot) -> CodeView:
    view = CodeView(load_theme("light"))
    qtbot.addWidget(view)
    view.resize(500, 300)
    view.show()
    return view


def test_strings_over_many_lines_are_strings(code: CodeView) -> None:
    code.setPlainText('a = """one\nif two\n"""\nif a:  # note\n    pass\n')
    code.highlighter.lex()
    kinds = {line: [kind for _, _, kind in found] for line, found in code.highlighter._lines.items()}
    assert set(kinds[1]) == {"string"} and "keyword" in kinds[3] and "comment" in kinds[3]


def test_long_texts_stay_plain_and_quick(code: CodeView) -> None:
    code.setPlainText("x = 1  # a comment\n" * 30_000)
    code.highlighter.lex()
    assert code.highlighter._lines == {}


def test_the_current_line_comes_into_view(code: CodeView) -> None:
    code.setPlainText("\n".join(f"line{k}" for k in range(500)))
    code.mark(Marks(current=(400, 400)))
    QApplication.processEvents()
    first = code.firstVisibleBlock().blockNumber() + 1
    assert first <= 400 <= first + code.verticalScrollBar().pageStep()


def test_marks_outside_the_text_are_harmless(code: CodeView) -> None:
    code.setPlainText("a\nb")
    code.mark(Marks(current=(7, 9), origin=(0, 5, 0, 6, 3), fault=(3, 3)))
    code.grab()
    assert code.origin_boxes() == []
