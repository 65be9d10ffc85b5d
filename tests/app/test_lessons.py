"""Lessons in the window: opened, walked and left by keys; the words are those of the file with this run's numbers."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gradviz.app.shelf import shelf
from gradviz.app.window import Window
from gradviz.player.lesson_markup import plain
from gradviz.player.lesson_steps import step_of
from gradviz.player.lesson_tell import told
from gradviz.player.lessons import Lesson
from gradviz.settings import read
from tests.app.conftest import Opened
from tests.player.test_lessons import LESSON

NONE = Qt.KeyboardModifier.NoModifier
CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


def press(
    qtbot: QtBot, window: Window, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
) -> None:
    """A key, to whatever has the focus."""
    target = QApplication.focusWidget() or window
    qtbot.keyClick(target, key, modifier)


def open_first(qtbot: QtBot, window: Window) -> None:
    window.activateWindow()
    press(qtbot, window, Qt.Key.Key_L, CTRL | SHIFT)
    qtbot.waitUntil(lambda: window.desk.lessons.isVisible())
    press(qtbot, window, Qt.Key.Key_Return)


def shows(window: Window, lesson: Lesson, number: int) -> None:
    """The window stands at that checkpoint: its step, its selection, its words."""
    view, trace = window.session.view, window.session.trace
    point = lesson.checkpoints[number]
    assert view.lesson is not None and (view.lesson.id, view.checkpoint) == (lesson.id, number)
    assert view.step == step_of(trace, point.selector)
    if point.select:
        assert view.selection == f"tensor:{trace.named(point.select, view.step)}"
    said = told(trace, point, view.language)
    assert "…" not in said
    assert window.desk.lesson.text.accessibleDescription() == plain(said)
    shown = window.desk.lesson.text.toPlainText()
    assert "".join(plain(said).split()).replace("-", "")[:40] == "".join(shown.split()).replace("-", "")[:40]
    assert window.desk.lesson.isVisible()


def test_the_first_lesson_by_keys_alone(qtbot: QtBot, live: Window) -> None:
    window = live
    open_first(qtbot, window)
    lesson = shelf()[0]
    assert window.session.view.lesson == lesson
    assert window.wait_ready(60)
    for number in range(len(lesson.checkpoints)):
        shows(window, lesson, number)
        if number + 1 < len(lesson.checkpoints):
            press(qtbot, window, Qt.Key.Key_F8, CTRL)
    press(qtbot, window, Qt.Key.Key_F7, CTRL)
    shows(window, lesson, len(lesson.checkpoints) - 2)
    assert read(window.store.settings, lesson.id) == len(lesson.checkpoints)
    press(qtbot, window, Qt.Key.Key_L, CTRL | SHIFT)
    assert window.desk.lessons.list.item(0).text().endswith("✓")
    press(qtbot, window, Qt.Key.Key_Escape)
    assert not window.desk.lessons.isVisible()


def test_language_and_wandering_off(qtbot: QtBot, live: Window) -> None:
    window = live
    assert not window.desk.lesson.isVisible()
    assert not window.trigger("lesson.next")
    window.trigger("lesson.open", shelf()[2].id)
    assert window.wait_ready(60)
    window.trigger("lesson.next")
    window.session.update(language="zh")
    shows(window, shelf()[2], 1)
    assert shelf()[2].titles["zh"] in window.windowTitle()
    window.trigger("step.first")
    window.trigger("lesson.here")
    shows(window, shelf()[2], 1)
    window.trigger("lesson.close")
    assert window.session.view.lesson is None and not window.desk.lesson.isVisible()
    assert not window.trigger("lesson.previous")


def test_a_lesson_of_ones_own_from_a_file(open_on: Opened, tmp_path: Path) -> None:
    file = tmp_path / "own.md"
    file.write_text(LESSON.replace("raises: freed_graph\n", ""), "utf-8")
    window = open_on(file)
    assert window.wait_ready(60)
    lesson = window.session.view.lesson
    assert lesson is not None and lesson.id == "a-lesson"
    assert window.session.view.mode == "autograd"
    shows(window, lesson, 0)
    assert window.session.view.actions == lesson.actions
    assert "[1, 1]" in window.desk.lesson.text.toPlainText()


def test_a_file_that_is_no_lesson_is_said(qtbot: QtBot, open_on: Opened, tmp_path: Path) -> None:
    file = tmp_path / "bad.md"
    file.write_text("# Notes\n", "utf-8")
    window = open_on(file)
    qtbot.waitUntil(lambda: window.desk.banner.isVisible())
    assert "begins with its head" in window.desk.banner.label.text()
    assert window.session.view.lesson is None


def test_another_program_puts_the_lesson_away(live: Window) -> None:
    live.trigger("lesson.open", shelf()[0].id)
    assert live.wait_ready(60)
    live.desk._example(1)
    assert live.session.view.lesson is None


def test_the_words_leave_the_inspector_its_place(qtbot: QtBot, live: Window) -> None:
    live.trigger("lesson.open", shelf()[0].id)
    assert live.wait_ready(60)
    for width, height in ((1280, 800), (900, 560)):
        live.resize(width, height)
        qtbot.wait(100)
        column = live.desk.inspector.parentWidget()
        assert column is not None and live.desk.inspector.height() > column.height() * 0.25
        assert live.desk.lesson.text.height() >= 40
