"""Program text on the screen: line numbers, the current line, the expression a node came from, the line of a fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QSyntaxHighlighter,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QToolTip, QWidget

from gradviz.app.beside import Beside, paint_breakpoint, paint_sign
from gradviz.app.fonts import MONO
from gradviz.app.paint import color
from gradviz.app.typing_keys import typed
from gradviz.scene.theme import Theme
from gradviz.trace.events import Span

LEX_MS = 120
LEX_LIMIT = 400_000
"""Texts longer than this stay plain: lexing them would be felt."""
BAR = 4.0


@dataclass(frozen=True, slots=True)
class Marks:
    """What is marked in the text; lines count from 1."""

    current: tuple[int, int] | None = None
    """First and last line of the statement that the program is at."""
    origin: Span | None = None
    """The expression whose operation left the running node behind."""
    fault: tuple[int, int] | None = None
    wrong: tuple[int, str] | None = None
    """A line that raised, or that is no Python, and what was said about it; told at every step."""
    lit: tuple[Span, ...] = ()
    """What the pointer is at elsewhere: a tensor of a formula, a card."""


class Highlighter(QSyntaxHighlighter):
    """Quiet colours for Python: hues are kept for what autograd does. pygments is imported at the first use."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self._theme = theme
        self._lines: dict[int, list[tuple[int, int, str]]] = {}
        self._text = ""
        self._formats: dict[str, QTextCharFormat] = {}
        self._timer = QTimer(self, singleShot=True, interval=LEX_MS)
        self._timer.timeout.connect(self.lex)
        document.contentsChange.connect(self._changed)
        self.recolor(theme)

    def recolor(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        for name, ink, weight in (
            ("keyword", theme.text, QFont.Weight.DemiBold),
            ("string", theme.text_dim, QFont.Weight.Normal),
            ("comment", theme.text_faint, QFont.Weight.Normal),
        ):
            made = QTextCharFormat()
            made.setForeground(QColor(ink))
            made.setFontWeight(weight)
            self._formats[name] = made
        self.rehighlight()

    def _changed(self, position: int, removed: int, added: int) -> None:
        if self.document().toPlainText() != self._text:
            self._timer.start()

    @property
    def is_due(self) -> bool:
        """The text has changed and is not read yet."""
        return self._timer.isActive()

    def lex(self) -> None:
        """Read the whole text anew: strings may go over many lines."""
        from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]
        from pygments.token import Comment, Keyword, Operator, String  # type: ignore[import-untyped]

        self._text = self.document().toPlainText()
        self._lines = {}
        if len(self._text) <= LEX_LIMIT:
            kinds: tuple[tuple[Any, str], ...] = (
                (Keyword, "keyword"),
                (Operator.Word, "keyword"),
                (String, "string"),
                (Comment, "comment"),
            )
            line, column = 0, 0
            for token, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens(self._text):
                kind = next((name for base, name in kinds if token in base), None)
                for k, part in enumerate(text.split("\n")):
                    if k:
                        line, column = line + 1, 0
                    if kind and part:
                        self._lines.setdefault(line, []).append((column, len(part), kind))
                    column += len(part)
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        for start, length, kind in self._lines.get(self.currentBlock().blockNumber(), ()):
            self.setFormat(start, length, self._formats[kind])


class Gutter(QWidget):
    """The line numbers beside the text."""

    def __init__(self, code: CodeView) -> None:
        super().__init__(code)
        self._code = code

    def sizeHint(self) -> QSize:
        return QSize(self._code.gutter_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._code.paint_gutter(self, event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._code.gutter_clicked.emit(self._code.line_at(event.position().y()))

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            tip = self._code.tip(self._code.line_at(event.pos().y()))
            QToolTip.showText(event.globalPos(), tip, self)
            return True
        return super().event(event)


class CodeView(QPlainTextEdit):
    """Text with marks. Read-only until somebody edits."""

    gutter_clicked = Signal(int)
    """A line, counted from 1."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("code")
        self.marks = Marks()
        self.beside = Beside()
        self.tip: Callable[[int], str] = lambda line: ""
        """What is said of a line when the mouse rests in the gutter."""
        self._found: list[tuple[int, int]] = []
        self._leaving = False
        """Escape was pressed last: Tab, which indents while somebody edits, leaves the text."""
        self._theme = theme
        self._gutter = Gutter(self)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFont(mono(12))
        self.document().setDocumentMargin(3)
        self.highlighter = Highlighter(self.document(), theme)
        self.blockCountChanged.connect(self._margin)
        self.textChanged.connect(self._typed_on)
        self.updateRequest.connect(self._scroll_gutter)
        self._margin()

    # ---- what is shown

    def recolor(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        self.highlighter.recolor(theme)
        self._select()

    def mark(self, marks: Marks) -> None:
        """Mark these places and bring the current line into view."""
        if marks == self.marks:
            return
        moved = replace(marks, lit=()) != replace(self.marks, lit=())
        self.marks = marks
        if not moved:  # the pointer lights something: nothing scrolls
            self.viewport().update()
            return
        self._select()
        lines = marks.fault or marks.current
        if lines:
            self._show_line(lines[0])

    def put_beside(self, beside: Beside) -> None:
        """Show these values and signs beside the lines."""
        if beside != self.beside:
            self.beside = beside
            self.viewport().update()
            self._gutter.update()

    def set_found(self, ranges: list[tuple[int, int]]) -> None:
        """Mark what a search found, as offsets in the text."""
        if ranges != self._found:
            self._found = ranges
            self._select()

    def line_at(self, y: float) -> int:
        """The line at a height of the gutter."""
        return self.cursorForPosition(QPoint(0, int(y))).blockNumber() + 1

    def _typed_on(self) -> None:
        """Marks are laid on anew: those that Qt keeps would grow with what is typed at their end."""
        if self.marks != Marks() or self._found:
            self._select()

    def _show_line(self, line: int) -> None:
        bar = self.verticalScrollBar()
        if not bar.value() <= line - 1 < bar.value() + bar.pageStep() - 1:
            bar.setValue(max(0, line - 1 - bar.pageStep() // 3))

    def _select(self) -> None:
        chosen = []
        grounds = ((self.marks.current, self._theme.current_line), (self.marks.fault, self._theme.error_fill))
        for lines, ground in grounds:
            for line in range(lines[0], lines[1] + 1) if lines else ():
                block = self.document().findBlockByNumber(line - 1)
                if not block.isValid():
                    break
                selection = QTextEdit.ExtraSelection()
                selection.format.setBackground(color(ground))
                selection.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
                selection.cursor = QTextCursor(block)
                chosen.append(selection)
        for start, end in self._found:
            selection = QTextEdit.ExtraSelection()
            selection.format.setBackground(color(self._theme.forward_fill))
            selection.cursor = QTextCursor(self.document())
            selection.cursor.setPosition(start)
            selection.cursor.setPosition(
                min(end, self.document().characterCount() - 1), QTextCursor.MoveMode.KeepAnchor
            )
            chosen.append(selection)
        wrong = self.marks.wrong[0] if self.marks.wrong else self.marks.fault[0] if self.marks.fault else None
        if wrong is not None and self.document().findBlockByNumber(wrong - 1).isValid():
            chosen += self._squiggle(wrong)
        self.setExtraSelections(chosen)
        self.viewport().update()
        self._gutter.update()

    def _squiggle(self, line: int) -> list[QTextEdit.ExtraSelection]:
        block = self.document().findBlockByNumber(line - 1)
        text = block.text()
        selection = QTextEdit.ExtraSelection()
        selection.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        selection.format.setUnderlineColor(color(self._theme.error))
        cursor = QTextCursor(block)
        cursor.setPosition(block.position() + len(text) - len(text.lstrip()))
        cursor.setPosition(block.position() + len(text.rstrip()), QTextCursor.MoveMode.KeepAnchor)
        selection.cursor = cursor
        return [selection]

    # ---- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.beside.values:
            self._paint_values(event.rect())
        boxes, lit = self.origin_boxes(), self.lit_boxes()
        if not boxes and not lit:
            return
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(color(self._theme.selection), 1.5))
        for box in lit:
            painter.drawRoundedRect(box, 3, 3)
        pen = QPen(color(self._theme.gradient), 1.2)
        pen.setDashPattern([3, 2])
        painter.setPen(pen)
        for box in boxes:
            painter.drawRoundedRect(box, 4, 4)
        painter.end()

    def _paint_values(self, area: QRect) -> None:
        """After each line's text, what its names hold."""
        painter = QPainter(self.viewport())
        painter.setFont(mono(self.fontInfo().pixelSize() - 1))
        painter.setPen(color(self._theme.text_faint))
        block = self.firstVisibleBlock()
        while block.isValid():
            place = self.blockBoundingGeometry(block).translated(self.contentOffset())
            if place.top() > area.bottom():
                break
            said = self.beside.values.get(block.blockNumber() + 1)
            if said:
                left = self._box(block, len(block.text()), len(block.text())).right() + 14
                room = QRectF(left, place.top(), 2000, place.height())
                painter.drawText(room, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), said)
            block = block.next()
        painter.end()

    def origin_boxes(self) -> list[QRectF]:
        """Where the marked expression stands on the viewport, a box for each of its lines."""
        return [] if self.marks.origin is None else self._boxes(self.marks.origin)

    def lit_boxes(self) -> list[QRectF]:
        """Where that stands which the pointer is at elsewhere."""
        return [box for span in self.marks.lit for box in self._boxes(span)]

    def _boxes(self, span: Span) -> list[QRectF]:
        _, first, left, last, right = span
        boxes = []
        for line in range(first, last + 1):
            block = self.document().findBlockByNumber(line - 1)
            if not block.isValid():
                break
            text = block.text()
            start = left if line == first and left >= 0 else len(text) - len(text.lstrip())
            end = right if line == last and right >= 0 else len(text.rstrip())
            if end > start:
                boxes.append(self._box(block, start, end))
        return boxes

    def _box(self, block: QTextBlock, start: int, end: int) -> QRectF:
        cursor = QTextCursor(block)
        cursor.setPosition(block.position() + min(start, len(block.text())))
        left = self.cursorRect(cursor)
        cursor.setPosition(block.position() + min(end, len(block.text())))
        right = self.cursorRect(cursor)
        return QRectF(left.left() - 2.5, left.top() + 0.5, right.left() - left.left() + 5, left.height() - 1)

    # ---- the gutter

    def gutter_width(self) -> int:
        """Wide enough for the largest number."""
        digits = max(2, len(str(self.blockCount())))
        return int(QFontMetricsF(mono(self.fontInfo().pixelSize() - 2)).horizontalAdvance("9") * digits) + 30

    def _margin(self) -> None:
        self.setViewportMargins(self.gutter_width(), 0, 0, 0)

    def _scroll_gutter(self, rect: QRect, dy: int) -> None:
        if dy:
            self._gutter.scroll(0, dy)
        else:
            self._gutter.update(0, rect.y(), self._gutter.width(), rect.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        leaving, self._leaving = self._leaving, event.key() == Qt.Key.Key_Escape and not self.isReadOnly()
        if self._leaving:
            event.accept()
        elif leaving and event.key() in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            QWidget.focusNextPrevChild(self, event.key() == Qt.Key.Key_Tab)  # that of the text would stay
        elif self.isReadOnly() or not typed(self, event):
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip and self.marks.wrong:
            line, said = self.marks.wrong
            under = self.cursorForPosition(self.viewport().mapFrom(self, event.pos())).blockNumber() + 1
            QToolTip.showText(event.globalPos(), said if under == line else "", self)
            return True
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        inside = self.contentsRect()
        self._gutter.setGeometry(QRect(inside.left(), inside.top(), self.gutter_width(), inside.height()))

    def paint_gutter(self, gutter: QWidget, event: QPaintEvent) -> None:
        """Numbers, and a bar at the current line and the line of a fault."""
        painter, theme = QPainter(gutter), self._theme
        painter.fillRect(event.rect(), color(theme.panel))
        painter.setFont(mono(self.fontInfo().pixelSize() - 2))
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top <= event.rect().bottom():
            height = self.blockBoundingRect(block).height()
            self._paint_number(painter, block.blockNumber() + 1, top, height, gutter.width())
            top += height
            block = block.next()
        painter.end()

    def _paint_number(self, painter: QPainter, line: int, top: float, height: float, width: int) -> None:
        theme, marks = self._theme, self.marks
        for lines, ground, bar in (
            (marks.current, theme.current_line, theme.gradient),
            (marks.fault, theme.error_fill, theme.error),
        ):
            if lines and lines[0] <= line <= lines[1]:
                painter.fillRect(QRectF(0, top, width, height), color(ground))
                if line == lines[0]:
                    painter.fillRect(QRectF(0, top, BAR, height), color(bar))
        if line > 1 and line == self.blockCount() and not self.document().lastBlock().text():
            return  # what follows the last newline is no line
        if line in self.beside.breaks:
            paint_breakpoint(painter, theme, BAR + 5, top + height / 2)
        if (flow := self.beside.flows.get(line)) is not None:
            paint_sign(painter, theme, flow, width - 6, top + height / 2)
        painter.setPen(color(theme.text_faint))
        box = QRectF(0, top, width - 14, height)
        painter.drawText(box, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), str(line))


def mono(size: int) -> QFont:
    """The font of code, in pixels."""
    made = QFont([*MONO])
    made.setPixelSize(size)
    made.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    return made
