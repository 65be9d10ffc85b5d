"""Everything that a person can do, declared once: menus, toolbar, keys, palette and tooltips are read off `ACTIONS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from gradviz import runs, teaching
from gradviz.player.lesson_steps import tensor_named
from gradviz.player.lesson_tell import place
from gradviz.player.lessons import Lesson
from gradviz.player.lines import Leaf, acts, backward_line, none_line, typed_error, zero_line
from gradviz.player.navigate import next_line, previous_line
from gradviz.player.program import Program, saved_as, script
from gradviz.player.quiz import LEVELS
from gradviz.player.show import PANELS
from gradviz.player.view import SPEEDS, go
from gradviz.session import Session
from gradviz.settings import LANGUAGES, THEMES


class Port(Protocol):
    """What an action needs from its surroundings. The window answers with widgets, a test with values."""

    def run_program(self, actions: tuple[str, ...] = ()) -> None:
        """Record the program anew, then send these lines."""

    def rerun(self, program: Program, actions: tuple[str, ...] = ()) -> None:
        """Take another program and record it, then send these lines."""

    def stop(self) -> None:
        """End the running program within a second."""

    def send(self, line: str, *, typed: bool = False) -> None:
        """Run a line in the live process. One that was `typed` prints the values of its expressions."""

    def ask_path(self, kind: str, suggestion: str, *, saving: bool) -> str | None:
        """Ask for a file: "open", "program", "recording", "export". None: the person thought better of it."""

    def open(self, path: str) -> None:
        """Show a recording, or load and record a program."""

    def open_other(self, path: str) -> None:
        """Show a recording beside the one that is shown."""

    def write_text(self, path: str, text: str) -> bool:
        """Write a text file; False where that failed, and the person has been told."""

    def write_recording(self, path: str) -> None:
        """Write the recording."""

    def export(self, path: str) -> None:
        """Write the step that is shown in the format that the file's name asks for."""

    def handout(self, path: str) -> None:
        """Write the recording as a PDF to print."""

    def height(self) -> int:
        """Pixels that the window is high."""

    def surface(self, what: str) -> None:
        """Bring something up: "find", "palette", "keys", "why", "fit", "fold_all", "unfold_all", "console",
        "setup", "lessons", "difference" or "jacobian"."""

    def open_lesson(self, ident: str) -> None:
        """Open one of the lessons that come with gradviz, and record its program."""

    def follow_lesson(self) -> None:
        """Open the lesson after the one that is open, or show the list where there is none."""


Run = Callable[[Session, Port, str], None]
When = Callable[[Session], str | None]


@dataclass(frozen=True, slots=True)
class Action:
    """One row: what it is called is `ui.action.ID.title` and `ui.action.ID.sentence` in the word lists."""

    id: str
    run: Run
    menu: str
    keys: tuple[str, ...] = ()
    """Work everywhere; the first one is shown."""
    plain: tuple[str, ...] = ()
    """Work only while canvas or timeline has the focus: elsewhere they belong to trees and editors."""
    clicker: tuple[str, ...] = ()
    """Work in presenter mode: what the remote controls of lecture halls send."""
    icon: str = ""
    when: When = lambda session: None
    """None: it can be done. Else the key of the sentence that says why not."""
    checked: Callable[[Session], bool] | None = None
    """For a switch: whether it is on."""
    asks: bool = False
    """It asks for something before it does anything: its title ends in "…"."""

    @property
    def title(self) -> str:
        """Key of the title."""
        return f"ui.action.{self.id}.title"

    @property
    def sentence(self) -> str:
        """Key of the sentence."""
        return f"ui.action.{self.id}.sentence"


# ---- when


def _has_steps(session: Session) -> str | None:
    return None if session.view.steps else "ui.reason.empty"


def _not_first(session: Session) -> str | None:
    return _has_steps(session) or (None if session.view.step > 0 else "ui.reason.first")


def _not_last(session: Session) -> str | None:
    return _has_steps(session) or (None if session.view.step < session.view.steps else "ui.reason.last")


def _has_program(session: Session) -> str | None:
    return None if session.view.program.text.strip() else "ui.reason.no_program"


def _running(session: Session) -> str | None:
    return None if session.view.running else "ui.reason.not_running"


def _ready(session: Session) -> str | None:
    """The live process takes a line."""
    reasons = {
        "starting": "ui.reason.running",
        "running": "ui.reason.running",
        "none": "ui.reason.file",
        "gone": "ui.reason.gone",
    }
    return reasons.get(session.view.live)


def _backward(session: Session) -> str | None:
    if reason := _ready(session):
        return reason
    if session.root is None:
        return "ui.reason.no_root"
    seed = session.view.seed
    typed = not session.root.scalar and seed.kind == "typed" and typed_error(seed.typed)
    return f"ui.reason.typed_{typed}" if typed else None


def _some_grad(session: Session) -> str | None:
    if reason := _ready(session):
        return reason
    if not session.leaves:
        return "ui.reason.no_leaf"
    return None if any(leaf.has_grad for leaf in session.leaves) else "ui.reason.no_grad"


def _forward(session: Session) -> str | None:
    if reason := _ready(session):
        return reason
    return None if session.forward else "ui.reason.no_forward"


def _undo(session: Session) -> str | None:
    if session.view.running:
        return "ui.reason.running"
    return None if session.view.actions or session.view.experiment else "ui.reason.no_action"


def _recorded(session: Session) -> str | None:
    if session.view.hides:
        return "ui.reason.asked"
    return None if session.trace.events else "ui.reason.empty"


def _in_lesson(session: Session) -> str | None:
    return None if session.view.lesson is not None else "ui.reason.no_lesson"


def _later_lesson(session: Session) -> str | None:
    return _in_lesson(session) or ("ui.reason.running" if session.view.running else None)


def _earlier_lesson(session: Session) -> str | None:
    return _later_lesson(session) or (None if session.view.checkpoint else "ui.reason.first_checkpoint")


# ---- run


def _to(session: Session, step: int, *, animate: bool = False) -> None:
    view = replace(session.view, playing=False, following=False)
    session.show(go(view, step, animate=animate))


def _next(session: Session, port: Port, argument: str) -> None:
    if session.view.hides:
        session.reveal()
    elif not session.ask(session.view.step + 1):
        _to(session, session.view.step + 1, animate=True)


def _previous(session: Session, port: Port, argument: str) -> None:
    _to(session, session.view.step - 1)


def _next_line(session: Session, port: Port, argument: str) -> None:
    _to(session, next_line(session.trace, session.view.step))


def _previous_line(session: Session, port: Port, argument: str) -> None:
    _to(session, previous_line(session.trace, session.view.step))


def _first(session: Session, port: Port, argument: str) -> None:
    _to(session, 0)


def _last(session: Session, port: Port, argument: str) -> None:
    _to(session, session.view.steps)
    if session.view.live == "running":
        session.update(following=True)


def _play(session: Session, port: Port, argument: str) -> None:
    view = session.view
    if view.hides:
        session.reveal()
    elif view.playing:
        session.update(playing=False, alpha=1.0)
    elif view.step >= view.steps:
        session.update(step=0, playing=True, alpha=1.0)
    else:
        session.update(playing=True)


def _speed(change: int) -> Run:
    def run(session: Session, port: Port, argument: str) -> None:
        nearest = min(range(len(SPEEDS)), key=lambda k: abs(SPEEDS[k] - session.view.speed))
        session.update(speed=SPEEDS[max(0, min(len(SPEEDS) - 1, nearest + change))])

    return run


def _run_program(session: Session, port: Port, argument: str) -> None:
    port.run_program()


def _stop(session: Session, port: Port, argument: str) -> None:
    port.stop()


def _run_backward(session: Session, port: Port, argument: str) -> None:
    view, root = session.view, session.root
    if root is not None:
        keep = {"retain_graph": view.retain_graph, "create_graph": view.create_graph}
        port.send(backward_line(root, view.seed, **keep))


def _run_forward(session: Session, port: Port, argument: str) -> None:
    if session.forward:
        port.send(session.forward)


def _run_line(session: Session, port: Port, argument: str) -> None:
    if argument.strip():
        port.send(argument, typed=True)
    else:
        port.surface("console")


def _chosen(session: Session, argument: str) -> list[Leaf]:
    """All leaves that have a gradient, or the one of that name."""
    return [leaf for leaf in session.leaves if leaf.has_grad and argument in ("", leaf.name)]


def _zero(session: Session, port: Port, argument: str) -> None:
    if chosen := _chosen(session, argument):
        port.send(zero_line(chosen))


def _none(session: Session, port: Port, argument: str) -> None:
    if chosen := _chosen(session, argument):
        port.send(none_line(chosen))


def _switch(field: str) -> Run:
    def run(session: Session, port: Port, argument: str) -> None:
        session.update(**{field: not getattr(session.view, field)})

    return run


def _is_on(field: str) -> Callable[[Session], bool]:
    return lambda session: bool(getattr(session.view, field))


def _cycle(field: str, values: tuple[str, ...], known: tuple[str, ...]) -> Run:
    """To the next of `values`, or to the one of `known` that the argument names."""

    def run(session: Session, port: Port, argument: str) -> None:
        now = getattr(session.view, field)
        after = values[(values.index(now) + 1) % len(values)] if now in values else values[0]
        session.update(**{field: argument if argument in known else after})

    return run


def _mode(mode: str) -> Run:
    return lambda session, port, argument: session.update(mode=mode)


def _open(session: Session, port: Port, argument: str) -> None:
    path = argument or port.ask_path("open", "", saving=False)
    if path:
        port.open(path)


def _save(session: Session, port: Port, argument: str) -> None:
    program = session.view.program
    path = argument or program.path or port.ask_path("program", program.file_name, saving=True)
    if path and port.write_text(path, program.text):
        session.update(program=saved_as(program, path))


def _stem(session: Session) -> str:
    return session.view.program.file_name.removesuffix(".py")


def _save_recording(session: Session, port: Port, argument: str) -> None:
    path = argument or port.ask_path("recording", f"{_stem(session)}.gradviz", saving=True)
    if path:
        port.write_recording(path)


def _save_session(session: Session, port: Port, argument: str) -> None:
    path = argument or port.ask_path("program", f"{_stem(session)}_session.py", saving=True)
    if path:
        sent = [act for act in acts(session.trace, limit=1_000_000) if act.origin != "program"]
        port.write_text(path, script(session.trace.header.source, sent))


def _undo_action(session: Session, port: Port, argument: str) -> None:
    broken = session.view.experiment
    if broken is not None:
        session.update(experiment=None)
        port.rerun(broken.program, broken.actions)
        return
    port.run_program(session.view.actions[:-1])


def _export(session: Session, port: Port, argument: str) -> None:
    path = argument or port.ask_path("export", f"{_stem(session)}-{session.view.step}.svg", saving=True)
    if path:
        port.export(path)


def _lesson(session: Session, port: Port, argument: str) -> None:
    if argument:
        port.open_lesson(argument)
    else:
        port.surface("lessons")


def _checkpoint(change: int) -> Run:
    def run(session: Session, port: Port, argument: str) -> None:
        lesson, wanted = session.view.lesson, session.view.checkpoint + change
        if lesson is not None and wanted >= len(lesson.checkpoints):
            port.follow_lesson()
        elif lesson is not None:
            _visit(session, lesson, max(0, wanted), animate=change > 0)

    return run


def _here(session: Session, port: Port, argument: str) -> None:
    if session.view.lesson is not None:
        _visit(session, session.view.lesson, session.view.checkpoint, animate=False)


def _visit(session: Session, lesson: Lesson, number: int, *, animate: bool) -> None:
    """To the step of a checkpoint, with its tensor selected. Where this recording lacks it, its words are told all the
    same."""
    point, trace = lesson.checkpoints[number], session.trace
    step = place(trace, point)
    if step is None:
        session.update(checkpoint=number)
        return
    tensor = tensor_named(trace, point.select, step) if point.select else None
    chosen = None if tensor is None else f"tensor:{tensor}"
    mode = point.view or session.view.mode
    view = replace(session.view, checkpoint=number, playing=False, following=False, selection=chosen, mode=mode)
    session.show(go(view, step, animate=animate))


def _close_lesson(session: Session, port: Port, argument: str) -> None:
    session.update(lesson=None, checkpoint=0)


def _surface(what: str) -> Run:
    return lambda session, port, argument: port.surface(what)


MENUS: tuple[str, ...] = ("file", "edit", "run", "play", "teach", "view", "present", "help")

ACTIONS: tuple[Action, ...] = (
    Action("file.open", _open, "file", ("Ctrl+O",), icon="open", asks=True),
    Action("file.save", _save, "file", ("Ctrl+S",), icon="save", when=_has_program),
    Action("file.save_recording", _save_recording, "file", ("Ctrl+Shift+S",), when=_recorded, asks=True),
    Action("file.save_session", _save_session, "file", when=_recorded, asks=True),
    Action("file.export", _export, "file", ("Ctrl+Shift+E",), icon="export", when=_recorded, asks=True),
    Action("file.handout", teaching.handout, "file", when=_recorded, asks=True),
    Action("edit.undo", _undo_action, "edit", ("Ctrl+Z",), icon="undo", when=_undo),
    Action("edit.program", _switch("editing"), "edit", ("Ctrl+E",), icon="edit", checked=_is_on("editing")),
    Action("view.find", _surface("find"), "edit", ("Ctrl+F",), ("/",), icon="find"),
    Action("run.program", _run_program, "run", ("F5",), icon="run", when=_has_program),
    Action("run.setup", _surface("setup"), "run", ("Ctrl+F5",), when=_has_program, asks=True),
    Action("run.stop", _stop, "run", ("Shift+F5",), icon="stop", when=_running),
    Action("run.backward", _run_backward, "run", ("Ctrl+Shift+B",), icon="backward", when=_backward),
    Action("run.forward", _run_forward, "run", ("Ctrl+Shift+F",), icon="forward", when=_forward),
    Action("run.line", _run_line, "run", ("Ctrl+L",), when=_ready, asks=True),
    Action("compare.toggle", runs.compare, "run", ("Ctrl+D",), when=_recorded, checked=lambda s: s.view.comparing),
    Action("compare.open", runs.compare_file, "run", when=_recorded, asks=True),
    Action("compare.first", runs.to_difference(0), "run", when=runs.differs(0)),
    Action("compare.next", runs.to_difference(1), "run", ("F4",), when=runs.differs(1)),
    Action("compare.previous", runs.to_difference(-1), "run", ("Shift+F4",), when=runs.differs(-1)),
    Action("compare.keep", runs.keep, "run", when=_recorded),
    Action("grad.zero", _zero, "run", ("Ctrl+Shift+0",), icon="zero", when=_some_grad),
    Action("grad.none", _none, "run", icon="none", when=_some_grad),
    Action("option.retain_graph", _switch("retain_graph"), "run", checked=_is_on("retain_graph")),
    Action("option.create_graph", _switch("create_graph"), "run", checked=_is_on("create_graph")),
    Action("probe.difference", _surface("difference"), "run", when=lambda s: _ready(s) or s.no_leaf),
    Action("probe.jacobian", _surface("jacobian"), "run", when=lambda s: _ready(s) or s.no_leaf),
    Action("step.first", _first, "play", ("Ctrl+Home",), ("Home",), icon="first", when=_not_first),
    Action("step.previous", _previous, "play", ("F7",), ("Left",), ("PgUp",), icon="previous", when=_not_first),
    Action("play.toggle", _play, "play", ("F6",), ("Space",), icon="play", when=_has_steps, checked=_is_on("playing")),
    Action("step.next", _next, "play", ("F8",), ("Right",), ("PgDown",), icon="next", when=_not_last),
    Action("step.last", _last, "play", ("Ctrl+End",), ("End",), icon="last", when=_not_last),
    Action("step.previous_line", _previous_line, "play", ("Shift+F7",), icon="previous_line", when=_not_first),
    Action("step.next_line", _next_line, "play", ("Shift+F8",), icon="next_line", when=_not_last),
    Action("breakpoint.toggle", runs.mark, "play", ("F9",), when=_recorded),
    Action("breakpoint.next", runs.to_stop(1), "play", ("Ctrl+F9",), when=runs.stops(1)),
    Action("breakpoint.previous", runs.to_stop(-1), "play", ("Shift+F9",), when=runs.stops(-1)),
    Action("play.slower", _speed(-1), "play", ("Ctrl+F6",)),
    Action("play.faster", _speed(1), "play", ("Shift+F6",)),
    Action("lesson.open", _lesson, "teach", ("Ctrl+Shift+L",), icon="lesson", asks=True),
    Action("lesson.next", _checkpoint(+1), "teach", ("Ctrl+F8",), icon="next", when=_later_lesson),
    Action("lesson.previous", _checkpoint(-1), "teach", ("Ctrl+F7",), icon="previous", when=_earlier_lesson),
    Action("lesson.here", _here, "teach", when=_later_lesson),
    Action("lesson.close", _close_lesson, "teach", icon="close", when=_in_lesson),
    Action(
        "quiz.level", _cycle("level", LEVELS, LEVELS), "teach", icon="quiz", checked=lambda s: s.view.level != "off"
    ),
    Action("quiz.ask", teaching.ask, "teach", ("Ctrl+Shift+Q",), when=teaching.askable),
    Action("quiz.reveal", teaching.reveal, "teach", when=teaching.stands),
    Action("quiz.skip", teaching.skip, "teach", when=teaching.stands),
    Action(
        "engine.play",
        teaching.engine,
        "teach",
        ("Ctrl+Shift+G",),
        icon="engine",
        when=teaching.has_pass,
        checked=teaching.is_engine,
    ),
    Action("break.it", teaching.break_it, "teach", ("Ctrl+Shift+X",), icon="break", when=teaching.breakable, asks=True),
    Action("view.both", _mode("both"), "view", ("Ctrl+1",), checked=lambda s: s.view.mode == "both"),
    Action("view.forward", _mode("forward"), "view", ("Ctrl+2",), checked=lambda s: s.view.mode == "forward"),
    Action("view.autograd", _mode("autograd"), "view", ("Ctrl+3",), checked=lambda s: s.view.mode == "autograd"),
    Action("view.ghosts", _switch("ghosts"), "view", checked=_is_on("ghosts")),
    Action("view.fit", _surface("fit"), "view", ("Ctrl+0",), ("F",), icon="fit"),
    Action("view.fold_all", _surface("fold_all"), "view", icon="fold", when=_recorded),
    Action("view.unfold_all", _surface("unfold_all"), "view", icon="unfold", when=_recorded),
    Action("view.presenter", teaching.present, "view", ("Ctrl+Alt+P",), icon="present", checked=_is_on("presenter")),
    Action("view.motion", _switch("reduced_motion"), "view", checked=_is_on("reduced_motion")),
    Action("view.theme", _cycle("theme", ("light", "dark"), THEMES), "view", icon="theme"),
    Action("view.language", _cycle("language", LANGUAGES, LANGUAGES), "view", icon="language"),
    Action("view.palette", _surface("palette"), "view", ("Ctrl+Shift+P",), icon="palette"),
    Action(
        "present.spotlight",
        teaching.show("spotlight"),
        "present",
        ("Ctrl+Alt+S",),
        clicker=("S",),
        when=teaching.presenting,
        checked=teaching.shows("spotlight"),
    ),
    Action(
        "present.blank",
        teaching.show("blank"),
        "present",
        clicker=("B", "."),
        when=teaching.presenting,
        checked=teaching.shows("blank"),
    ),
    Action(
        "present.notes",
        teaching.show("notes"),
        "present",
        ("Ctrl+Alt+N",),
        when=teaching.presenting,
        checked=teaching.shows("notes"),
    ),
    Action(
        "present.full",
        teaching.show("full"),
        "present",
        ("F11",),
        when=teaching.presenting,
        checked=teaching.shows("full"),
    ),
    Action("present.keys", teaching.show("keys"), "present", when=teaching.presenting, checked=teaching.shows("keys")),
    Action("present.larger", teaching.scale(1), "present", ("Ctrl+Alt+=",), when=teaching.presenting),
    Action("present.smaller", teaching.scale(-1), "present", ("Ctrl+Alt+-",), when=teaching.presenting),
    Action(
        "present.projector",
        teaching.projector,
        "present",
        when=teaching.presenting,
        checked=lambda s: s.view.theme == "projector",
    ),
    *(
        Action(
            f"present.{name}",
            teaching.panel(name),
            "present",
            when=teaching.presenting,
            checked=teaching.has_panel(name),
        )
        for name in PANELS
    ),
    Action("help.why", _surface("why"), "help", ("F1",), icon="why", when=_recorded),
    Action("help.keys", _surface("keys"), "help", ("Ctrl+/",), ("?", "Shift+?"), icon="keys"),
)
BY_ID: dict[str, Action] = {action.id: action for action in ACTIONS}


def trigger(session: Session, port: Port, action: str, argument: Any = "") -> bool:
    """Do it. False where it cannot be done now; then nothing has happened.

    Raises:
        KeyError: there is no such action.
    """
    row = BY_ID[action]
    if row.when(session) is not None:
        return False
    row.run(session, port, str(argument))
    return True
