"""The program panel: the recorded text with the line of this step, or an editor for a person's own."""

from __future__ import annotations

import ast
from dataclasses import replace

from PySide6.QtWidgets import QVBoxLayout, QWidget

from gradviz.app.beside import LONGEST, Beside
from gradviz.app.code import CodeView, Marks
from gradviz.app.findbar import FindBar
from gradviz.app.panel import Panel, differ
from gradviz.explain.labels import value_text
from gradviz.player.breaks import lines, moved, toggled
from gradviz.player.lit import places_of
from gradviz.player.margin import Margin
from gradviz.player.program import edited
from gradviz.player.view import ViewState
from gradviz.session import Session
from gradviz.trace.events import Fault, Span


class ProgramPanel(Panel):
    """Shows `session.view.program`; while the step is in another file that was recorded, that file."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.code = CodeView(self.theme)
        self.find_bar = FindBar(self.code)
        self._margin = Margin()
        self._syntax: tuple[str, tuple[int, str] | None] = ("", None)
        self._theirs = False
        """Changes of the text come from elsewhere, not from a person's keys."""
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.find_bar)
        layout.addWidget(self.code)
        self.code.gutter_clicked.connect(self.toggle_line)
        self.code.tip = self._tip
        self.code.textChanged.connect(self._typed)
        self.begin()

    def retell(self) -> None:
        self.code.setAccessibleName(self.words("ui.program.name"))
        self.code.setPlaceholderText(self.words("ui.program.empty"))
        self.code.setAccessibleDescription(self.words("ui.program.leave"))
        self.find_bar.retell(self.words)

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if differ(old, new, "theme"):
            self.code.recolor(self.theme)
        if differ(old, new, "editing"):
            self.code.setReadOnly(not new.editing)
            self.code.setTabChangesFocus(not new.editing)
            if new.editing:
                self.code.setFocus()
        if differ(old, new, "program", "step", "steps", "events", "revision", "editing", "breaks", "theme", "live"):
            self._show(new)
        elif differ(old, new, "hover"):
            self.code.mark(replace(self.code.marks, lit=self._lit(new)))

    def toggle_line(self, line: int) -> None:
        """Set a breakpoint at a line of the program, or take it away."""
        if self.code.toPlainText() == self.session.view.program.text:
            self.session.update(breaks=toggled(self.session.view.breaks, f"line:{line}"))

    def _tip(self, line: int) -> str:
        """What the signs beside a line mean."""
        beside, words = self.code.beside, self.words
        said = []
        if line in beside.breaks:
            said.append(words("ui.program.breakpoint"))
        if (flow := beside.flows.get(line)) is not None:
            said.append(words("ui.program.flow", ran=flow.ran, nodes=flow.nodes, freed=flow.freed))
        return "\n".join(said)

    def _beside(self, text: str) -> Beside:
        """Values and gradient signs where the text is the recorded one; breakpoints where it is the program."""
        session, view = self.session, self.session.view
        if text != view.program.text:
            return Beside()
        breaks = frozenset(lines(view.breaks))
        if not session.trace.events or text != session.trace.header.source:
            return Beside(breaks=breaks)
        frame, said = session.frame, {}
        for line, held in self._margin.names(session.trace, view.step).items():
            values = ((name, frame.value_data(tensor)) for name, tensor in held)
            known = [f"{name} = {value_text(value, 4)}" for name, value in values if value is not None]
            if known:
                said[line] = ", ".join(known)[:LONGEST]
        return Beside(said, self._margin.flows(frame), breaks)

    def _wrong(self, text: str) -> tuple[int, str] | None:
        """The line that is no Python, else the one at which the recorded program ended with an error."""
        if self._syntax[0] != text:
            self._syntax = text, syntax_error(text)
        if self._syntax[1] is not None:
            return self._syntax[1]
        trace = self.session.trace
        if not trace.events or text != trace.header.source:
            return None
        for fault in reversed(trace.faults):
            if not fault.caught and fault.span is not None and trace.cell_of(fault.span[0]) == 0:
                return fault.span[1], f"{fault.type}: {fault.message.partition(chr(10))[0]}"
        return None

    def _show(self, view: ViewState) -> None:
        span, text = self._place(view)
        if text != self.code.toPlainText():
            self._theirs = True
            self.code.setPlainText(text)
            self._theirs = False
        self.code.mark(replace(self._marks(span), wrong=self._wrong(text), lit=self._lit(view)))
        self.code.put_beside(self._beside(text))

    def _lit(self, view: ViewState) -> tuple[Span, ...]:
        """Where in the text that is shown that stands which the pointer is at elsewhere."""
        trace = self.session.trace
        if view.hover is None or not trace.cells:
            return ()
        span, text = self._place(view)
        own = trace.cells[0].file if text == trace.header.source else None
        file = own if span is None else span[0]
        return () if file is None else places_of(trace, view.hover, file)

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
            text, view = self.code.toPlainText(), self.session.view
            self.session.update(program=edited(view.program, text), breaks=moved(view.breaks, view.program.text, text))


def syntax_error(text: str) -> tuple[int, str] | None:
    """Line and message where a text is no Python. It is parsed, not run."""
    try:
        ast.parse(text)
    except SyntaxError as error:
        return max(1, error.lineno or 1), f"SyntaxError: {error.msg}"
    except (ValueError, RecursionError, MemoryError):
        return None
    return None
