"""The table of actions: complete, without clashes, worded in every language, and harmless on any session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gradviz.actions import ACTIONS, BY_ID, MENUS, trigger
from gradviz.assets import path as asset
from gradviz.explain import LANGUAGES, Words
from gradviz.player.forms import OneLayer, Seed
from gradviz.player.program import Program, from_form
from gradviz.player.view import ViewState
from gradviz.session import Session
from gradviz.trace import Trace, open_trace
from tests.long_runs import loop, work

FIXED = [
    "step.next",
    "step.previous",
    "step.next_line",
    "step.previous_line",
    "step.first",
    "step.last",
    "play.toggle",
    "run.program",
    "run.stop",
    "run.backward",
    "run.forward",
    "grad.zero",
    "grad.none",
    "option.retain_graph",
    "option.create_graph",
    "file.open",
    "file.save",
    "file.save_recording",
    "file.save_session",
    "edit.undo",
    "file.export",
    "view.fit",
    "view.find",
    "view.fold_all",
    "view.unfold_all",
    "view.presenter",
    "view.theme",
    "view.language",
    "help.keys",
    "help.why",
]


class Noted:
    """A port that does nothing but remember."""

    def __init__(self, answer: str | None = None) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.answer = answer

    def handout(self, path: str) -> None:
        self.calls.append(("handout", path))

    def rerun(self, program: Program, actions: tuple[str, ...] = ()) -> None:
        self.calls.append(("rerun", program.text, actions))

    def run_program(self, actions: tuple[str, ...] = ()) -> None:
        self.calls.append(("run", actions))

    def stop(self) -> None:
        self.calls.append(("stop",))

    def send(self, line: str, *, typed: bool = False) -> None:
        self.calls.append(("type" if typed else "send", line))

    def ask_path(self, kind: str, suggestion: str, *, saving: bool) -> str | None:
        self.calls.append(("ask", kind, suggestion, saving))
        return self.answer

    def open(self, path: str) -> None:
        self.calls.append(("open", path))

    def open_other(self, path: str) -> None:
        self.calls.append(("other", path))

    def write_text(self, path: str, text: str) -> bool:
        self.calls.append(("text", path, text))
        return True

    def write_recording(self, path: str) -> None:
        self.calls.append(("recording", path))

    def export(self, path: str) -> None:
        self.calls.append(("export", path))

    def height(self) -> int:
        return 800

    def surface(self, what: str) -> None:
        self.calls.append(("surface", what))

    def open_lesson(self, ident: str) -> None:
        self.calls.append(("lesson", ident))

    def follow_lesson(self) -> None:
        self.calls.append(("following",))


@pytest.fixture
def one_layer(recorded: Callable[[str], Path]) -> Session:
    """The one-layer recording, as if its process were alive."""
    session = Session(ViewState(program=from_form(OneLayer())))
    session.begin(open_trace(recorded("one_layer")))
    session.update(live="ready")
    return session


# ---- the table


def test_every_promised_id_is_there_once() -> None:
    ids = [row.id for row in ACTIONS]
    assert set(FIXED) <= set(ids) and len(ids) == len(set(ids))
    assert {row.menu for row in ACTIONS} == set(MENUS)


def test_no_key_means_two_things() -> None:
    anywhere = [key for row in ACTIONS for key in row.keys]
    plain = [key for row in ACTIONS for key in (*row.keys, *row.plain)]
    clicker = [key for row in ACTIONS for key in (*row.keys, *row.clicker)]
    for keys in (anywhere, plain, clicker):
        assert len(keys) == len(set(keys))


def test_plain_keys_are_never_window_wide() -> None:
    for row in ACTIONS:
        assert all("+" in key or (key.startswith("F") and key[1:].isdigit()) for key in row.keys), row.id


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_row_is_worded(language: str) -> None:
    words = Words(language)
    for row in ACTIONS:
        assert words.raw(row.title) and words.raw(row.sentence), row.id
        assert words(row.title) != row.title and not words(row.title).endswith(("…", "."))
    for menu in MENUS:
        assert f"ui.menu.{menu}" in words


def test_every_icon_is_there() -> None:
    assert not [row.icon for row in ACTIONS if row.icon and not asset("icons", f"{row.icon}.svg").exists()]


# ---- any session


@pytest.mark.parametrize("ident", [row.id for row in ACTIONS])
@pytest.mark.parametrize("live", ["none", "starting", "running", "ready", "gone"])
def test_every_action_runs_on_an_empty_session(ident: str, live: str) -> None:
    session, port = Session(ViewState(live=live)), Noted()  # type: ignore[arg-type]
    before = session.view
    done = trigger(session, port, ident)
    reason = BY_ID[ident].when(Session(before))
    assert done == (reason is None)
    if reason is not None:
        assert session.view == before and not port.calls and reason in Words("en") and reason in Words("zh")


@pytest.mark.parametrize("ident", [row.id for row in ACTIONS])
@pytest.mark.parametrize("step", [0, 7, 14])
def test_every_action_runs_on_a_recording(one_layer: Session, ident: str, step: int) -> None:
    one_layer.update(step=step)
    trigger(one_layer, Noted("/tmp/x"), ident)
    assert 0 <= one_layer.view.step <= one_layer.view.steps


# ---- stepping


def test_steps_and_their_ends(one_layer: Session) -> None:
    port, seen = Noted(), []
    assert not trigger(one_layer, port, "step.previous") and one_layer.view.step == 0
    while trigger(one_layer, port, "step.next"):
        seen.append(one_layer.view.step)
    assert seen == list(range(1, 15))
    assert not trigger(one_layer, port, "step.last")
    trigger(one_layer, port, "step.previous_line")
    assert one_layer.view.step == 7, "the whole backward call is one line"
    trigger(one_layer, port, "step.next_line")
    assert one_layer.view.step == 14
    trigger(one_layer, port, "step.first")
    assert one_layer.view.step == 0


def test_play_starts_over_at_the_end_and_stepping_stops_it(one_layer: Session) -> None:
    port = Noted()
    one_layer.update(step=14)
    trigger(one_layer, port, "play.toggle")
    assert one_layer.view.playing and one_layer.view.step == 0
    trigger(one_layer, port, "step.next")
    assert not one_layer.view.playing and one_layer.view.step == 1
    trigger(one_layer, port, "play.toggle")
    trigger(one_layer, port, "play.toggle")
    assert not one_layer.view.playing and one_layer.view.alpha == 1.0


# ---- acting


def test_buttons_send_one_line(one_layer: Session) -> None:
    port = Noted()
    trigger(one_layer, port, "run.backward")
    trigger(one_layer, port, "option.retain_graph")
    trigger(one_layer, port, "run.backward")
    trigger(one_layer, port, "grad.zero")
    trigger(one_layer, port, "grad.none", "b")
    trigger(one_layer, port, "run.forward")
    assert [call[1] for call in port.calls] == [
        "loss.backward(retain_graph=True)",
        "loss.backward()",
        "w.grad.zero_(); b.grad.zero_()",
        "b.grad = None",
        "z = torch.matmul(x, w) + b; loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)",
    ]


def test_a_typed_gradient_must_be_numbers(recorded: Callable[[str], Path]) -> None:
    session, port = Session(), Noted()
    session.begin(open_trace(recorded("accumulation")))
    session.update(live="ready", seed=Seed("typed", typed="os"))
    assert not trigger(session, port, "run.backward") and not port.calls
    assert BY_ID["run.backward"].when(session) == "ui.reason.typed_syntax"
    session.update(seed=Seed("typed", typed="2"))
    assert trigger(session, port, "run.backward")
    assert port.calls == [("send", "out.backward(torch.full_like(out, 2), retain_graph=True)")]


def test_undo_runs_all_but_the_last(one_layer: Session) -> None:
    port = Noted()
    assert not trigger(one_layer, port, "edit.undo")
    one_layer.update(actions=("a", "b"))
    trigger(one_layer, port, "edit.undo")
    assert port.calls == [("run", ("a",))]


# ---- files


def test_saving_asks_once_and_remembers(one_layer: Session) -> None:
    port = Noted("/tmp/mine.py")
    trigger(one_layer, port, "file.save")
    assert port.calls[0] == ("ask", "program", "one_layer.py", True)
    assert one_layer.view.program.path == "/tmp/mine.py" and not one_layer.view.program.modified
    trigger(one_layer, port, "file.save")
    assert [call[0] for call in port.calls] == ["ask", "text", "text"]


def test_thinking_better_of_it_writes_nothing(one_layer: Session) -> None:
    port = Noted(None)
    for ident in ("file.open", "file.save", "file.save_recording", "file.save_session", "file.export"):
        trigger(one_layer, port, ident)
    assert [call[0] for call in port.calls] == ["ask"] * 5


def test_theme_and_language_go_round_or_to_a_name() -> None:
    session, port = Session(), Noted()
    trigger(session, port, "view.theme")
    trigger(session, port, "view.language", "zh")
    assert (session.view.theme, session.view.language) == ("dark", "zh")
    trigger(session, port, "view.theme", "projector")
    assert session.view.theme == "projector"
    trigger(session, port, "view.theme")
    assert session.view.theme == "light"


def test_no_such_action() -> None:
    with pytest.raises(KeyError):
        trigger(Session(), Noted(), "no.such")


def test_an_empty_recording_is_no_recording() -> None:
    session = Session()
    session.begin(Trace())
    assert BY_ID["file.export"].when(session) == "ui.reason.empty"


def test_a_step_of_a_long_recording_asks_as_little_as_one_of_a_short_one() -> None:
    asked = []
    for times in (20, 2500):
        trace = loop(times)
        session = Session()
        session.begin(trace)
        session.update(live="ready", program=Program(trace.header.source, "loop.py"), step=trace.steps // 3)
        reasons = [row.when(session) for row in ACTIONS]  # what holds for the whole recording is found out once
        session.update(step=trace.steps // 2)
        asked.append((work(lambda s=session: [row.when(s) for row in ACTIONS]), reasons))  # type: ignore[misc]
        assert BY_ID["run.forward"].when(session) is BY_ID["break.it"].when(session) is None
    assert asked[0] == asked[1]


def test_what_holds_for_a_recording_is_asked_anew_as_it_grows() -> None:
    trace, grown = loop(3), loop(0)
    session = Session()
    session.begin(grown)
    session.update(live="ready", program=Program(trace.header.source, "loop.py"))
    wanted = ("run.forward", "engine.play")
    assert all(BY_ID[ident].when(session) is not None for ident in wanted)
    kinds = {experiment.kind for experiment in session.breakable}
    grown.ended.clear()
    session.append(trace.events[len(grown.events) - 1 :])
    assert all(BY_ID[ident].when(session) is None for ident in wanted)
    assert kinds < {experiment.kind for experiment in session.breakable}
    session.update(program=Program("x = 1\n", "loop.py"))
    assert not session.breakable
