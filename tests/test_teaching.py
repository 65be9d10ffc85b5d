"""The actions for teaching, on a session without a window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gradviz.actions import ACTIONS, trigger
from gradviz.player.program import Program
from gradviz.player.view import ViewState
from gradviz.session import Session
from gradviz.trace import open_trace
from tests.test_actions import Noted


def test_stepping_asks_first_and_reveals_then(recorded: Callable[[str], Path]) -> None:
    session, port = Session(ViewState(level="lecture")), Noted()
    session.begin(open_trace(recorded("one_layer")))
    assert trigger(session, port, "step.next") and session.view.step == 0 and session.view.hides
    assert not trigger(session, port, "help.why"), "it would give the answer away"
    assert trigger(session, port, "step.next") and session.view.step == 1 and not session.view.hides
    assert trigger(session, port, "quiz.reveal") and session.view.quiz is None
    assert trigger(session, port, "quiz.ask") and session.view.quiz is not None
    assert trigger(session, port, "quiz.skip") and not trigger(session, port, "quiz.reveal")
    assert trigger(session, port, "quiz.level", "off") and session.view.level == "off"
    step = session.view.step
    assert trigger(session, port, "step.next") and session.view.step == step + 1 and session.view.quiz is None


class Rerunning(Noted):
    """A port that takes the program, as the window does."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def rerun(self, program: Program, actions: tuple[str, ...] = ()) -> None:
        super().rerun(program, actions)
        self._session.update(program=program)


@pytest.fixture
def session(recorded: Callable[[str], Path]) -> Session:
    made = Session()
    trace = open_trace(recorded("one_layer"))
    made.begin(trace)
    made.update(program=Program(trace.header.source))
    return made


def test_the_engine_is_begun_and_left(session: Session) -> None:
    port = Noted()
    assert trigger(session, port, "engine.play")
    assert session.view.engine is not None and session.view.step == session.trace.pass_step.view[0]
    assert trigger(session, port, "engine.play") and session.view.engine is None
    assert trigger(session, port, "engine.play", "0")
    assert trigger(session, port, "step.previous") and session.view.engine is None, "who steps away leaves it"


def test_an_experiment_reruns_a_copy_and_undo_brings_the_program_back(session: Session) -> None:
    port, text = Rerunning(session), session.view.program.text
    assert trigger(session, port, "break.it") and port.calls == [("surface", "break")]
    assert trigger(session, port, "break.it", "no such thing") and len(port.calls) == 1
    assert trigger(session, port, "break.it", "in_place")
    name, broken, lines = port.calls[-1]
    assert name == "rerun" and broken != text and "z.add_(1)" in str(broken) and lines == ()
    assert session.view.experiment is not None
    assert session.comparison is None, "the recording is still the unbroken one"
    assert trigger(session, port, "edit.undo") and port.calls[-1] == ("rerun", text, ())
    assert session.view.experiment is None and session.view.program.text == text


def test_presenter_rows_belong_to_presenter_mode(session: Session) -> None:
    rows = [row.id for row in ACTIONS if row.id.startswith("present.")]
    assert len(rows) > 10 and not any(trigger(session, Noted(), row) for row in rows)
    session.update(presenter=True)
    for row in rows:
        before = session.view
        assert trigger(session, Noted(), row) and session.view != before, row
