"""Keys of an editor for Python: Tab and Shift+Tab indent, Enter keeps the indentation, Backspace takes a step of it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QTextBlock, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

STEP = 4
_CLOSES = ("return", "pass", "break", "continue", "raise")
"""After these a block is over."""


def typed(edit: QPlainTextEdit, event: QKeyEvent) -> bool:
    """Do what the key means in a program; False where it means what it means in any text."""
    key, modifiers = event.key(), event.modifiers()
    plain = not modifiers & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier)
    if not plain:
        return False
    if key == Qt.Key.Key_Tab:
        _indent(edit)
    elif key == Qt.Key.Key_Backtab:
        _shift(edit, -1)
    elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
        _enter(edit)
    elif key == Qt.Key.Key_Backspace:
        return _backspace(edit)
    else:
        return False
    edit.ensureCursorVisible()
    return True


def _indent(edit: QPlainTextEdit) -> None:
    cursor = edit.textCursor()
    if cursor.hasSelection() and len(_blocks(edit)) > 1:
        _shift(edit, 1)
    else:
        cursor.insertText(" " * (STEP - cursor.positionInBlock() % STEP))


def _blocks(edit: QPlainTextEdit) -> list[QTextBlock]:
    """The lines that are selected; one that the selection only begins at is not."""
    cursor = edit.textCursor()
    block, end = edit.document().findBlock(cursor.selectionStart()), cursor.selectionEnd()
    found = [block]
    while (block := block.next()).isValid() and block.position() < end:
        found.append(block)
    return found


def _shift(edit: QPlainTextEdit, way: int) -> None:
    editing = edit.textCursor()
    editing.beginEditBlock()
    for block in _blocks(edit):
        cursor, text = QTextCursor(block), block.text()
        if way > 0:
            cursor.insertText(" " * STEP if text.strip() else "")
        else:
            count = min(STEP, len(text) - len(text.lstrip(" ")))
            cursor.setPosition(block.position() + count, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
    editing.endEditBlock()


def _enter(edit: QPlainTextEdit) -> None:
    cursor = edit.textCursor()
    before = cursor.block().text()[: cursor.positionInBlock()]
    depth = len(before) - len(before.lstrip(" "))
    code = before.partition("#")[0].rstrip() if not {"'", '"'} & set(before) else before.rstrip()
    if code.endswith((":", "(", "[", "{")):
        depth += STEP
    elif code.split(maxsplit=1)[:1] and code.split(maxsplit=1)[0] in _CLOSES:
        depth = max(0, depth - STEP)
    cursor.insertText("\n" + " " * depth)
    edit.setTextCursor(cursor)


def _backspace(edit: QPlainTextEdit) -> bool:
    cursor = edit.textCursor()
    before = cursor.block().text()[: cursor.positionInBlock()]
    if cursor.hasSelection() or not before or before.strip(" "):
        return False
    for _ in range((len(before) - 1) % STEP + 1):
        cursor.deletePreviousChar()
    return True
