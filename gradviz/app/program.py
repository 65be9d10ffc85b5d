"""The program panel: the recorded text with the line of this step, or an editor for a person's own."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from gradviz.app.code import CodeView, Marks
from gradviz.app.panel import Panel, differ
from gradviz.player.program import edited
from gradviz.player.view import ViewState
from gradviz.session import Session
from gradviz.trace.events import Fault, Span


class ProgramPanel(Panel):
    """Shows `session.view.program`; while the step is in another file that was recorded, that file."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.code = CodeView(self.theme)
        self._theirs = False
        """Changes of the text come from elsewhere, not from a person's keys."""
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.code)
        self.code.textChanged.connect(self._typed)
        self.setFocusProxy(self.code)
        self.begin()

    def retell(self) -> None:
        self.code.setAccessibleName(self.words("ui.program.name"))
        self.code.setPlaceholderText(self.words("ui.program.empty"))

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if differ(old, new, "theme"):
            self.code.recolor(self.theme)
        if differ(old, new, "editing"):
            self.code.setReadOnly(not new.editing)
            if new.editing:
                self.code.setFocus()
        if differ(old, new, "program", "step", "steps", "events", "revision", "editing"):
            self._show(new)

    def _show(self, view: ViewState) -> None:
        span, text = self._place(view)
        if text != self.code.toPlainText():
            self._theirs = True
            self.code.setPlainText(text)
            self._theirs = False
        self.code.mark(self._marks(span))

    def _place(self, view: ViewState) -> tuple[Span | None, str]:
        """The span of this step, if the text that is shown is the one it belongs to, and that text."""
        trace, own = self.session.trace, view.program.text
        span = trace.span(view.step) if trace.events else None
        if span is None or not trace.cells:
            return None, own
        cell = trace.cell_of(span[0])
        if cell == 0:
            return (span, own) if own == trace.header.source else (None, own)
        file = trace.files.get(span[0])
        if file is None or cell is not None or not file.text or view.editing:
            return None, own
        return span, file.text

    def _marks(self, span: Span | None) -> Marks:
        if span is None:
            return self._origin_only()
        lines = (span[1], max(span[1], span[3]))
        event = self.session.trace.event_at(self.session.view.step)
        if isinstance(event, Fault):
            return Marks(fault=lines)
        origin = self.session.trace.origin(self.session.view.step)
        return Marks(current=lines, origin=origin if origin and origin[0] == span[0] else None)

    def _origin_only(self) -> Marks:
        """A line sent by hand runs nodes of the program: there is no current line, but they come from somewhere."""
        trace, view = self.session.trace, self.session.view
        origin = trace.origin(view.step) if trace.events else None
        same = origin is not None and trace.cell_of(origin[0]) == 0
        return Marks(origin=origin) if same and view.program.text == trace.header.source else Marks()

    def _typed(self) -> None:
        if not self._theirs and self.session.view.editing:
            text = self.code.toPlainText()
            self.session.update(program=edited(self.session.view.program, text))
