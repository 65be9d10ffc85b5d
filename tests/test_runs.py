"""The actions on runs, on a session without a window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gradviz import runs
from gradviz.session import Session
from gradviz.trace import open_trace


class Noted:
    """A port that opens what it is told to."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.surfaced: list[str] = []
        self.answer: str | None = None

    def ask_path(self, kind: str, suggestion: str, *, saving: bool) -> str | None:
        return self.answer

    def open_other(self, path: str) -> None:
        self.session.compare_with(open_trace(path), Path(path).name)

    def surface(self, what: str) -> None:
        self.surfaced.append(what)


@pytest.fixture
def port(recorded: Callable[[str], Path]) -> Noted:
    session = Session()
    session.begin(open_trace(recorded("one_layer")))
    return Noted(session)


def test_the_run_before_is_kept_and_compared_with(port: Noted, recorded: Callable[[str], Path]) -> None:
    session, first = port.session, port.session.trace
    runs.compare(session, port, "")
    assert session.view.comparing and session.before is None and runs.differs(1)(session) == "ui.reason.not_compared"
    session.begin(open_trace(recorded("accumulation")))
    second = session.trace
    assert session.before is first and session.aligned is not None
    session.begin(open_trace(recorded("one_layer")))
    assert session.before is first is not second, "a comparison goes on with what it began with"
    assert runs.differs(0)(session) == "ui.reason.no_difference"
    session.update(live="running")
    assert session.aligned is None and runs.differs(0)(session) == "ui.reason.running"


def test_differences_are_walked_both_ways(port: Noted, recorded: Callable[[str], Path]) -> None:
    session = port.session
    port.answer = str(recorded("second_backward"))
    runs.compare_file(session, port, "")
    aligned = session.aligned
    assert aligned is not None and session.moment == aligned.next(0)
    forward = [session.moment]
    while runs.differs(1)(session) is None:
        runs.to_difference(1)(session, port, "")
        forward.append(session.moment)
    back = [session.moment]
    while runs.differs(-1)(session) is None:
        runs.to_difference(-1)(session, port, "")
        back.append(session.moment)
    assert forward == back[::-1] == [m for m in range(1, aligned.last + 1) if aligned.differs(m)]
    session.update(step=3)
    assert session.moment == aligned.moment(3), "the clock goes with the playhead"
    runs.keep(session, port, "")
    assert session.before is session.trace and session.view.step == 3


def test_breakpoints_are_set_and_gone_to(port: Noted) -> None:
    session = port.session
    assert runs.stops(1)(session) == "ui.reason.no_breakpoint"
    runs.mark(session, port, "")
    assert port.surfaced == ["breakpoint"]
    runs.mark(session, port, "op:2")
    runs.to_stop(1)(session, port, "")
    event = session.trace.event_at(session.view.step)
    assert event is session.trace.ops[2] and runs.stops(1)(session) == "ui.reason.no_more_breakpoints"
    session.update(step=session.view.steps)
    runs.to_stop(-1)(session, port, "")
    assert session.trace.event_at(session.view.step) is event
    runs.mark(session, port, "op:2")
    assert not session.view.breaks
