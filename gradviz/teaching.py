"""What the actions for teaching do: questions, being the engine, experiments, presenter mode. Rows are in `actions`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from gradviz.explain.questions import kinds_at
from gradviz.player.engine import pass_for
from gradviz.player.program import Program, edited
from gradviz.player.show import fitting, scaled, toggled
from gradviz.session import Session


class TeachPort(Protocol):
    """What these need from the window."""

    def surface(self, what: str) -> None:
        """Bring something up, by its name."""

    def height(self) -> int:
        """Pixels that the window is high."""

    def ask_path(self, kind: str, suggestion: str, *, saving: bool) -> str | None:
        """Ask for a file; None: the person thought better of it."""

    def handout(self, path: str) -> None:
        """Write the recording as a handout."""

    def rerun(self, program: Program, actions: tuple[str, ...] = ()) -> None:
        """Take another program and record it, then send these lines."""


Run = Callable[[Session, TeachPort, str], None]


def breakable(session: Session) -> str | None:
    """The program has something to break."""
    if session.view.running:
        return "ui.reason.running"
    if session.view.busy is not None:
        return "ui.reason.no_experiment"
    return None if session.view.experiment is not None or session.breakable else "ui.reason.no_experiment"


def stands(session: Session) -> str | None:
    """A question stands."""
    return None if session.view.quiz is not None else "ui.reason.no_question"


def has_pass(session: Session) -> str | None:
    """There is a pass to be the engine of."""
    return None if pass_for(session.trace, session.view.step) is not None else "ui.reason.no_pass"


def is_engine(session: Session) -> bool:
    """A person is the engine."""
    return session.view.engine is not None


def presenting(session: Session) -> str | None:
    """The window stands before an audience."""
    return None if session.view.presenter else "ui.reason.no_presenter"


def askable(session: Session) -> str | None:
    """Something can be asked about the next step."""
    if session.view.hides:
        return "ui.reason.asked"
    return None if kinds_at(session.trace, session.view.step + 1) else "ui.reason.no_kind"


def ask(session: Session, port: TeachPort, argument: str) -> None:
    """The kind of the argument, else the first that was not asked here yet, else the first."""
    step = session.view.step + 1
    kinds = kinds_at(session.trace, step)
    done = {asked.kind for asked in session.view.asked if asked.step == step}
    fresh = [kind for kind in kinds if kind not in done]
    session.ask(step, argument if argument in kinds else (fresh or kinds)[0])


def reveal(session: Session, port: TeachPort, argument: str) -> None:
    """Show the truth beside the prediction; a second time, put the question away."""
    session.reveal()


def skip(session: Session, port: TeachPort, argument: str) -> None:
    """Put the question away unanswered."""
    session.skip()


def engine(session: Session, port: TeachPort, argument: str) -> None:
    """Begin to be the engine of the pass at hand, or of the one that is named; leave it where one is it already."""
    within = pass_for(session.trace, session.view.step)
    if session.view.engine is not None or within is None:
        session.leave_engine()
    else:
        session.play_engine(int(argument) if argument.isdigit() else within)


def break_it(session: Session, port: TeachPort, argument: str) -> None:
    """Run the experiment of that kind; without one, show which there are."""
    if not argument:
        port.surface("break")
    elif (broken := session.break_it(argument)) is not None:
        port.rerun(edited(broken.program, broken.experiment.text), broken.actions)
        session.update(experiment=broken)


def present(session: Session, port: TeachPort, argument: str) -> None:
    """Stand before an audience, or at the desk again. In a high window letters begin larger: on the wall it is as large
    as a low one."""
    view = session.view
    show = view.show if view.presenter or view.show.scale != 1.0 else replace(view.show, scale=fitting(port.height()))
    session.update(presenter=not view.presenter, show=show)


def show(field: str) -> Run:
    """Turn something of presenter mode on or off."""
    return lambda session, port, argument: session.show_as(**{field: not getattr(session.view.show, field)})


def shows(field: str) -> Callable[[Session], bool]:
    """Whether something of presenter mode is on."""
    return lambda session: bool(getattr(session.view.show, field))


def panel(name: str) -> Run:
    """Show or hide a panel in presenter mode."""
    return lambda session, port, argument: session.update(show=toggled(session.view.show, name))


def has_panel(name: str) -> Callable[[Session], bool]:
    """Whether presenter mode shows a panel."""
    return lambda session: name in session.view.show.panels


def scale(change: int) -> Run:
    """Larger (1) or smaller (-1) letters."""
    return lambda session, port, argument: session.update(show=scaled(session.view.show, change))


def handout(session: Session, port: TeachPort, argument: str) -> None:
    """Write the recording as a handout to print."""
    stem = session.view.program.file_name.removesuffix(".py")
    path = argument or port.ask_path("handout", f"{stem}-handout.pdf", saving=True)
    if path:
        port.handout(path)


def projector(session: Session, port: TeachPort, argument: str) -> None:
    """The colours for a bright room, or the light ones again."""
    session.update(theme="light" if session.view.theme == "projector" else "projector")
