"""A recording as a handout: A4 pages with picture, words, questions with room for an answer, and the answers last."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QMarginsF, QPointF, QRectF, Qt
from PySide6.QtGui import QImage, QPageSize, QPainter, QPdfWriter

from gradviz.app.fonts import load_fonts
from gradviz.app.paint import color, font, paint, pen
from gradviz.app.raster import PDF_DPI, ExportError, application
from gradviz.explain import Words
from gradviz.explain.questions import Question
from gradviz.export.worksheet import Sheet, Worksheet, answer_text, letter, worksheet
from gradviz.player.view import Mode
from gradviz.scene.figure import Figure
from gradviz.scene.theme import Theme, load_theme
from gradviz.trace import Trace

WIDTH, HEIGHT = 793, 1122
"""A4 in pixels of 96 to the inch."""
EDGE = 56.0
HEAD, FOOT = 30.0, 24.0
MOST_PER_PAGE = 2
RULE = 26.0
"""From one ruled line to the next."""
PICTURE = (0.44, 0.32)
"""Of the height that a step has, so much at most for its picture, where one or two stand on a page."""
Draw = Callable[[QPainter], None]
_WRAP = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap)


@dataclass(slots=True)
class Handout:
    """The pages of a recording; each can be painted on anything that is `WIDTH` x `HEIGHT`."""

    trace: Trace
    title: str
    theme: str = "light"
    mode: Mode = "both"
    language: str = "en"
    per_page: int = 1

    def pages(self) -> Iterator[Draw]:
        """One painter of a page after the other."""
        sheets = worksheet(self.trace, self.language)
        figure = Figure(self.trace, theme=self.theme, mode=self.mode, language=self.language, title=False)
        groups = [sheets.sheets[k : k + self.per_page] for k in range(0, len(sheets.sheets), self.per_page)]
        answers = list(_answer_pages(sheets, self))
        count = len(groups) + len(answers)
        for number, group in enumerate(groups, 1):
            yield partial(self._page, figure, group, number, count)
        for number, draw in enumerate(answers, len(groups) + 1):
            yield partial(self._answers, draw, number, count)

    @property
    def words(self) -> Words:
        """The word list."""
        return Words(self.language)

    @property
    def colors(self) -> Theme:
        """Ink and paper."""
        return load_theme(self.theme)

    # ---- pages

    def _page(self, figure: Figure, group: tuple[Sheet, ...], number: int, count: int, painter: QPainter) -> None:
        self._frame(painter, number, count)
        room = (HEIGHT - 2 * EDGE - HEAD - FOOT) / self.per_page
        for k, sheet in enumerate(group):
            top = EDGE + HEAD + k * room
            if k:
                painter.setPen(pen(self.colors.border, 1.0, 1.0, ()))
                painter.drawLine(QPointF(EDGE, top - 4), QPointF(WIDTH - EDGE, top - 4))
            self._sheet(painter, figure, sheet, QRectF(EDGE, top, WIDTH - 2 * EDGE, room - 12))

    def _answers(self, draw: Draw, number: int, count: int, painter: QPainter) -> None:
        self._frame(painter, number, count)
        draw(painter)

    def _frame(self, painter: QPainter, number: int, count: int) -> None:
        painter.fillRect(QRectF(0, 0, WIDTH, HEIGHT), color(self.colors.panel))
        line = Block(painter, self.colors, QRectF(EDGE, EDGE - 18, WIDTH - 2 * EDGE, 24))
        line.write(self.title, 12, 600, "text_dim")
        foot = QRectF(EDGE, HEIGHT - EDGE, WIDTH - 2 * EDGE, 20)
        painter.setFont(font("sans", 11, 400))
        painter.setPen(color(self.colors.text_faint))
        said = self.words("handout.page", number=number, count=count)
        painter.drawText(foot, int(Qt.AlignmentFlag.AlignRight), said)

    def _sheet(self, painter: QPainter, figure: Figure, sheet: Sheet, box: QRectF) -> None:
        block = Block(painter, self.colors, box)
        block.write(self.words("handout.step", step=sheet.step, steps=self.trace.steps), 12, 600, "text_faint")
        block.write(sheet.line, 11.5, 400, face="mono")
        self._picture(painter, figure, sheet.step, block)
        block.write(sheet.narration.title, 15, 600)
        block.write(sheet.narration.body, 12.5, 400, "text_dim")
        if sheet.question is not None:
            self._question(painter, block, sheet.question)
        if self.per_page == 1:
            self._notes(painter, block)

    def _notes(self, painter: QPainter, block: Block) -> None:
        """What is left of the page is ruled."""
        if block.box.bottom() - block.y < 4 * RULE:
            return
        block.y += 14
        block.write(self.words("handout.notes"), 12, 600, "text_faint")
        painter.setPen(pen(self.colors.border, 1.0, 0.8, ()))
        while block.y + RULE < block.box.bottom():
            block.y += RULE
            painter.drawLine(QPointF(block.box.left(), block.y), QPointF(block.box.right(), block.y))

    def _picture(self, painter: QPainter, figure: Figure, step: int, block: Block) -> None:
        page = figure.frame(step, 1.0)
        x, y, w, h = page.box
        scale = min(block.box.width() / w, PICTURE[self.per_page - 1] * block.box.height() / h, 1.0)
        painter.save()
        painter.setClipRect(QRectF(block.box.left(), block.y, block.box.width(), h * scale))
        painter.translate(block.box.left() + (block.box.width() - w * scale) / 2, block.y)
        painter.scale(scale, scale)
        painter.fillRect(QRectF(0, 0, w, h), color(page.ground))
        painter.translate(-x, -y)
        paint(painter, page.shapes)
        painter.restore()
        block.y += h * scale + 10

    def _question(self, painter: QPainter, block: Block, asked: Question) -> None:
        block.y += 8
        block.write(self.words("handout.ask", step=asked.step), 12, 600, "gradient")
        block.write(asked.prompt, 13.5, 600)
        for k, choice in enumerate(asked.choices):
            painter.setPen(pen(self.colors.text_dim, 1.0, 1.2, ()))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(block.box.left() + 2, block.y + 3, 11, 11), 2, 2)
            block.write(f"{letter(k)})  {choice.text}", 12.5, 400, indent=24)
        block.write(self.words("handout.because"), 12, 400, "text_dim")
        painter.setPen(pen(self.colors.text_faint, 1.0, 0.8, ()))
        for _ in range(2):
            if block.y + 22 > block.box.bottom():
                break
            block.y += 22
            painter.drawLine(QPointF(block.box.left(), block.y), QPointF(block.box.right(), block.y))


class Block:
    """A column of text that is written from the top down; `y` is where the next line goes."""

    def __init__(self, painter: QPainter, colors: Theme, box: QRectF) -> None:
        self.painter, self.colors, self.box, self.y = painter, colors, box, box.top()

    def measure(self, text: str, size: float, weight: int, indent: float = 0.0, face: str = "sans") -> float:
        """Height that a text needs."""
        self.painter.setFont(font(face, size, weight))
        room = QRectF(0, 0, self.box.width() - indent, 10_000)
        return self.painter.boundingRect(room, _WRAP, text).height()

    def write(
        self, text: str, size: float, weight: int, ink: str = "text", indent: float = 0.0, face: str = "sans"
    ) -> None:
        """Write a text, in as many lines as it takes."""
        if not text:
            return
        high = self.measure(text, size, weight, indent, face)
        self.painter.setPen(color(self.colors.ink(ink) if ink == "gradient" else self.colors.color(ink)))
        self.painter.drawText(
            QRectF(self.box.left() + indent, self.y, self.box.width() - indent, high + 2), _WRAP, text
        )
        self.y += high + 5


def _answer_pages(sheets: Worksheet, handout: Handout) -> Iterator[Draw]:
    """The answers, as many to a page as there is room for."""
    probe = QImage(8, 8, QImage.Format.Format_RGB32)
    painter = QPainter(probe)
    box = QRectF(EDGE, EDGE + HEAD, WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE - HEAD - FOOT)
    pages: list[list[Question]] = [[]]
    block = Block(painter, handout.colors, box)
    left = box.height() - 40
    for asked in sheets.answers:
        high = sum(block.measure(text, size, weight) + 5 for text, size, weight, _ in _answer(asked, handout)) + 8
        if high > left and pages[-1]:
            pages.append([])
            left = box.height() - 40
        pages[-1].append(asked)
        left -= high
    painter.end()
    for part in pages if sheets.answers else []:
        yield partial(_draw_answers, handout, box, part)


def _answer(asked: Question, handout: Handout) -> list[tuple[str, float, int, str]]:
    head = handout.words("handout.answer", step=asked.step, prompt=asked.prompt)
    return [(head, 11.5, 400, "text_dim"), (answer_text(asked), 13, 600, "text"), (asked.why, 12, 400, "text")]


def _draw_answers(handout: Handout, box: QRectF, part: list[Question], painter: QPainter) -> None:
    block = Block(painter, handout.colors, box)
    block.write(handout.words("handout.answers"), 18, 600)
    block.y += 8
    for asked in part:
        for text, size, weight, ink in _answer(asked, handout):
            block.write(text, size, weight, ink)
        block.y += 8


def to_handout(
    trace: Trace,
    path: str | Path,
    theme: str = "light",
    *,
    mode: Mode = "both",
    language: str = "en",
    per_page: int = 1,
    title: str = "",
) -> None:
    """Write a recording as a PDF handout with `per_page` steps on a page (1 or 2).

    Raises:
        ExportError: the file cannot be written.
    """
    if not Path(path).absolute().parent.is_dir():
        raise ExportError(f"There is no folder {Path(path).parent}.")
    app = application()
    load_fonts()
    writer = QPdfWriter(str(path))
    writer.setResolution(PDF_DPI)
    writer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
    writer.setPageMargins(QMarginsF(0, 0, 0, 0))
    name = title or Path(trace.header.program).name or "gradviz"
    writer.setTitle(name)
    writer.setCreator("gradviz")
    painter = QPainter()
    if not painter.begin(writer):
        raise ExportError(f"{path} cannot be written.")
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for k, draw in enumerate(Handout(trace, name, theme, mode, language, max(1, min(MOST_PER_PAGE, per_page))).pages()):
        if k:
            writer.newPage()
        draw(painter)
    painter.end()
    del app
