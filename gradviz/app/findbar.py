"""Finding in the program text: a line above it, every hit marked, Enter and Shift+Enter walk through them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QWidget

from gradviz.app.code import CodeView
from gradviz.explain import Words

MOST = 2000


class FindBar(QWidget):
    """Hidden until `open`; Escape closes it and gives the focus back to the text."""

    def __init__(self, code: CodeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._code = code
        self._words = Words()
        self._hits: list[int] = []
        self.line, self.count = QLineEdit(), QLabel()
        self.line.setClearButtonEnabled(True)
        self.count.setObjectName("dim")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 2, 12, 4)
        row.addWidget(self.line, 1)
        row.addWidget(self.count)
        self.line.textChanged.connect(self._search)
        code.textChanged.connect(self._collect)
        self.setFocusProxy(self.line)
        self.hide()

    def retell(self, words: Words) -> None:
        """Say everything in another language."""
        self._words = words
        self.line.setAccessibleName(words("ui.program.find"))
        self.line.setPlaceholderText(words("ui.program.find"))

    def open(self) -> None:
        """Show it; what is selected in the text is looked for."""
        chosen = self._code.textCursor().selectedText()
        self.show()
        if chosen and "\u2029" not in chosen:
            self.line.setText(chosen)
        self.line.selectAll()
        self.line.setFocus()
        self._search(self.line.text())

    def close_bar(self) -> None:
        """Hide it and take the marks away."""
        self.hide()
        self._code.set_found([])
        self._code.setFocus()

    def _search(self, wanted: str) -> None:
        self._collect()
        self._go(0)

    def _collect(self) -> None:
        """Find and mark every hit. The cursor stays: somebody may be typing in the text."""
        wanted = self.line.text() if not self.isHidden() else ""
        text, found = self._code.toPlainText().lower(), list[int]()
        place = text.find(wanted.lower()) if wanted else -1
        while place >= 0 and len(found) < MOST:
            found.append(place)
            place = text.find(wanted.lower(), place + len(wanted))
        self._hits = found
        self._code.set_found([(start, start + len(wanted)) for start in found])

    def _go(self, way: int) -> None:
        """Select the hit at or after the cursor (0), the next (1) or the one before (-1)."""
        hits, cursor = self._hits, self._code.textCursor()
        if not hits:
            self.count.setText(self._words("ui.program.found_none") if self.line.text() else "")
            return
        if way < 0:
            at = next((k for k in range(len(hits) - 1, -1, -1) if hits[k] < cursor.selectionStart()), len(hits) - 1)
        else:
            from_ = cursor.selectionStart() + (1 if way else 0)
            at = next((k for k, hit in enumerate(hits) if hit >= from_), 0)
        cursor.setPosition(hits[at])
        cursor.setPosition(hits[at] + len(self.line.text()), QTextCursor.MoveMode.KeepAnchor)
        self._code.setTextCursor(cursor)
        self._code.ensureCursorVisible()
        self.count.setText(self._words("ui.program.found", at=at + 1, count=len(hits)))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, shift = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if key == Qt.Key.Key_Escape:
            self.close_bar()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F3):
            self._go(-1 if shift else 1)
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._go(-1 if key == Qt.Key.Key_Up else 1)
        else:
            super().keyPressEvent(event)
