"""The program text as an editor: breakpoints, values and signs beside the lines, find, indentation, what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit
from pytestqt.qtbot import QtBot

from gradviz.app.code import CodeView
from gradviz.app.program import syntax_error
from gradviz.app.typing_keys import typed
from gradviz.app.window import Window
from gradviz.explain.labels import value_text
from gradviz.trace.events import Op

Key = Qt.Key


class Editor(QPlainTextEdit):
    def keyPressEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        if not typed(self, event):
            super().keyPressEvent(event)


@pytest.fixture
def editor(qtbot: QtBot) -> Editor:
    made = Editor()
    qtbot.addWidget(made)
    return made


def press(qtbot: QtBot, editor: QPlainTextEdit, text: str, *keys: Qt.Key) -> None:
    qtbot.keyClicks(editor, text)
    for key in keys:
        qtbot.keyClick(editor, key)


# ---- indentation


def test_enter_keeps_the_depth_and_goes_deeper_after_a_colon(editor: Editor, qtbot: QtBot) -> None:
    press(qtbot, editor, "def f(x):  # why", Key.Key_Return)
    press(qtbot, editor, "if x:", Key.Key_Return)
    press(qtbot, editor, "return x", Key.Key_Return)
    press(qtbot, editor, "y = (", Key.Key_Return)
    press(qtbot, editor, "1)", Key.Key_Return, Key.Key_Backspace, Key.Key_Backspace)
    press(qtbot, editor, "z")
    assert editor.toPlainText() == "def f(x):  # why\n    if x:\n        return x\n    y = (\n        1)\nz"


def test_tab_indents_what_is_selected_and_shift_tab_takes_it_back(editor: Editor, qtbot: QtBot) -> None:
    editor.setPlainText("a\n\n  b\nc")
    editor.selectAll()
    press(qtbot, editor, "", Key.Key_Tab)
    assert editor.toPlainText() == "    a\n\n      b\n    c"
    editor.undo()
    assert editor.toPlainText() == "a\n\n  b\nc", "one step of undo"
    editor.redo()
    editor.selectAll()
    press(qtbot, editor, "", Key.Key_Backtab)
    press(qtbot, editor, "", Key.Key_Backtab)
    assert editor.toPlainText() == "a\n\nb\nc"
    editor.moveCursor(QTextCursor.MoveOperation.End)
    press(qtbot, editor, "", Key.Key_Tab)
    assert editor.toPlainText().endswith("c   "), "to the next multiple of four"


# ---- where the playhead stops


def test_f9_in_the_text_and_a_click_in_the_gutter(live: Window, qtbot: QtBot) -> None:
    code = live.desk.left.program.code
    code.setFocus()
    code.setTextCursor(QTextCursor(code.document().findBlockByNumber(6)))
    qtbot.keyClick(code, Key.Key_F9)
    assert live.session.view.breaks == {"line:7"} == {f"line:{line}" for line in code.beside.breaks}
    block = code.document().findBlockByNumber(4)
    place = code.blockBoundingGeometry(block).translated(code.contentOffset()).center()
    qtbot.mouseClick(code._gutter, Qt.MouseButton.LeftButton, pos=QPoint(6, int(place.y())))
    assert live.session.view.breaks == {"line:7", "line:5"}
    seen = []
    while live.trigger("breakpoint.next"):
        seen.append(live.session.trace.span(live.session.view.step)[1])  # type: ignore[index]
    assert seen == [5, 7]
    live.trigger("step.first")
    live.session.update(playing=True, speed=40.0)
    qtbot.waitUntil(lambda: not live.session.view.playing, timeout=20_000)
    event = live.session.trace.event_at(live.session.view.step)
    assert isinstance(event, Op) and event.span is not None and event.span[1] == 5, "playing stops there too"
    live.grab()


def test_f9_on_the_canvas_stops_at_the_selected_node(shown: Window, qtbot: QtBot) -> None:
    ran = shown.session.trace.order(0)[1]
    shown.session.update(selection=f"node:{ran}")
    shown.desk.canvas.setFocus()
    qtbot.keyClick(shown.desk.canvas, Key.Key_F9)
    assert shown.session.view.breaks == {f"node:{ran}"}
    assert shown.trigger("breakpoint.next") and shown.trigger("breakpoint.next")
    assert shown.session.view.step == shown.session.trace.runs(ran)[0]
    shown.grab()


def test_breakpoints_move_with_the_lines_above_them(live: Window, qtbot: QtBot) -> None:
    live.trigger("breakpoint.toggle", "line:7")
    live.trigger("edit.program")
    code = live.desk.left.program.code
    code.moveCursor(QTextCursor.MoveOperation.Start)
    press(qtbot, code, "# a comment", Key.Key_Return)
    assert live.session.view.breaks == {"line:8"}


# ---- beside the lines


def test_values_stand_behind_the_assignments_of_this_step(shown: Window) -> None:
    code, trace = shown.desk.left.program.code, shown.session.trace
    assert code.beside.values == {}
    shown.trigger("step.last")
    rows = code.toPlainText().split("\n")
    for name in ("x", "w", "loss"):
        line = next(k for k, row in enumerate(rows, 1) if row.startswith(f"{name} ="))
        assert code.beside.values[line] == f"{name} = {value_text(trace.at(trace.steps).value_data(name), 4)}"
    signs = {flow.sign for flow in code.beside.flows.values()}
    assert signs <= {"done", "freed"} and shown.desk.left.program._tip(min(code.beside.flows))
    shown.trigger("step.first")
    assert code.beside.values == {} and code.beside.flows == {}


def test_a_changed_text_has_nothing_of_the_recording_beside_it(live: Window, qtbot: QtBot) -> None:
    live.trigger("step.last")
    code = live.desk.left.program.code
    assert code.beside.values
    live.trigger("edit.program")
    press(qtbot, code, " ")
    assert not code.beside.values and not code.beside.flows


# ---- what is wrong


def waves(code: CodeView) -> list[str]:
    style = QTextCharFormat.UnderlineStyle.WaveUnderline
    return [s.cursor.selectedText() for s in code.extraSelections() if s.format.underlineStyle() == style]


def test_the_line_of_an_error_is_underlined_at_every_step(
    open_on: Callable[..., Window], recorded: Callable[[str], Path]
) -> None:
    window = open_on(recorded("second_backward"))
    assert window.wait_ready(20) and window.session.view.step == 0
    code, fault = window.desk.left.program.code, window.session.trace.faults[-1]
    assert fault.span is not None and waves(code) == [code.toPlainText().split("\n")[fault.span[1] - 1].strip()]
    assert code.marks.wrong == (fault.span[1], f"RuntimeError: {fault.message.splitlines()[0]}")


def test_what_is_no_python_is_underlined_while_it_is_typed(live: Window, qtbot: QtBot) -> None:
    live.trigger("edit.program")
    code = live.desk.left.program.code
    code.moveCursor(QTextCursor.MoveOperation.End)
    press(qtbot, code, "q = (", Key.Key_Return)
    assert waves(code) == ["q = ("], "and no more, though a line was begun after it"
    press(qtbot, code, "1)")
    assert waves(code) == []
    assert syntax_error("x = 1\ny = ") == (2, "SyntaxError: invalid syntax")


# ---- finding


def test_ctrl_f_in_the_text_finds_in_the_text(shown: Window, qtbot: QtBot) -> None:
    code, bar = shown.desk.left.program.code, shown.desk.left.program.find_bar
    code.setFocus()
    qtbot.keyClick(code, Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert bar.isVisible() and bar.line.hasFocus()
    qtbot.keyClicks(bar.line, "TORCH.")
    count = code.toPlainText().count("torch.")
    assert bar.count.text() == f"1 of {count}" and code.textCursor().selectedText() == "torch."
    places = [code.textCursor().position()]
    for _ in range(count - 1):
        qtbot.keyClick(bar.line, Key.Key_Return)
        places.append(code.textCursor().position())
    assert places == sorted(set(places)) and len(code._found) == count
    qtbot.keyClick(bar.line, Key.Key_Return)
    assert code.textCursor().position() == places[0], "around"
    qtbot.keyClick(bar.line, Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert code.textCursor().position() == places[-1]
    bar.line.setText("nowhere")
    assert bar.count.text() == "not found"
    qtbot.keyClick(bar.line, Key.Key_Escape)
    assert not bar.isVisible() and code.hasFocus() and code._found == []
    shown.desk.canvas.setFocus()
    qtbot.keyClick(shown.desk.canvas, Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert shown.desk.stage.search.line.hasFocus(), "elsewhere it finds on the canvas"
