"""The list of what was done, as a recording grows."""

from __future__ import annotations

import re

import pytest
from pytestqt.qtbot import QtBot

from gradviz.app.actions_panel import ActionsPanel
from gradviz.explain.labels import place
from gradviz.session import Session
from gradviz.trace import Trace
from gradviz.trace.events import Cell, Ended, File
from tests.long_runs import loop
from tests.scene.one_layer import recording


def rows(panel: ActionsPanel) -> list[tuple[str, str, str, int]]:
    items = [panel.list.item(k) for k in range(panel.list.count())]
    return [(i.text(), i.toolTip(), i.foreground().color().name(), i.font().weight()) for i in items]


def test_rows_that_stay_are_kept_and_all_are_as_in_a_new_panel(qtbot: QtBot) -> None:
    whole, session = loop(260), Session()
    begun = [k for k, event in enumerate(whole.events) if type(event).__name__ == "Backward"]
    session.begin(Trace(whole.events[: begun[250]]))
    panel = ActionsPanel(session)
    qtbot.addWidget(panel)
    session.update(step=session.trace.steps)
    assert panel.list.count() == 200
    kept = panel.list.item(10)
    session.append(whole.events[begun[250] :])
    assert panel.list.count() == 200 and panel.list.item(0) is kept, (
        "ten new ones at the end, ten less at the beginning"
    )
    for step in (session.trace.steps, session.trace.steps // 2):
        session.update(step=step)
        fresh = ActionsPanel(session)
        qtbot.addWidget(fresh)
        assert rows(panel) == rows(fresh) and any(text.startswith("▸") for text, *_ in rows(panel)) == (step > 500)
    session.begin(loop(0))
    assert [text for text, *_ in rows(panel)] == [panel.words("ui.actions.empty")]


SENT = ("loss.backward()", "b.mul_(2)")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_lines_that_were_sent_bear_the_number_that_sentences_give_them(qtbot: QtBot, language: str) -> None:
    events = recording(1).events
    for k, text in enumerate(SENT, 1):
        events = [*events, File(k, f"<action {k}>", text), Cell(k, k, "action"), Ended(k, "ok")]
    session = Session()
    session.begin(Trace(events))
    panel = ActionsPanel(session)
    qtbot.addWidget(panel)
    session.update(language=language)
    texts = [text for text, *_ in rows(panel)]
    assert [text.strip("✖▸ ") for text in texts[-2:]] == [f"{k}: {text}" for k, text in enumerate(SENT, 1)]
    assert len(texts) == 3 and ":" not in texts[0], "the call of the program is no action"
    for k, text in enumerate(texts[-2:], 1):
        said = place(session.trace, (k, 1, 0, 1, 9), language)
        assert re.findall(r"\d+", said) == re.findall(r"\d+", text)[:1]
