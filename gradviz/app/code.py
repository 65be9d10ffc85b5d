"""Program text on the screen: line numbers, the current line, the expression a node came from, the line of a fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QRect, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
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
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from gradviz.app.fonts import MONO
from gradviz.app.paint import color
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


class CodeView(QPlainTextEdit):
    """Text with marks. Read-only until somebody edits."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("code")
        self.marks = Marks()
        self._theme = theme
        self._gutter = Gutter(self)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFont(mono(12))
        self.document().setDocumentMargin(3)
        self.highlighter = Highlighter(self.document(), theme)
        self.blockCountChanged.connect(self._margin)
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
        self.marks = marks
        self._select()
        lines = marks.fault or marks.current
        if lines:
            self._show_line(lines[0])

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
        if self.marks.fault and chosen:
            chosen += self._squiggle(self.marks.fault[0])
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
        boxes = self.origin_boxes()
        if not boxes:
            return
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = QPen(color(self._theme.gradient), 1.2)
        pen.setDashPattern([3, 2])
        painter.setPen(pen)
        for box in boxes:
            painter.drawRoundedRect(box, 4, 4)
        painter.end()

    def origin_boxes(self) -> list[QRectF]:
        """Where the marked expression stands on the viewport, a box for each of its lines."""
        if self.marks.origin is None:
            return []
        _, first, left, last, right = self.marks.origin
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
        return int(QFontMetricsF(mono(10)).horizontalAdvance("9") * digits) + 20

    def _margin(self) -> None:
        self.setViewportMargins(self.gutter_width(), 0, 0, 0)

    def _scroll_gutter(self, rect: QRect, dy: int) -> None:
        if dy:
            self._gutter.scroll(0, dy)
        else:
            self._gutter.update(0, rect.y(), self._gutter.width(), rect.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        inside = self.contentsRect()
        self._gutter.setGeometry(QRect(inside.left(), inside.top(), self.gutter_width(), inside.height()))

    def paint_gutter(self, gutter: QWidget, event: QPaintEvent) -> None:
        """Numbers, and a bar at the current line and the line of a fault."""
        painter, theme = QPainter(gutter), self._theme
        painter.fillRect(event.rect(), color(theme.panel))
        painter.setFont(mono(10))
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
        painter.setPen(color(theme.text_faint))
        box = QRectF(0, top, width - 10, height)
        painter.drawText(box, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), str(line))


def mono(size: int) -> QFont:
    """The font of code, in pixels."""
    made = QFont([*MONO])
    made.setPixelSize(size)
    made.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    return made
