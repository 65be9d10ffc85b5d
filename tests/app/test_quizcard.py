"""The question card: keys and clicks, and nothing in the window that gives the answer away."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from gradviz.app.quizcard import QuizCard
from gradviz.app.status import StatusBar
from gradviz.app.window import Window


@pytest.fixture
def card(shown: Window) -> QuizCard:
    shown.trigger("quiz.level", "lecture")
    return shown.desk.stage.quiz


def texts(widget: QuizCard) -> str:
    return "\n".join(label.text() for label in widget.findChildren(QLabel) if label.isVisibleTo(widget))


def test_digits_choose_enter_reveals_and_goes_on(shown: Window, card: QuizCard, qtbot: QtBot) -> None:
    session = shown.session
    shown.desk.canvas.setFocus()
    session.update(step=8)
    assert session.ask(9, "node_value")
    asked = session.question
    assert card.isVisible() and card.hasFocus() and asked is not None
    wrong = (asked.truth + 1) % len(asked.choices)
    QTest.keyClick(card, Qt.Key(Qt.Key.Key_1 + wrong))
    assert [button.isChecked() for button in card.choices] == [k == wrong for k in range(len(asked.choices))]
    QTest.keyClick(card, Qt.Key.Key_Return)
    qtbot.wait(20)
    said = texts(card)
    assert session.view.step == 9 and asked.choices[wrong].text in said and asked.choices[asked.truth].text in said
    assert asked.choices[wrong].note in said and asked.why in said, "prediction and truth side by side"
    QTest.keyClick(card, Qt.Key.Key_Return)
    assert not card.isVisible() and shown.desk.canvas.hasFocus(), "the focus goes back to where it was"


def test_a_click_chooses_and_escape_skips(shown: Window, card: QuizCard) -> None:
    assert shown.trigger("step.next") and card.isVisible()
    QTest.mouseClick(card.choices[1], Qt.MouseButton.LeftButton)
    assert shown.session.view.quiz is not None and shown.session.view.quiz.chosen == 1
    QTest.keyClick(card, Qt.Key.Key_Escape)
    assert not card.isVisible() and shown.session.view.asked[-1].right is None
    assert shown.trigger("step.next") and shown.session.view.step == 1


def test_playing_stops_at_a_question(shown: Window, card: QuizCard, qtbot: QtBot) -> None:
    shown.session.update(speed=8.0)
    shown.trigger("play.toggle")
    qtbot.waitUntil(lambda: shown.session.view.quiz is not None, timeout=4000)
    assert shown.session.view.step == 0 and not shown.session.view.playing
    shown.trigger("play.toggle")
    assert shown.session.view.step == 1 and not shown.session.view.hides


def test_nothing_tells_what_comes(shown: Window, card: QuizCard) -> None:
    desk, session = shown.desk, shown.session
    session.update(step=8)
    before = desk.timeline.grab().toImage()
    title, _, following = desk.stage.narration.texts()
    assert following and "AddBackward0" in _sheet(shown)
    assert session.ask(9, "next_node")
    assert desk.stage.narration.texts()[2] == "" and title
    assert "AddBackward0" not in _sheet(shown), "the order of the engine is the answer"
    assert desk.timeline.grab().toImage() != before and "\n" not in desk.timeline.tip(desk.timeline.x_of(12), 60)
    assert desk.left.outline.tree.isHidden() and not shown.trigger("help.why")
    assert "grad_fn" not in _status(shown)
    session.skip()
    assert desk.timeline.grab().toImage() == before and not desk.left.outline.tree.isHidden()


def _status(window: Window) -> str:
    bar = window.statusBar()
    assert isinstance(bar, StatusBar)
    return bar.right.text()


def _sheet(window: Window) -> str:
    from gradviz.app.facts import Facts
    from gradviz.app.rows import Pair

    rows = Facts(window.session.frame, window.session.view, None).rows()
    return "\n".join(str(row) for row in rows if isinstance(row, Pair))


def test_a_card_that_is_not_born_casts_no_shadow(shown: Window, card: QuizCard) -> None:
    session, canvas = shown.session, shown.desk.canvas
    session.update(step=4)
    scene = canvas.scene()
    assert scene is not None
    shadows = len(scene.shapes())
    assert session.ask(5)
    hidden = canvas.scene()
    assert hidden is not None and len(hidden.shapes()) < shadows


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("size", [(1080, 720), (1280, 800), (1920, 1080)])
def test_every_question_fits(shown: Window, card: QuizCard, language: str, size: tuple[int, int]) -> None:
    shown.resize(*size)
    shown.session.update(language=language)
    stage = shown.desk.stage
    for kind in ("leaves", "grad_after", "freed"):
        for reveal in (False, True):
            shown.session.update(step=7)
            assert shown.session.ask(8, kind)
            if reveal:
                shown.session.choose(0)
                shown.session.reveal()
            stage.arrange()
            assert stage.rect().contains(card.geometry()), (kind, card.geometry(), stage.rect())
            for label in card.findChildren(QLabel):
                room = label.heightForWidth(label.width()) if label.wordWrap() else label.sizeHint().height()
                assert not label.text() or not label.isVisible() or label.height() >= room - 3, label.text()
