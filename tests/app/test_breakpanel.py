"""Breaking the example on purpose in the window, and undoing it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from gradviz.app.window import Window
from gradviz.player.forms import OneLayer


def test_an_experiment_is_run_compared_and_undone(live: Window, qtbot: QtBot) -> None:
    session, panel = live.session, live.desk.broken
    text, steps = session.view.program.text, session.trace.steps
    assert live.trigger("break.it") and live.desk.breaks.isVisible()
    kinds = [live.desk.breaks.list.item(k).text() for k in range(live.desk.breaks.list.count())]
    assert any("z.add_(1)" in kind for kind in kinds) and not panel.isVisible()
    live.desk.breaks.list.setCurrentRow(next(k for k, kind in enumerate(kinds) if "z.add_(1)" in kind))
    QTest.keyClick(live.desk.breaks.list, Qt.Key.Key_Return)
    assert not live.desk.breaks.isVisible() and panel.isVisible() and session.comparison is None
    assert live.wait_ready(30)
    qtbot.wait(20)
    found = session.comparison
    assert found is not None and found.step is not None
    said = "\n".join(label.text() for label in panel.findChildren(QLabel))
    assert (
        "w.grad" in said
        and "b.grad" in said
        and "changed in place" in said
        and "z.add_(1)" in session.trace.header.source
    )
    panel.jump.click()
    assert session.view.step == found.step and session.trace.kind(found.step) == "fault"
    assert live.trigger("break.it", "twice") and live.wait_ready(30), "another one, of the unbroken program"
    assert "z.add_(1)" not in session.trace.header.source and session.trace.steps > steps
    panel.undo.click()
    assert live.wait_ready(30) and not panel.isVisible()
    assert session.view.program.text == text == session.trace.header.source and session.trace.steps == steps
    assert isinstance(session.view.program.form, OneLayer), "the form that wrote it is back"


def test_another_program_ends_the_experiment(live: Window) -> None:
    assert live.trigger("break.it", "freeze") and live.wait_ready(30)
    assert live.session.view.experiment is not None
    live.desk.toolbar.example.emit(1)
    assert live.session.view.experiment is None and not live.desk.broken.isVisible()
