"""Presenter mode: panels, clicker keys, key caps, spotlight, the dark screen and the speaker's notes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gradviz.app.eye import sight
from gradviz.app.style import PRESENTER_PX, TEXT_PX
from gradviz.app.window import Window


@pytest.fixture
def hall(shown: Window) -> Iterator[Window]:
    """The one-layer recording before an audience, at the first backward step."""
    assert not shown.trigger("present.spotlight"), "it belongs to presenter mode"
    assert shown.trigger("view.presenter")
    shown.session.update(step=8)
    shown.activateWindow()
    shown.desk.canvas.setFocus()
    yield shown
    shown.session.update(presenter=False)


def test_chosen_panels_only(hall: Window) -> None:
    desk = hall.desk
    panels = {"toolbar": desk.toolbar, "left": desk.left, "right": desk.right, "timeline": desk.timeline}
    for name, panel in panels.items():
        before = panel.isVisible()
        assert before == (name in hall.session.view.show.panels)
        assert hall.trigger(f"present.{name}") and panel.isVisible() != before
    assert set(desk.store.settings.panels) == set(hall.session.view.show.panels), "remembered"
    hall.trigger("view.presenter")
    assert all(panel.isVisible() for panel in panels.values())


def test_what_is_at_work_on_the_right_is_seen(hall: Window) -> None:
    assert not hall.desk.right.isVisible()
    assert hall.trigger("engine.play") and hall.desk.engine.isVisible()
    hall.session.leave_engine()
    assert not hall.desk.right.isVisible()


def test_a_clicker_steps_and_the_key_is_shown(hall: Window, qtbot: QtBot) -> None:
    caps, counter = hall.desk.stage.keycaps, hall.desk.stage.counter
    QTest.keyClick(hall.desk.canvas, Qt.Key.Key_PageDown)
    assert hall.session.view.step == 9 and counter.text() == f"9 / {hall.session.trace.steps}"
    assert caps.isVisible() and "Step" in caps.text() and counter.isVisible()
    hall.trigger("present.keys")
    caps.hide()
    QTest.keyClick(hall.desk.canvas, Qt.Key.Key_PageUp)
    assert hall.session.view.step == 8 and not caps.isVisible()


def test_what_is_typed_is_not_shown(hall: Window) -> None:
    line = hall.desk.stage.search
    hall.session.update(presenter=False)
    line.setFocus()
    hall.session.update(presenter=True)
    QTest.keyClicks(line, "secret")
    assert not hall.desk.stage.keycaps.isVisible()


def test_the_dark_screen(hall: Window) -> None:
    blank = hall.desk.blank
    QTest.keyClick(hall.desk.canvas, Qt.Key.Key_B)
    assert blank.isVisible() and blank.size() == hall.size()
    hall.resize(1000, 700)
    QApplication.processEvents()
    assert blank.size() == hall.size()
    QTest.mouseClick(blank, Qt.MouseButton.LeftButton)
    assert not blank.isVisible()
    hall.trigger("present.blank")
    hall.trigger("view.presenter")
    assert not blank.isVisible(), "nothing stays dark when the lecture is over"


def test_the_spotlight_leaves_the_running_card_alone(hall: Window) -> None:
    canvas = hall.desk.canvas
    hall.session.update(step=10)
    card, other = canvas.anchor("node:4"), canvas.anchor("node:5")
    assert card is not None and other is not None
    before = canvas.grab().toImage()
    hall.trigger("present.spotlight")
    after = canvas.grab().toImage()
    assert before.pixelColor(card.center()) == after.pixelColor(card.center())
    assert before.copy(card) == after.copy(card) and before.copy(other) != after.copy(other)


def test_letters_grow(hall: Window) -> None:
    size, high = QApplication.font().pixelSize(), hall.desk.stage.narration.heightForWidth(900)
    hall.trigger("present.larger")
    assert QApplication.font().pixelSize() > size and hall.desk.stage.narration.heightForWidth(900) > high
    hall.trigger("view.presenter")
    assert QApplication.font().pixelSize() < size


def test_escape_that_nobody_wants_ends_it(hall: Window) -> None:
    hall.session.update(selection="node:4")
    QTest.keyClick(hall.desk.canvas, Qt.Key.Key_Escape)
    assert hall.session.view.selection is None and hall.session.view.presenter
    QTest.keyClick(hall.desk.canvas, Qt.Key.Key_Escape)
    assert not hall.session.view.presenter


def test_notes_tell_what_the_audience_does_not_see(hall: Window, qtbot: QtBot) -> None:
    notes = hall.desk.notes
    hall.trigger("present.notes")
    assert notes.isVisible() and notes.isWindow()
    assert hall.session.ask(9, "node_value")
    asked = hall.session.question
    assert asked is not None
    assert asked.choices[asked.truth].text in notes.text.text() and asked.why in notes.text.text()
    assert "step 8" in notes.clock.text()
    notes.close()
    assert not hall.session.view.show.notes, "closing the window is turning the notes off"
    hall.trigger("present.notes")
    hall.trigger("view.presenter")
    assert not notes.isVisible()


def test_projector_colours(hall: Window) -> None:
    hall.trigger("present.projector")
    assert hall.session.view.theme == "projector"
    hall.trigger("present.projector")
    assert hall.session.view.theme == "light"


def test_letters_of_the_timeline_and_the_inspector_grow_too(hall: Window, qtbot: QtBot) -> None:
    """What is painted is larger by as much as what Qt writes, and clicks lead where one sees them lead."""
    desk, larger_type = hall.desk, PRESENTER_PX / TEXT_PX
    sides, halves = desk.sides.sizes(), desk.halves.sizes()
    hall.trigger("present.timeline")
    hall.trigger("present.right")
    qtbot.wait(20)
    timeline, sheet = desk.timeline, desk.inspector.sheet
    assert timeline.larger == pytest.approx(larger_type) and timeline.wide < timeline.width() / 1.25
    assert timeline.high >= 168, "all tracks have the room that they need"
    QTest.mouseClick(timeline, Qt.MouseButton.LeftButton, pos=QPoint(round(timeline.x_of(11) * timeline.larger), 90))
    assert hall.session.view.step == 11
    hall.session.update(step=9)
    spot = next(spot for spot in sheet.spots if isinstance(spot.go, str) and not spot.go.startswith("do:"))
    at = QPointF(spot.box.center()) * larger_type
    QTest.mouseClick(sheet, Qt.MouseButton.LeftButton, pos=at.toPoint())
    assert hall.session.view.selection == spot.go
    before = desk.halves.sizes()
    hall.trigger("present.larger")
    assert timeline.larger > 1.2 * larger_type and desk.halves.sizes()[1] > before[1]
    hall.session.update(presenter=False)
    assert timeline.larger == 1.0 and desk.right.isVisible() and (sides, halves) != (before, before)
    assert timeline.height() < 250 and abs(desk.right.width() - 330) < 60


def test_cards_are_legible_from_the_back_row(hall: Window, qtbot: QtBot) -> None:
    """Where the whole graph would be too small, the part that is told of is shown."""
    canvas = hall.desk.canvas
    hall.session.update(presenter=False)
    qtbot.wait(30)
    small = canvas.eye.scale
    hall.session.update(presenter=True)
    for step in (2, 9, 13):
        hall.session.update(step=step)
        qtbot.wait(30)
        assert canvas.eye.scale >= sight(PRESENTER_PX / TEXT_PX).whole > small
        scene = canvas.scene()
        assert scene is not None and scene.moment.now is not None
        x, y, w, h = scene.far.boxes[scene.moment.now].tolist()
        left, top = canvas.eye.to_screen(x, y)
        rx, ry, rw, rh = canvas.room()
        assert rx - 1 <= left and left + w * canvas.eye.scale <= rx + rw + 1, step
        assert ry - 1 <= top and top + min(h * canvas.eye.scale, rh) <= ry + rh + 1, step
    hall.session.update(presenter=False)
    qtbot.wait(30)
    assert canvas.eye.scale == pytest.approx(small)
