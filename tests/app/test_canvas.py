"""The canvas with real clicks, wheels and keys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gradviz.app.canvas import Canvas
from gradviz.graph.model import Card, Graph, Layout
from gradviz.session import Session
from tests.scene.one_layer import placed, recording


@pytest.fixture
def canvas(qtbot: QtBot) -> Canvas:
    session = Session()
    widget = Canvas(session)
    qtbot.addWidget(widget)
    widget.resize(1000, 700)
    widget.show()
    session.begin(recording(2))
    session.update(reduced_motion=True)
    widget.set_graph(*placed())
    session.update(step=14)
    return widget


def middle(canvas: Canvas, key: str) -> QPoint:
    place = canvas.anchor(key)
    assert place is not None
    return place.center()


def picture(canvas: Canvas) -> QImage:
    return canvas.grab().toImage()


def hovered(canvas: Canvas) -> str | None:
    return canvas.session.view.hover


def turn(canvas: Canvas, at: QPoint, angle: int, keys: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    event = QWheelEvent(
        QPointF(at),
        QPointF(canvas.mapToGlobal(at)),
        QPoint(),
        QPoint(0, angle),
        Qt.MouseButton.NoButton,
        keys,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(canvas, event)


def test_first_graph_is_fitted_into_the_free_room(canvas: Canvas) -> None:
    left, top, width, height = canvas.room()
    for card in placed()[0].cards:
        place = canvas.anchor(card.key)
        assert place is not None
        assert left - 1 <= place.left() and place.right() <= left + width + 1
        assert top - 1 <= place.top() and place.bottom() <= top + height + 1
    canvas.grab()
    assert canvas.level == "near"


def test_click_selects_a_card_a_row_and_nothing(canvas: Canvas, qtbot: QtBot) -> None:
    view = canvas.session
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=middle(canvas, "leaf:0"))
    assert view.view.selection == "leaf:0"
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=middle(canvas, "node:2"))
    assert view.view.selection == "node:2"
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=QPoint(5, 690))
    assert view.view.selection is None


def test_what_is_not_born_cannot_be_clicked(canvas: Canvas, qtbot: QtBot) -> None:
    canvas.session.update(step=2)
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=middle(canvas, "op:5"))
    assert canvas.session.view.selection is None


def test_hover_lights_up_and_goes_out(canvas: Canvas, qtbot: QtBot) -> None:
    before = picture(canvas)
    QTest.mouseMove(canvas, middle(canvas, "leaf:3"))
    assert hovered(canvas) == "leaf:3"
    assert picture(canvas) != before
    QTest.mouseMove(canvas, QPoint(3, 690))
    assert hovered(canvas) is None
    assert picture(canvas) == before


def test_drag_moves_the_picture_and_selects_nothing(canvas: Canvas, qtbot: QtBot) -> None:
    start = middle(canvas, "leaf:0")
    QTest.mousePress(canvas, Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(canvas, start + QPoint(30, 20))
    QTest.mouseMove(canvas, start + QPoint(70, 50))
    QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=start + QPoint(70, 50))
    assert (middle(canvas, "leaf:0") - start - QPoint(70, 50)).manhattanLength() <= 2
    assert canvas.session.view.selection is None


def test_wheel_zooms_at_the_cursor(canvas: Canvas) -> None:
    at = middle(canvas, "op:5")
    under = canvas.eye.to_scene(at.x(), at.y())
    scale = canvas.eye.scale
    turn(canvas, at, 240)
    assert canvas.eye.scale > scale * 1.2
    assert canvas.eye.to_scene(at.x(), at.y()) == pytest.approx(under)
    turn(canvas, at, -240)
    assert canvas.eye.scale == pytest.approx(scale)


def test_wheel_can_be_set_to_scroll(canvas: Canvas) -> None:
    scale, top = canvas.eye.scale, canvas.eye.top
    canvas.wheel_zooms = False
    turn(canvas, QPoint(300, 300), -120)
    assert canvas.eye.scale == scale
    assert canvas.eye.top > top
    turn(canvas, QPoint(300, 300), 120, Qt.KeyboardModifier.ControlModifier)
    assert canvas.eye.scale > scale


def test_keys_zoom_pan_and_deselect(canvas: Canvas, qtbot: QtBot) -> None:
    scale = canvas.eye.scale
    QTest.keyClick(canvas, Qt.Key.Key_Plus)
    assert canvas.eye.scale == pytest.approx(scale * 1.25)
    QTest.keyClick(canvas, Qt.Key.Key_0)
    assert canvas.eye.scale == pytest.approx(1.0)
    left = canvas.eye.left
    QTest.keyClick(canvas, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert canvas.eye.left == pytest.approx(left + 80)
    canvas.session.update(selection="op:5")
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    assert canvas.session.view.selection is None


def test_alt_arrows_walk_along_the_wires(canvas: Canvas, qtbot: QtBot) -> None:
    canvas.session.update(selection="op:5")
    seen = []
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Left, Qt.Key.Key_Left):
        QTest.keyClick(canvas, key, Qt.KeyboardModifier.AltModifier)
        seen.append(canvas.session.view.selection)
    assert seen == ["op:6", "result:6", "op:6", "op:5", "op:4"]


def test_plain_arrows_are_left_to_the_window(canvas: Canvas, qtbot: QtBot) -> None:
    eye = canvas.eye
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.eye == eye
    assert canvas.session.view.step == 14


def test_fit_and_fit_selection(canvas: Canvas) -> None:
    whole = canvas.eye
    canvas.zoom(3.0)
    canvas.fit()
    assert canvas.eye.scale == pytest.approx(whole.scale)
    canvas.session.update(selection="result:6")
    canvas.fit_selection()
    assert canvas.eye.scale > whole.scale
    place = canvas.anchor("result:6")
    assert place is not None and canvas.rect().contains(place)


def test_the_eye_stays_when_the_graph_grows(canvas: Canvas) -> None:
    graph, layout = placed()
    before = {key: canvas.anchor(key) for key in graph.index}
    canvas.zoom(1.0)
    moved = Layout(
        layout.boxes + np.asarray([500.0, 90.0, 0.0, 0.0]),
        layout.forward_ptr,
        layout.forward_xy + np.asarray([500.0, 90.0]),
        layout.gradient_ptr,
        layout.gradient_xy + np.asarray([500.0, 90.0]),
        layout.stub,
        layout.forward_label,
        layout.gradient_label,
        layout.groups,
        (0.0, 0.0, 2000.0, 800.0),
    )
    canvas.set_graph(graph, moved)
    assert {key: canvas.anchor(key) for key in graph.index} == before


def test_a_card_out_of_view_is_brought_in_by_its_step(canvas: Canvas) -> None:
    canvas.zoom(4.0, QPointF(middle(canvas, "leaf:0")))
    assert not canvas.rect().contains(middle(canvas, "result:6"))
    canvas.session.update(step=8)
    assert canvas.rect().contains(middle(canvas, "result:6"))


def test_stepping_into_the_next_graph_shows_it_whole(canvas: Canvas) -> None:
    graph, layout = placed()
    later = tuple(replace(card, generation=1 if i > 1 else 0) for i, card in enumerate(graph.cards))
    canvas.set_graph(replace(graph, cards=later), layout)
    canvas.session.update(step=1)
    canvas.zoom(1.0)
    canvas.pan(-600.0, -700.0)
    canvas.session.update(step=8)
    for card in later[2:]:
        place = canvas.anchor(card.key)
        assert place is not None
        assert canvas.rect().contains(place), card.key


def test_double_click_unfolds_a_fold_and_opens_a_card(canvas: Canvas, qtbot: QtBot) -> None:
    with qtbot.waitSignal(canvas.opened) as told:
        QTest.mouseDClick(canvas, Qt.MouseButton.LeftButton, pos=middle(canvas, "op:5"))
    assert told.args and told.args[0] in ("op:5", "node:4")
    canvas.open("fold:blocks.7")
    assert canvas.session.view.unfolded == {"fold:blocks.7"}
    canvas.fold("fold:blocks.7")
    assert canvas.session.view.folded == {"fold:blocks.7"}
    assert canvas.session.view.unfolded == frozenset()


def test_stepping_there_and_back_paints_the_same(canvas: Canvas) -> None:
    last = canvas.session.view.steps
    canvas.session.update(step=last)
    first = picture(canvas)
    canvas.session.update(step=0)
    assert picture(canvas) != first
    canvas.session.update(step=last)
    assert picture(canvas) == first


def test_themes_differ_and_text_follows_the_level(canvas: Canvas) -> None:
    light = picture(canvas)
    canvas.session.update(theme="dark")
    assert picture(canvas) != light
    canvas.zoom(0.25)
    picture(canvas)
    assert canvas.level == "mid"
    canvas.zoom(0.3)
    picture(canvas)
    assert canvas.level == "far"


def test_hits_of_a_search_stand_out(canvas: Canvas) -> None:
    before = picture(canvas)
    canvas.set_hits(["node:5", "nonsense"])
    found = picture(canvas)
    assert found != before
    canvas.set_hits([])
    assert picture(canvas) == before


def test_the_views_search_marks_its_hits(canvas: Canvas) -> None:
    before = picture(canvas)
    canvas.session.update(search="matmul")
    assert canvas.composer is not None and canvas.composer.hits == {canvas.composer.graph.index["op:4"]}
    canvas.set_graph(*placed())
    assert canvas.composer.hits, "another layout keeps them"
    canvas.session.update(search="")
    assert not canvas.composer.hits
    assert picture(canvas) == before


def test_what_may_still_move_is_faint(canvas: Canvas) -> None:
    final = picture(canvas)
    canvas.set_graph(*placed(), provisional=4)
    assert picture(canvas) != final
    canvas.set_graph(*placed())
    assert picture(canvas) == final


def test_names_for_screen_readers(canvas: Canvas) -> None:
    assert "8" in canvas.accessibleName()
    canvas.session.update(selection="op:6")
    assert "BinaryCrossEntropyWithLogitsBackward0" in canvas.accessibleDescription()


def test_empty_canvas_says_what_to_press(qtbot: QtBot) -> None:
    widget = Canvas(Session())
    qtbot.addWidget(widget)
    widget.resize(500, 300)
    empty = picture(widget)
    widget.session.begin(recording())
    widget.set_graph(*placed())
    assert picture(widget) != empty


def test_a_new_recording_empties_the_canvas(canvas: Canvas) -> None:
    canvas.session.begin(recording())
    assert canvas.composer is None
    assert canvas.anchor("op:5") is None


def test_minimap_appears_for_many_cards_and_moves_the_eye(canvas: Canvas, qtbot: QtBot) -> None:
    assert canvas.minimap.isHidden()
    graph, layout = _row(60)
    canvas.session.begin(recording())
    canvas.set_graph(graph, layout)
    assert not canvas.minimap.isHidden()
    canvas.zoom(4.0)
    left = canvas.eye.left
    at = QPoint(canvas.minimap.width() - 12, canvas.minimap.height() // 2)
    QTest.mouseClick(canvas.minimap, Qt.MouseButton.LeftButton, pos=at)
    assert canvas.eye.left > left + 1000


def _row(count: int) -> tuple[Graph, Layout]:
    cards = tuple(Card(f"op:{i}", "op", f"op {i}", width=120, height=40) for i in range(count))
    boxes = np.asarray([(200.0 * i, 0.0, 120.0, 40.0) for i in range(count)])
    none, start = np.zeros((0, 2)), np.zeros(1, np.int64)
    layout = Layout(
        boxes, start, none, start, none, np.zeros(0, np.bool_), none, none, np.zeros((0, 4)), (0, 0, 200.0 * count, 40)
    )
    return Graph(cards, index={c.key: i for i, c in enumerate(cards)}), layout
