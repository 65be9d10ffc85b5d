"""The console line: Python for the live process, typed by hand. It runs as an action, in the program's namespace."""

from __future__ import annotations

from codeop import compile_command
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPlainTextEdit, QWidget

from gradviz.app.code import mono
from gradviz.app.panel import Panel, differ
from gradviz.player.view import ViewState

if TYPE_CHECKING:
    from gradviz.app.commands import Commands

TALLEST = 6
"""Lines that are shown at once: a longer text scrolls."""
KEPT = 200
INDENT = "    "
_SUBMIT = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


def is_open(text: str) -> bool:
    """More has to be typed before this is a statement: a block that has begun, an open bracket. What is wrong is not
    open: Python says so itself when it runs."""
    head, _, last = text.rpartition("\n")
    try:
        return compile_command(text if last.strip() else f"{head}\n") is None
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError):
        return False


class ConsoleLine(QPlainTextEdit):
    """One line that grows while a block is typed. Enter runs it, Up and Down walk through what was run before."""

    entered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("code")
        self.setFont(mono(12))
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(3)
        self.blockCountChanged.connect(self._grow)
        self.past: list[str] = []
        self._at: int | None = None
        self._draft = ""
        self._grow()

    def _grow(self) -> None:
        rows = max(1, min(TALLEST, self.blockCount()))
        self.setFixedHeight(round(QFontMetricsF(self.font()).lineSpacing() * rows) + 8)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._grow()

    def sizeHint(self) -> QSize:
        return QSize(200, self.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.ensureCursorVisible()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, shift = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        block = self.textCursor().block()
        if key in _SUBMIT:
            if shift or (not self.isReadOnly() and is_open(self.toPlainText())):
                self._new_line()
            else:
                self._enter()
        elif key == Qt.Key.Key_Up and not block.previous().isValid():
            self._recall(-1)
        elif key == Qt.Key.Key_Down and not block.next().isValid():
            self._recall(1)
        elif key == Qt.Key.Key_Escape and self.toPlainText():
            self._put("")
        else:
            super().keyPressEvent(event)

    def _new_line(self) -> None:
        """Goes on under the line before, deeper after a colon."""
        cursor = self.textCursor()
        before = cursor.block().text()[: cursor.positionInBlock()]
        indent = before[: len(before) - len(before.lstrip())]
        cursor.insertText("\n" + indent + (INDENT if before.rstrip().endswith(":") else ""))

    def _enter(self) -> None:
        text = self.toPlainText().strip("\n").rstrip()
        if text and not self.isReadOnly():
            self.past = [line for line in self.past if line != text][-KEPT + 1 :] + [text]
            self._put("")
            self.entered.emit(text)

    def _recall(self, way: int) -> None:
        if self.isReadOnly():
            return
        if self._at is None:
            if way > 0 or not self.past:
                return
            self._draft, place = self.toPlainText(), len(self.past) - 1
        else:
            place = self._at + way
        place = max(0, place)
        if place >= len(self.past):
            self._put(self._draft)
        else:
            self._put(self.past[place])
            self._at = place

    def _put(self, text: str) -> None:
        self.selectAll()
        self.insertPlainText(text)
        self.moveCursor(QTextCursor.MoveOperation.End)
        self._at = None


class Console(Panel):
    """The line with its prompt. While a program runs it cannot be written to, and says why; it keeps the focus."""

    def __init__(self, commands: Commands, parent: QWidget | None = None) -> None:
        super().__init__(commands.session, parent)
        self._commands = commands
        self.prompt = QLabel("›")
        self.prompt.setObjectName("mono")
        self.line = ConsoleLine()
        self.line.entered.connect(lambda text: commands.trigger("run.line", text))
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 0, 8, 0)
        row.setSpacing(4)
        row.addWidget(self.prompt, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.line, 1)
        self.setFocusProxy(self.line)
        self.begin()

    def retell(self) -> None:
        self.line.setAccessibleName(self.words("ui.console.name"))
        self._fit()

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if differ(old, new, "live"):
            self._fit()
        if differ(old, new, "theme"):
            self.prompt.setStyleSheet(f"color: {self.theme.text_dim}; padding-top: 3px;")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        reason = self._commands.reason("run.line")
        self.line.setReadOnly(reason is not None)
        self.prompt.setEnabled(reason is None)
        hint, room = reason or self.words("ui.console.hint"), max(80, self.width() - 48)
        self.line.setPlaceholderText(self.line.fontMetrics().elidedText(hint, Qt.TextElideMode.ElideRight, room))
        self.line.viewport().update()  # Qt paints a placeholder anew only when it comes or goes
        self.line.setToolTip(self._commands["run.line"].toolTip() if reason is None else reason)
