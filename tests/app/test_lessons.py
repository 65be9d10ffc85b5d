"""Lessons in the window: opened, walked and left by keys; the words are those of the file with this run's numbers."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gradviz.app.shelf import shelf
from gradviz.app.window import Window
from gradviz.player.lesson_markup import plain
from gradviz.player.lesson_steps import step_of, tensor_named
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
        assert view.selection == f"tensor:{tensor_named(trace, point.select, view.step)}"
    said = told(trace, point, view.language)
    assert "…" not in said
    assert window.desk.lesson.text.accessibleDescription() == plain(said)
    shown = window.desk.lesson.text.toPlainText()
    assert "".join(plain(said).split()).replace("-", "")[:40] == "".join(shown.split()).replace("-", "")[:40]
    assert window.desk.lesson.isVisible()


def test_lessons_one_to_six_by_keys_alone_from_a_cold_start(qtbot: QtBot, live: Window) -> None:
    window = live
    open_first(qtbot, window)
    for lesson in shelf()[:6]:
        assert window.session.view.lesson == lesson
        assert window.wait_ready(60)
        for number in range(len(lesson.checkpoints)):
            shows(window, lesson, number)
            press(qtbot, window, Qt.Key.Key_F8, CTRL)
        assert read(window.store.settings, lesson.id) == len(lesson.checkpoints)
    assert window.session.view.lesson == shelf()[6]


def test_back_list_language_wandering_off_and_closing(qtbot: QtBot, live: Window) -> None:
    window, lesson = live, shelf()[0]
    assert not window.desk.lesson.isVisible() and not window.trigger("lesson.next")
    open_first(qtbot, window)
    assert window.wait_ready(60)
    assert not window.trigger("lesson.previous")
    for _ in lesson.checkpoints[1:]:
        press(qtbot, window, Qt.Key.Key_F8, CTRL)
    press(qtbot, window, Qt.Key.Key_F7, CTRL)
    press(qtbot, window, Qt.Key.Key_L, CTRL | SHIFT)
    assert window.desk.lessons.list.item(0).text().endswith("✓")
    press(qtbot, window, Qt.Key.Key_Escape)
    assert not window.desk.lessons.isVisible()
    window.session.update(language="zh")
    shows(window, lesson, len(lesson.checkpoints) - 2)
    assert lesson.titles["zh"] in window.windowTitle()
    window.trigger("step.first")
    window.trigger("lesson.here")
    shows(window, lesson, len(lesson.checkpoints) - 2)
    for width, height in ((1280, 800), (900, 560)):
        window.resize(width, height)
        qtbot.wait(100)
        column = window.desk.inspector.parentWidget()
        assert column is not None and window.desk.inspector.height() > column.height() * 0.25
        assert window.desk.lesson.text.height() >= 40
    window.trigger("lesson.close")
    assert window.session.view.lesson is None and not window.desk.lesson.isVisible()
    window.trigger("lesson.open", lesson.id)
    window.desk._example(1)
    assert window.session.view.lesson is None, "another program puts it away"


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
