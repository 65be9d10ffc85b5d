"""The strip that says what the current step does, in whole sentences, on screen and to screen readers."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from gradviz.app.fonts import load_fonts
from gradviz.app.paint import color, font
from gradviz.explain import Words, narrate
from gradviz.player.view import ViewState
from gradviz.scene.theme import load_theme
from gradviz.session import Session

PAD_X, PAD_Y, BAR_WIDTH, GAP = 20, 11, 5, 4
LARGER = 1.6
"""How much larger the text is for an audience."""
MOST_LINES = 4
_TOKENS = {
    "start": "idle",
    "op": "forward",
    "seed": "gradient",
    "node": "gradient",
    "accumulate": "leaf",
    "grad": "leaf",
    "fault": "error",
}
_FIELDS = ("step", "revision", "language", "theme", "presenter", "steps", "quiz", "engine", "show")


class Narration(QWidget):
    """Shows the sentences of the session's step and announces them to assistive technology."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        load_fonts()
        self.session = session
        self._lines: list[tuple[str, float, int, str]] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy = self.sizePolicy()
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.destroyed.connect(session.listen(self._changed))
        self._refresh()

    def _changed(self, old: ViewState, new: ViewState) -> None:
        if any(getattr(old, name) != getattr(new, name) for name in _FIELDS):
            self._refresh()
            if old.step != new.step and not new.playing:
                self._announce()

    def texts(self) -> tuple[str, str, str]:
        """Title, body and what comes next, as shown."""
        view, trace = self.session.view, self.session.trace
        if not trace.steps:
            words = Words(view.language)
            told = "nothing" if trace.ended and not view.running else "empty"
            return words(f"ui.narration.{told}_title"), words(f"ui.narration.{told}"), ""
        said = narrate(trace, view.step, view.language)
        return said.title, said.body, "" if view.hides else said.next

    def _refresh(self) -> None:
        title, body, following = self.texts()
        view = self.session.view
        size = LARGER * view.show.scale if view.presenter else 1.0
        self._lines = [
            (text, size * pixels, weight, token)
            for text, pixels, weight, token in (
                (title, 14.5, 600, "text"),
                (body, 12.5, 400, "text_dim"),
                (following, 12.0, 400, "text_faint"),
            )
            if text
        ]
        said = " ".join(text for text in (title, body, following) if text)
        self.setAccessibleName(Words(self.session.view.language)("ui.narration.name"))
        self.setAccessibleDescription(said)
        self.setToolTip("\n".join(text for text in (body, following) if text) if self._cut() else "")
        self.updateGeometry()
        self.update()

    def _announce(self) -> None:
        if QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, self.accessibleDescription()))

    # ---- size and painting

    def sizeHint(self) -> QSize:
        """As high as the sentences need at the present width."""
        width = self.width() if self.width() > 200 else 640
        return QSize(width, self.heightForWidth(width))

    def heightForWidth(self, width: int) -> int:
        """Height that the sentences need in that width."""
        height = sum(_measure(text, pixels, weight, self._room(width)) + GAP for text, pixels, weight, _ in self._lines)
        return round(height) - GAP + 2 * PAD_Y

    def _room(self, width: int) -> float:
        return max(80.0, width - 2 * PAD_X - BAR_WIDTH)

    def _cut(self) -> bool:
        return any(
            len(_layout(text, pixels, weight, self._room(self.width()), 99)) > MOST_LINES
            for text, pixels, weight, _ in self._lines
        )

    def event(self, event: QEvent) -> bool:
        """Another width needs another height."""
        if event.type() == QEvent.Type.Resize:
            self.updateGeometry()
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A card with a bar in the colour of the step's kind."""
        view = self.session.view
        theme = load_theme(view.theme)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(0.5, 0.5, self.width() - 1, self.height() - 1)
        card = QPainterPath()
        card.addRoundedRect(box, 8, 8)
        painter.fillPath(card, color(theme.panel))
        painter.setPen(color(theme.border))
        painter.drawPath(card)
        painter.setClipPath(card)
        token = _TOKENS[self.session.trace.kind(min(view.step, self.session.trace.steps))]
        painter.fillRect(QRectF(0, 0, BAR_WIDTH, self.height()), color(theme.color(token)))
        y = float(PAD_Y)
        for text, pixels, weight, ink in self._lines:
            painter.setPen(color(theme.color(ink)))
            painter.setFont(font("sans", pixels, weight))
            for line in _layout(text, pixels, weight, self._room(self.width()), MOST_LINES):
                height = _line_height(pixels)
                painter.drawText(
                    QRectF(PAD_X, y, self._room(self.width()) + 4, height), Qt.AlignmentFlag.AlignVCenter, line
                )
                y += height
            y += GAP


def _line_height(pixels: float) -> float:
    return round(pixels * 1.32)


def _measure(text: str, pixels: float, weight: int, room: float) -> float:
    return len(_layout(text, pixels, weight, room, MOST_LINES)) * _line_height(pixels)


def _layout(text: str, pixels: float, weight: int, room: float, most: int) -> list[str]:
    """The text broken into lines; what does not fit into the last one ends in an ellipsis."""
    layout = QTextLayout(text.replace("\n", " "), font("sans", pixels, weight))
    layout.setTextOption(QTextOption(Qt.AlignmentFlag.AlignLeft))
    layout.beginLayout()
    lines: list[str] = []
    while (line := layout.createLine()).isValid():
        line.setLineWidth(room)
        start = line.textStart()
        lines.append(layout.text()[start : start + line.textLength()].rstrip())
        if len(lines) == most:
            rest = layout.text()[start + line.textLength() :]
            if rest.strip():
                lines[-1] = lines[-1][:-2].rstrip() + "…"
            break
    layout.endLayout()
    return lines
