"""The garbage collector walks neither through the window nor through a recording; a look at all is for idle moments."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from gradviz.app import collector
from gradviz.app.collector import Collector
from gradviz.session import Session
from gradviz.trace import Trace
from gradviz.trace.trace import History
from tests.long_runs import loop


@pytest.fixture
def session(qtbot: QtBot) -> Iterator[Session]:
    session = Session()
    spared = Collector(session)
    spared.idle.setInterval(30)
    yield session
    spared.close()
    assert not gc.get_freeze_count()


def walked(trace: Trace) -> int:
    """How many histories of a recording the collector looks at."""
    mine = {id(history) for history in trace.tensors.values()}
    return sum(type(known) is History and id(known) in mine for known in gc.get_objects())


class Circle:
    """Refers to itself, so that the collector alone can end it."""

    left = 0

    def __init__(self) -> None:
        self.me = self
        Circle.left += 1

    def __del__(self) -> None:
        Circle.left -= 1


def test_what_was_recorded_is_spared(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "EVERY", 1000)
    long = loop(200)
    session.begin(Trace())
    grown = session.trace
    session.append(long.events[:900])
    before = walked(grown)
    assert before > 100
    session.append(long.events[900:1100])
    assert walked(grown) == 0
    session.append(long.events[1100:])
    assert walked(grown) == 0 and len(grown.tensors) > 2 * before


def test_all_that_lives_is_looked_at_when_nothing_happens(session: Session, qtbot: QtBot) -> None:
    Circle()
    gc.freeze()
    gc.collect()
    assert Circle.left == 1, "it is spared"
    session.update(live="running")
    session.begin(Trace())
    qtbot.wait(60)
    assert Circle.left == 1, "more is being recorded"
    session.update(live="ready")
    qtbot.waitUntil(lambda: Circle.left == 0)
    assert gc.get_freeze_count() > 10_000


def test_a_large_recording_is_not_looked_at(session: Session, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "EVERY", 100)
    session.begin(loop(50))
    Circle()
    gc.freeze()
    qtbot.waitUntil(lambda: walked(session.trace) == 0)
    qtbot.wait(60)
    assert Circle.left == 1
    gc.unfreeze()
    gc.collect()
    assert Circle.left == 0
