"""The line at the bottom: how the recorder stands, and how much it has recorded."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QStatusBar, QWidget

from gradviz.app.interpreters import name_of
from gradviz.app.paint import color
from gradviz.app.panel import Panel, differ
from gradviz.explain.labels import place
from gradviz.player.view import ViewState
from gradviz.session import Session
from gradviz.trace import Trace
from gradviz.trace.events import Fault
from gradviz.trace.values import number

_FIELDS = ("live", "events", "revision", "language", "step", "editing", "program", "quiz", "engine")


class Dot(Panel):
    """Green when ready, orange while it runs, red after an error, hollow where nothing is alive."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.setFixedSize(22, 16)

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if differ(old, new, "live", "theme", "step", "events"):
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, view = self.theme, self.session.view
        ink = {"ready": theme.leaf, "running": theme.gradient, "starting": theme.gradient, "gone": theme.error}.get(
            view.live, theme.idle
        )
        if state(self.session)[0] in ("ui.status.fault", "ui.status.line_fault"):
            ink = theme.error
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(color(ink))
        if view.live != "none":
            painter.setBrush(color(ink))
        painter.drawEllipse(13, 4, 8, 8)
        painter.end()


class StatusBar(QStatusBar):
    """Left: state, version, device. Right: counts."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeGripEnabled(False)
        self.addWidget(Dot(session))
        self.left = StatusText(session, left=True)
        self.right = StatusText(session, left=False)
        self.addWidget(self.left)
        self.addPermanentWidget(self.right)


class StatusText(Panel):
    """One side of the status bar."""

    def __init__(self, session: Session, *, left: bool) -> None:
        super().__init__(session)
        self._left = left
        self.label = QLabel(self)
        self.begin()

    def text(self) -> str:
        """What is shown."""
        return self.label.text()

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if not differ(old, new, *_FIELDS):
            return
        self.label.setText(self._state() if self._left else self._counts())
        self.label.setAccessibleName(self.label.text())
        self.label.adjustSize()
        self.setFixedSize(self.label.size())

    def _state(self) -> str:
        key, fields = state(self.session)
        header = self.session.trace.header
        parts = [self.words(key, **fields)]
        if torch := header.versions.get("torch"):
            parts += [f"torch {torch.partition('+')[0]}", header.device]
        if python := self.session.view.program.setup.python:
            parts.append(name_of(python))
        if self.session.trace.events and self.session.view.program.text != header.source:
            parts.append(self.words("ui.status.edited"))
        return " · ".join(parts)

    def _counts(self) -> str:
        trace = self.session.trace
        if not trace.events or self.session.view.hides:
            return ""
        nodes, leaves = len(trace.nodes), leaf_count(trace)
        text = self.words("ui.status.node" if nodes == 1 else "ui.status.nodes", count=f"{nodes:,}")
        text += " · " + self.words("ui.status.leaf" if leaves == 1 else "ui.status.leaves", count=f"{leaves:,}")
        if missing := max((ended.left_out.get("ops", 0) for ended in trace.ended.values()), default=0):
            text += " · " + self.words("ui.status.left_out", count=f"{missing:,}")
        ended = trace.ended.get(0)
        if ended is not None and ended.seconds:
            text += " · " + self.words("ui.status.seconds", seconds=duration(ended.seconds))
        return text


def state(session: Session) -> tuple[str, dict[str, str]]:
    """Key and fields of the sentence that says how things stand."""
    view, trace = session.view, session.trace
    if view.busy is not None:
        return f"ui.status.{view.busy[0]}", {"percent": str(view.busy[1])}
    if view.running:
        return f"ui.status.{view.live}", {}
    event = trace.event_at(view.step) if trace.events else None
    if isinstance(event, Fault) and event.span is not None:
        if trace.cell_of(event.span[0]):
            return "ui.status.line_fault", {}
        return "ui.status.fault", {"where": place(trace, event.span, view.language)}
    return f"ui.status.{view.live}", {}


def leaf_count(trace: Trace) -> int:
    """Named tensors without a grad_fn that were not made from others by the program's tracked operations."""
    return len(trace.named_leaves)


def duration(seconds: float) -> str:
    """ "3 ms", "1.2 s"."""
    return f"{max(1, round(seconds * 1000))} ms" if seconds < 1 else f"{number(seconds, 1)} s"
