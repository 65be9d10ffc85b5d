"""The question before a step, on the canvas: choices first, then prediction and truth side by side."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QFrame, QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from gradviz.actions import BY_ID
from gradviz.app.commands import key_text
from gradviz.app.panel import Panel, clear, differ
from gradviz.player.quiz import score
from gradviz.player.view import ViewState

if TYPE_CHECKING:
    from gradviz.app.commands import Commands
    from gradviz.explain.questions import Question

PAD = 40
"""Pixels that a choice needs beside its text."""
_FIELDS = ("quiz", "language", "theme", "presenter", "revision", "level")


class ChoiceButton(QPushButton):
    """A choice whose text may take several lines; `key` is the digit that takes it."""

    def __init__(self, key: int, text: str) -> None:
        super().__init__()
        self.setObjectName("choice")
        self.setCheckable(True)
        self.setAccessibleName(f"{key} {text}")
        number, self.label = QLabel(str(key)), QLabel(text)
        number.setObjectName("dim")
        self.label.setWordWrap(True)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 5, 10, 5)
        row.setSpacing(8)
        row.addWidget(number, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.label, 1)
        for label in (number, self.label):
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        policy = self.sizePolicy()
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def sizeHint(self) -> QSize:
        layout = self.layout()
        return layout.sizeHint() if layout else super().sizeHint()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        layout = self.layout()
        return layout.heightForWidth(width) if layout else -1


class QuizCard(Panel):
    """Visible while a question stands. It takes the keys: digits choose, Enter reveals, Escape skips."""

    def __init__(self, commands: Commands, parent: QWidget | None = None) -> None:
        super().__init__(commands.session, parent)
        self._commands = commands
        self._before: QWidget | None = None
        self._shown: tuple[int, str] | None = None
        self.choices: list[ChoiceButton] = []
        self.frame = QFrame()
        self.frame.setObjectName("card")
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.frame)
        self._column = QVBoxLayout(self.frame)
        self._column.setContentsMargins(16, 10, 12, 12)
        self._column.setSpacing(8)
        self.prompt = self._label("title")
        self.tally = self._label("dim")
        self.tally.setWordWrap(False)
        head = QHBoxLayout()
        head.addWidget(self.prompt, 1)
        head.addWidget(self.tally, 0, Qt.AlignmentFlag.AlignTop)
        self._column.addLayout(head)
        self._body = QWidget()
        self._grid = QGridLayout(self._body)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(6)
        self._column.addWidget(self._body)
        self._foot = QHBoxLayout()
        self._column.addLayout(self._foot)
        self.go_button, self.skip_button, self.see_button = QPushButton(), QPushButton(), QPushButton()
        self.go_button.setObjectName("primary")
        self.go_button.clicked.connect(self.session.reveal)
        self.skip_button.clicked.connect(self.session.skip)
        self.see_button.clicked.connect(self.session.see)
        for button in (self.go_button, self.skip_button, self.see_button):
            self._foot.addWidget(button)
        self._foot.addStretch(1)
        self.hint = self._label("dim")
        self.hint.setWordWrap(False)
        self._foot.addWidget(self.hint)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.hide()
        self.begin()

    def _label(self, style: str) -> QLabel:
        label = QLabel()
        label.setObjectName(style)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label

    # ---- what it says

    def retell(self) -> None:
        self.setAccessibleName(self.words("ui.quiz.name"))

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if not differ(old, new, *_FIELDS):
            return
        asked, quiz = self.session.question, new.quiz
        if asked is None or quiz is None:
            self._close()
            return
        self._tell(asked, new)
        key = (quiz.step, quiz.kind)
        if not self.isVisible():
            focus = QApplication.focusWidget()
            self._before = focus if focus is not None and not self.isAncestorOf(focus) else self._before
            self.show()
        if self._shown != key or differ(old, new, "quiz"):
            self._shown = key
            self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _close(self) -> None:
        if self.isHidden():
            return
        held = self.hasFocus() or self.isAncestorOf(QApplication.focusWidget() or self.window())
        self.hide()
        self._shown = None
        if held and self._before is not None:
            self._before.setFocus(Qt.FocusReason.OtherFocusReason)

    def _tell(self, asked: Question, view: ViewState) -> None:
        quiz, words = view.quiz, self.words
        assert quiz is not None
        self.prompt.setText(asked.prompt)
        right, count = score(view.asked)
        self.tally.setText(words("ui.quiz.score", right=right, count=count) if count else "")
        clear(self._grid)
        self.choices = []
        if quiz.revealed:
            self._put_truth(asked, quiz.chosen)
        else:
            self._put_choices(asked, quiz.chosen)
        self.go_button.setText(words("ui.quiz.close" if quiz.revealed else "ui.quiz.reveal"))
        self.skip_button.setText(words("ui.quiz.skip"))
        self.skip_button.setVisible(not quiz.revealed)
        self.see_button.setText(words("ui.quiz.see", step=asked.reveal))
        self.see_button.setVisible(quiz.revealed and asked.reveal != quiz.step)
        key = key_text(BY_ID["step.next"])
        self.hint.setText(words("ui.quiz.hint_revealed" if quiz.revealed else "ui.quiz.hint", next=key))
        for button in (self.go_button, self.skip_button, self.see_button):
            button.setAccessibleName(button.text())
        self.setAccessibleDescription(self._spoken(asked, revealed=quiz.revealed))

    def _spoken(self, asked: Question, *, revealed: bool) -> str:
        if revealed:
            return f"{asked.choices[asked.truth].text}\n{asked.why}"
        return "\n".join([asked.prompt, *(f"{k + 1}: {c.text}" for k, c in enumerate(asked.choices))])

    def _put_choices(self, asked: Question, chosen: int | None) -> None:
        over = self.parentWidget()
        wide = over.width() if over else 640
        for k, choice in enumerate(asked.choices):
            button = ChoiceButton(k + 1, choice.text)
            button.setChecked(k == chosen)
            button.clicked.connect(partial(self._clicked, k))
            self.choices.append(button)
        half = (wide - 80) // 2 - PAD
        short = all(b.label.fontMetrics().horizontalAdvance(b.label.text()) < half for b in self.choices)
        columns = 2 if short and len(self.choices) > 1 else 1
        for k, button in enumerate(self.choices):
            self._grid.addWidget(button, k // columns, k % columns)
        self._stretch(columns)

    def _clicked(self, k: int, checked: bool = False) -> None:
        self.session.choose(k)

    def _put_truth(self, asked: Question, chosen: int | None) -> None:
        """Prediction and truth side by side; what was right stands alone."""
        words, truth = self.words, asked.choices[asked.truth]
        if chosen is None or chosen == asked.truth:
            key = "ui.quiz.right" if chosen is not None else "ui.quiz.truth"
            self._grid.addWidget(self._side(words(key), truth.text, asked.why, "good"), 0, 0)
            self._stretch(1)
            return
        mine = asked.choices[chosen]
        self._grid.addWidget(self._side(words("ui.quiz.mine"), mine.text, mine.note, "bad"), 0, 0)
        self._grid.addWidget(self._side(words("ui.quiz.truth"), truth.text, asked.why, "good"), 0, 1)
        self._stretch(2)

    def _stretch(self, columns: int) -> None:
        for k in range(2):
            self._grid.setColumnStretch(k, 1 if k < columns else 0)

    def _side(self, head: str, text: str, note: str, style: str) -> QFrame:
        side = QFrame()
        side.setObjectName(style)
        column = QVBoxLayout(side)
        column.setContentsMargins(12, 6, 10, 6)
        column.setSpacing(2)
        for words, name in ((head, "dim"), (text, "title"), (note, "")):
            if words:
                label = self._label(name)
                label.setText(words)
                column.addWidget(label)
        column.addStretch(1)
        return side

    # ---- size and keys

    def needed(self, width: int) -> int:
        """Height that the card needs in a width."""
        self.frame.ensurePolished()
        self._grid.activate()
        return max(self._column.heightForWidth(width), self._column.totalMinimumSize().height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Digits choose; Enter and the step keys reveal and go on; Escape skips."""
        key = event.key()
        if Qt.Key.Key_1 <= key <= Qt.Key.Key_9:
            self.session.choose(key - Qt.Key.Key_1)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.session.reveal()
        elif key in (Qt.Key.Key_Right, Qt.Key.Key_Space):
            self._commands.trigger("step.next")
        elif key == Qt.Key.Key_Left:
            self._commands.trigger("step.previous")
        elif key == Qt.Key.Key_Escape:
            self.session.skip()
        else:
            super().keyPressEvent(event)
