"""The strip shows what explain says, at every step, and has room for it."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from gradviz.app.narration import Narration
from gradviz.explain import narrate
from gradviz.session import Session
from tests.scene.one_layer import recording


def test_says_the_sentences_of_the_step(qtbot: QtBot) -> None:
    session = Session()
    strip = Narration(session)
    qtbot.addWidget(strip)
    empty = strip.accessibleDescription()
    assert empty
    session.begin(recording(2, fault=True))
    for step in range(session.view.steps + 1):
        session.update(step=step)
        said = narrate(session.trace, step, "en")
        assert strip.texts() == (said.title, said.body, said.next)
        assert said.title in strip.accessibleDescription() != empty


def test_language_and_audience(qtbot: QtBot) -> None:
    session = Session()
    strip = Narration(session)
    qtbot.addWidget(strip)
    session.begin(recording(1), step=10)
    english, height = strip.texts(), strip.heightForWidth(700)
    session.update(presenter=True)
    assert strip.heightForWidth(700) > height
    assert strip.heightForWidth(300) > strip.heightForWidth(1200)
    session.update(language="zh")
    assert strip.texts()[0] == narrate(session.trace, 10, "zh").title
    assert strip.texts() != english or narrate(session.trace, 10, "zh") == narrate(session.trace, 10, "en")


def test_bar_has_the_colour_of_the_kind(qtbot: QtBot) -> None:
    session = Session()
    strip = Narration(session)
    qtbot.addWidget(strip)
    strip.resize(700, 90)
    session.begin(recording(1, fault=True))
    bars = []
    for step in (5, 9, 11, session.view.steps):
        session.update(step=step)
        bars.append(strip.grab().toImage().pixelColor(2, 45).name())
    assert len(set(bars)) == 4
