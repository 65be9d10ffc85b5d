"""The middle of the window: the canvas, and what lies on it: view buttons, search, narration, cards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QLinearGradient, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from gradviz.actions import BY_ID
from gradviz.app.canvas import Canvas
from gradviz.app.commands import key_text
from gradviz.app.errorcard import ErrorCard
from gradviz.app.icons import icon
from gradviz.app.narration import Narration
from gradviz.app.paint import color
from gradviz.app.panel import Panel, differ
from gradviz.app.presenter import Counter, KeyCaps
from gradviz.app.quizcard import QuizCard
from gradviz.app.search import Search
from gradviz.player.view import ViewState

if TYPE_CHECKING:
    from gradviz.app.commands import Commands
    from gradviz.session import Session

EDGE = 16
TOP = 56
SEARCH = 240
QUIZ = 150
"""Pixels that are kept free while questions are asked."""
NARRATION = 84
"""Pixels that are kept free for it whatever it says: a graph that makes room for a long sentence would jump."""


class Welcome(QFrame):
    """Three lines that tell the keys, on the first start."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self.setObjectName("card")
        self.lines = [QLabel() for _ in range(3)]
        self.dismissed = False
        self.close_button = QToolButton()
        self.close_button.setObjectName("plain")
        self.close_button.setIconSize(QSize(14, 14))
        self.close_button.clicked.connect(self._dismiss)
        column = QVBoxLayout()
        for line in self.lines:
            line.setTextFormat(Qt.TextFormat.RichText)
            column.addWidget(line)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 10, 8, 10)
        row.addLayout(column)
        row.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)

    def _dismiss(self) -> None:
        self.dismissed = True
        self.hide()


class Veil(Panel):
    """Fades what lies under the buttons at the top, so that both can be read."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.begin()

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if differ(old, new, "theme"):
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        fade = QLinearGradient(0, 0, 0, self.height())
        for place, opacity in ((0.0, 0.96), (0.8, 0.9), (1.0, 0.0)):
            fade.setColorAt(place, color(self.theme.canvas, opacity))
        painter = QPainter(self)
        painter.fillRect(self.rect(), fade)
        painter.end()


class Stage(Panel):
    """Gives the canvas its margins, and each thing on it its place."""

    def __init__(self, commands: Commands, parent: QWidget | None = None) -> None:
        super().__init__(commands.session, parent)
        self._commands = commands
        self.setObjectName("center")
        self.canvas = Canvas(self.session, self)
        self.veil = Veil(self.session, self)
        self.modes = QWidget(self)
        row = QHBoxLayout(self.modes)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        self.mode_buttons: list[QToolButton] = []
        for ident in ("view.both", "view.forward", "view.autograd"):
            button = QToolButton()
            button.setObjectName("segment")
            button.setDefaultAction(commands[ident])
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
            row.addWidget(button)
            self.mode_buttons.append(button)
        for ident in ("quiz.level", "engine.play", "break.it"):
            button = QToolButton()
            button.setObjectName("tool")
            button.setDefaultAction(commands[ident])
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
            button.setIconSize(QSize(16, 16))
            row.addWidget(button)
            self.mode_buttons.append(button)
        self.search = Search(self.session, self)
        self.narration = Narration(self.session, self)
        self.error = ErrorCard(self.session, self)
        self.quiz = QuizCard(commands, self)
        self.welcome = Welcome(self)
        self.counter = Counter(self.session, self)
        self.keycaps = KeyCaps(commands, self)
        self._gave_way = False
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self.arrange)
        self.canvas.moved.connect(self._timer.start)
        self.begin()

    def retell(self) -> None:
        words = self.words
        self.setAccessibleName(words("ui.stage.name"))
        self.welcome.setAccessibleName(words("ui.welcome.name"))
        self.welcome.close_button.setAccessibleName(words("ui.banner.close"))
        self.welcome.close_button.setToolTip(words("ui.banner.close"))
        keys = {name: f"<b>{key_text(BY_ID[ident])}</b>" for name, ident in _KEYS.items()}
        plain = {f"{name}_plain": f"<b>{_PLAIN[name]}</b>" for name in _PLAIN}
        for k, line in enumerate(self.welcome.lines):
            line.setText(words(f"ui.welcome.line{k + 1}", **keys, **plain))
        self._timer.start()

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if differ(
            old,
            new,
            *("step", "language", "presenter", "revision", "events", "theme", "quiz", "level", "comparing"),
            *("show", "engine"),
        ):
            self._timer.start()
        if differ(old, new, "theme"):
            self.welcome.close_button.setIcon(icon("close", self.theme.text_dim))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.arrange()

    def arrange(self) -> None:
        """Put everything in its place."""
        width, height = self.width(), self.height()
        self.canvas.setGeometry(0, 0, width, height)
        for button in self.mode_buttons:
            button.setFixedHeight(max(28, button.fontMetrics().height() + 10))
        self.veil.setGeometry(0, 0, width, TOP)
        self.modes.adjustSize()
        self.modes.move(EDGE, 14)
        wide = min(SEARCH, max(120, width - self.modes.width() - 3 * EDGE))
        self.search.setGeometry(width - EDGE - wide, 14, wide, self.search.sizeHint().height())
        beside = self.canvas.minimap.width() + 24 if self.canvas.minimap.isVisibleTo(self) else 0
        strip = width - 2 * EDGE - beside
        told = self.narration.heightForWidth(strip)
        told = told if told > 0 else self.narration.sizeHint().height()
        self.narration.setGeometry(EDGE, height - EDGE - told, strip, told)
        view = self.session.view
        # Two canvases need the room, and the comparison says what happens.
        kept = max(0 if view.comparing else NARRATION, QUIZ if view.level != "off" else 0)
        reserved = kept * (1.6 * view.show.scale if view.presenter else 1.0)
        self.search.setVisible(not view.presenter)
        self.counter.adjustSize()  # its letters may have grown since it was filled
        self.counter.move(width - EDGE - self.counter.width(), 12)
        lower = reserved + 2 * EDGE
        failed = self.error.needed() + 2 * EDGE if self.error.isVisibleTo(self) else 0
        # The graph gives way to the card where it stays readable; else the card stands beside its node.
        end = self.canvas.end_above(failed) if failed else None
        gave_way, self._gave_way = self._gave_way, end is not None
        room = max(lower, failed) if self._gave_way else lower
        self.canvas.set_margins(TOP, 24, room, 24, glide=gave_way or self._gave_way)
        self.error.place(self.canvas, height - EDGE, end)
        asks = self.quiz.isVisibleTo(self)
        self.narration.setVisible(
            not (self.error.isVisibleTo(self) or asks or view.comparing)
        )  # a card says the same, and more
        if asks:
            high = min(self.quiz.needed(strip), height - 2 * EDGE)
            self.quiz.setGeometry(EDGE, height - EDGE - high, strip, high)
            self.quiz.raise_()
        self._place_welcome(width)

    def _place_welcome(self, width: int) -> None:
        view = self.session.view
        self.welcome.setVisible(not self.welcome.dismissed and view.step == 0)
        self.welcome.adjustSize()
        self.welcome.move((width - self.welcome.width()) // 2, TOP)
        self.welcome.raise_()


_KEYS = {
    "next": "step.next",
    "previous": "step.previous",
    "play": "play.toggle",
    "why": "help.why",
    "palette": "view.palette",
    "lessons": "lesson.open",
}
_PLAIN = {"next": "→", "previous": "←", "play": "Space"}
