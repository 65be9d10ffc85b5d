"""What the actions on runs do: comparing two of them, stopping at breakpoints. Their rows are in `actions`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gradviz.player.breaks import toggled
from gradviz.session import Session


class RunsPort(Protocol):
    """What these need from the window."""

    def ask_path(self, kind: str, suggestion: str, *, saving: bool) -> str | None:
        """Ask for a file; None: the person thought better of it."""

    def open_other(self, path: str) -> None:
        """Show a recording beside the one that is shown."""

    def surface(self, what: str) -> None:
        """Bring something up, by its name."""


Run = Callable[[Session, RunsPort, str], None]
When = Callable[[Session], str | None]


def differs(way: int) -> When:
    """There is a next (1), a previous (-1), a first (0) difference."""

    def when(session: Session) -> str | None:
        if session.aligned is None:
            waits = session.view.comparing and session.before is not None
            return "ui.reason.running" if waits else "ui.reason.not_compared"
        return None if session.difference(way) is not None else "ui.reason.no_difference"

    return when


def stops(way: int) -> When:
    """There is a breakpoint ahead (1) or behind (-1)."""

    def when(session: Session) -> str | None:
        if not session.view.breaks:
            return "ui.reason.no_breakpoint"
        return None if session.stop_at(way) is not None else "ui.reason.no_more_breakpoints"

    return when


def compare(session: Session, port: RunsPort, argument: str) -> None:
    """Show the run beside the one before it, or alone."""
    session.update(comparing=not session.view.comparing, moment=None)
    session.to_moment(session.difference(0))


def compare_file(session: Session, port: RunsPort, argument: str) -> None:
    """Show the run beside one from a file."""
    path = argument or port.ask_path("recording", "", saving=False)
    if path:
        port.open_other(path)
        session.to_moment(session.difference(0))


def keep(session: Session, port: RunsPort, argument: str) -> None:
    """What follows is compared with this run."""
    session.compare_with(session.trace)


def to_difference(way: int) -> Run:
    """Go to the next (1), the previous (-1), the first (0) difference."""
    return lambda session, port, argument: session.to_moment(session.difference(way))


def mark(session: Session, port: RunsPort, argument: str) -> None:
    """A breakpoint by its key; without one, where the person is."""
    if argument:
        session.update(breaks=toggled(session.view.breaks, argument))
    else:
        port.surface("breakpoint")


def to_stop(way: int) -> Run:
    """Run the playhead to the breakpoint ahead (1) or behind (-1)."""

    def run(session: Session, port: RunsPort, argument: str) -> None:
        if (step := session.stop_at(way)) is not None:
            session.update(step=step, playing=False, following=False, alpha=1.0)

    return run
