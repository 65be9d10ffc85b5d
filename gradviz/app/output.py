"""What the program has printed by this step."""

from __future__ import annotations

import numpy as np
from PySide6.QtGui import QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget

from gradviz.app.paint import color
from gradviz.app.panel import Panel, differ
from gradviz.player.view import ViewState
from gradviz.session import Session
from gradviz.trace import Trace
from gradviz.trace.events import Output

SHOWN = 20_000
"""Characters that are shown at most, counted from the end."""


def tail(trace: Trace, step: int, limit: int = SHOWN) -> tuple[list[Output], int]:
    """The last pieces of output by a step, `limit` characters or a little more, and how many pieces there are."""
    count = int(np.searchsorted(trace.output_step.view, step, "right"))
    first, size = count, 0
    while first > 0 and size < limit:
        first -= 1
        size += len(trace.outputs[first].text)
    return trace.outputs[first:count], count


class OutputPanel(Panel):
    """Text, standard error in the colour of errors; the end is in view."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.text = QPlainTextEdit()
        self.text.setObjectName("code")
        self.text.setReadOnly(True)
        self.text.setUndoRedoEnabled(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 0, 4, 0)
        layout.addWidget(self.text)
        self._shown: tuple[int, int, str, str] = (-1, -1, "", "")
        self.setFocusProxy(self.text)
        self.begin()

    def retell(self) -> None:
        self.text.setAccessibleName(self.words("ui.output.name"))
        self.text.setPlaceholderText(self.words("ui.output.empty"))

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if not differ(old, new, "step", "events", "revision", "theme", "language"):
            return
        pieces, count = tail(self.session.trace, new.step)
        shown = (new.revision, count, new.theme, new.language)
        if shown == self._shown:
            return
        self._shown = shown
        self.text.clear()
        cursor = self.text.textCursor()
        room = SHOWN
        for piece in _within(pieces, room):
            form = QTextCharFormat()
            form.setForeground(color(self.theme.error if piece.stream == "stderr" else self.theme.text_dim))
            if piece.skipped:
                cursor.insertText(self.words("ui.output.skipped", count=f"{piece.skipped:,}"), form)
            cursor.insertText(piece.text, form)
        self.text.moveCursor(QTextCursor.MoveOperation.End)
        self.text.moveCursor(QTextCursor.MoveOperation.StartOfLine)


def _within(pieces: list[Output], room: int) -> list[Output]:
    """The pieces with the first one cut so that all of them fit."""
    excess = sum(len(piece.text) for piece in pieces) - room
    if excess > 0 and pieces:
        return [Output("…" + pieces[0].text[excess:], pieces[0].stream), *pieces[1:]]
    return pieces
