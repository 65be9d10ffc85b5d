"""Everything in the window has a name for those who hear it, and can be reached by the keyboard alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QScrollBar,
    QTabBar,
    QTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from gradviz.actions import ACTIONS
from gradviz.app.palette import ROLE
from gradviz.app.window import Window

WORKED = (
    QAbstractButton, QAbstractItemView, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit, QPlainTextEdit,
    QTabBar, QTextEdit,
)  # fmt: skip
PARTS = (QHeaderView, QScrollBar)


def parts(widget: QWidget) -> bool:
    """It is a piece of one of Qt's own widgets."""
    inside = isinstance(widget.parentWidget(), QAbstractSpinBox | QComboBox | QTabBar)
    return isinstance(widget, PARTS) or inside or widget.objectName().startswith("qt_")


def worked(window: Window) -> Iterator[QWidget]:
    """All that a person sees now and can do something with."""
    for widget in window.findChildren(QWidget):
        takes = isinstance(widget, WORKED) or widget.focusPolicy() != Qt.FocusPolicy.NoFocus
        if takes and widget.isVisible() and not parts(widget):
            yield widget


def name(widget: QWidget) -> str:
    interface = QAccessible.queryAccessibleInterface(widget)
    return interface.text(QAccessible.Text.Name).strip() if interface else ""


def label(widget: QWidget) -> str:
    return f"{type(widget).__name__} {widget.objectName()} {name(widget)!r}"


def nameless(window: Window) -> list[str]:
    return [label(widget) for widget in worked(window) if not name(widget)]


def unreached(window: Window) -> list[str]:
    """What Tab does not come to. The list of the palette is walked by the arrow keys of its line."""
    window.desk.canvas.setFocus()
    QApplication.processEvents()
    seen: list[QWidget] = []
    while (now := QApplication.focusWidget()) is not None and now not in seen:
        seen.append(now)
        if now is window.desk.left.program.code and not window.desk.left.program.code.isReadOnly():
            QTest.keyClick(now, Qt.Key.Key_Tab)
            assert QApplication.focusWidget() is now, "it indents"
            QTest.keyClick(now, Qt.Key.Key_Escape)
        QTest.keyClick(now, Qt.Key.Key_Tab)
    by_arrows = window.desk.palette.list
    wanted = [w for w in worked(window) if w.isEnabled() and w is not by_arrows]
    return [label(w) for w in wanted if w not in seen and w.focusProxy() not in seen]


def to(window: Window, *actions: str) -> None:
    for action in actions:
        assert window.trigger(action), action
    QTest.qWait(50)


SURFACES: dict[str, Callable[[Window], object]] = {
    "start": lambda w: None,
    "last": lambda w: to(w, "step.last"),
    "editing": lambda w: to(w, "edit.program"),
    "found": lambda w: to(w, "edit.program", "view.find"),
    "quiz": lambda w: to(w, "step.last", "step.previous", "quiz.ask"),
    "engine": lambda w: to(w, "step.last", "engine.play"),
    "breaking": lambda w: to(w, "break.it"),
    "lessons": lambda w: to(w, "lesson.open"),
    "compare": lambda w: to(w, "compare.keep", "compare.toggle"),
    "presenter": lambda w: to(w, "view.presenter"),
    "keys": lambda w: to(w, "help.keys"),
    "why": lambda w: to(w, "step.last", "help.why"),
    "palette": lambda w: to(w, "view.palette"),
    "setup": lambda w: w.desk.setup.open("reads"),
    "build": lambda w: w.desk.left.tabs["build"].click(),
    "outline": lambda w: w.desk.left.tabs["outline"].click(),
}


@pytest.mark.parametrize("surface", SURFACES)
def test_all_has_a_name_and_is_reached_by_tab(surface: str, shown: Window, qtbot: QtBot) -> None:
    shown.activateWindow()
    SURFACES[surface](shown)
    QTest.qWait(50)
    assert not nameless(shown)
    assert not unreached(shown)


def test_names_are_in_the_language_that_is_spoken(shown: Window) -> None:
    before = {id(w): name(w) for w in worked(shown)}
    to(shown, "view.language")
    assert not nameless(shown)
    same = [label(w) for w in worked(shown) if before.get(id(w)) == name(w) and name(w).isascii()]
    assert len(same) < len(before) / 4, same


def test_every_action_has_a_key_or_is_in_the_palette(shown: Window) -> None:
    to(shown, "view.palette")
    found = shown.desk.palette.list
    listed = {found.item(k).data(ROLE) for k in range(found.count())}
    assert all(row.keys or row.plain or row.id in listed for row in ACTIONS)


def test_the_window_has_an_icon(shown: Window) -> None:
    assert not shown.windowIcon().pixmap(32, 32).toImage().isNull()
