"""The console line: Python by hand in the live process, shown and undone like any action."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gradviz.app.console import ConsoleLine, is_open
from gradviz.app.window import Window

Key = Qt.Key


def typed(window: Window, qtbot: QtBot, text: str) -> None:
    line = window.desk.left.console.line
    qtbot.keyClicks(line, text)
    qtbot.keyClick(line, Key.Key_Return)
    assert window.wait_ready(30)


def test_lines_run_in_the_program_s_namespace_and_print_their_values(
    live: Window, qtbot: QtBot, tmp_path: Path
) -> None:
    live.trigger("step.next")
    live.activateWindow()
    assert live.trigger("run.line") and live.desk.left.console.line.hasFocus()
    end = live.session.view.steps
    typed(live, qtbot, "w.grad.shape")
    assert live.session.view.step == live.session.view.steps == end, "it made no step: what it printed is at the end"
    assert live.desk.left.output.text.toPlainText() == "torch.Size([5, 3])\n"
    typed(live, qtbot, "w.grad *= 2; q = (3 * w).sum()")
    assert live.session.view.step == end + 1 and live.session.view.playing
    typed(live, qtbot, "nothing.here")
    fault = live.session.trace.faults[-1]
    assert (fault.type, fault.text) == ("NameError", "nothing") and live.session.view.live == "ready"
    typed(live, qtbot, "x =")
    fault = live.session.trace.faults[-1]
    assert fault.type == "SyntaxError" and "ast.py" not in fault.traceback
    assert live.desk.left.console.line.hasFocus()
    listed = [live.desk.left.done.list.item(k).toolTip() for k in range(1, 5)]
    assert listed == ["w.grad.shape", "w.grad *= 2; q = (3 * w).sum()", "nothing.here", "x ="]
    assert live.trigger("run.line", "w.grad.sum()") and live.wait_ready(30)
    path = tmp_path / "session.py"
    assert live.trigger("file.save_session", str(path))
    again = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True).stdout.splitlines()
    printed = "".join(event.text for event in live.session.trace.outputs if event.stream == "stdout").splitlines()
    assert again[0] == printed[0] and again[-1] == printed[-1] and "tensor" in again[-1]


def test_undo_runs_up_to_there_and_values_are_printed_again(live: Window, qtbot: QtBot) -> None:
    for text in ("a = 1", "a + 1", "a + 2"):
        typed(live, qtbot, text)
    assert live.trigger("edit.undo") and live.wait_ready(60)
    assert live.session.view.actions == ("a = 1", "a + 1")
    live.trigger("step.last")
    assert live.desk.left.output.text.toPlainText() == "2\n"


def test_while_a_line_runs_no_other_is_taken_and_the_reason_is_told(live: Window, qtbot: QtBot) -> None:
    console = live.desk.left.console.line
    hint = console.placeholderText()
    console.setFocus()
    qtbot.keyClicks(console, "while True: pass")
    qtbot.keyClick(console, Key.Key_Return)
    qtbot.keyClick(console, Key.Key_Return)
    qtbot.waitUntil(lambda: live.session.view.live == "running", timeout=5_000)
    assert console.isReadOnly() and console.placeholderText() == "Wait until the program has ended."
    assert not live.trigger("run.line", "1")
    qtbot.keyClicks(console, "x")
    assert console.toPlainText() == "" and console.hasFocus()
    live.trigger("run.stop")
    qtbot.waitUntil(lambda: live.session.view.live == "ready", timeout=5_000)
    assert not console.isReadOnly() and console.placeholderText() == hint


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("x = 1", False),
        ("for k in y:", True),
        ("f(1,", True),
        ("x =", False),
        ("for k in y:\n    k", True),
        ("for k in y:\n    k\n", False),
        ('"""a\n', True),
        ("", False),
        ("\x00", False),
    ],
)
def test_more_is_awaited_only_where_a_statement_is_open(text: str, more: bool) -> None:
    assert is_open(text) == more


@pytest.fixture
def line(qtbot: QtBot) -> Iterator[ConsoleLine]:
    inside = QWidget()  # a window of its own would change size, which the offscreen platform cannot tell anybody
    qtbot.addWidget(inside)
    made = ConsoleLine(inside)
    inside.show()
    yield made
    inside.hide()


def test_a_block_grows_and_enter_on_an_empty_line_runs_it(line: ConsoleLine, qtbot: QtBot) -> None:
    ran: list[str] = []
    line.entered.connect(ran.append)
    low = line.height()
    for text in ("for k in y:", "print(k)"):
        qtbot.keyClicks(line, text)
        qtbot.keyClick(line, Key.Key_Return)
    assert line.height() > low and not ran
    qtbot.keyClick(line, Key.Key_Return)
    assert ran == ["for k in y:\n    print(k)"] and line.toPlainText() == "" and line.height() == low


def test_up_and_down_walk_through_what_was_run(line: ConsoleLine, qtbot: QtBot) -> None:
    for text in ("a", "b", "a"):
        qtbot.keyClicks(line, text)
        qtbot.keyClick(line, Key.Key_Return)
    qtbot.keyClicks(line, "draft")
    seen = []
    for key in (Key.Key_Up, Key.Key_Up, Key.Key_Up, Key.Key_Down, Key.Key_Down, Key.Key_Down):
        qtbot.keyClick(line, key)
        seen.append(line.toPlainText())
    assert seen == ["a", "b", "b", "a", "draft", "draft"]
    qtbot.keyClick(line, Key.Key_Escape)
    assert line.toPlainText() == ""
