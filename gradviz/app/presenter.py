"""Presenter mode: the step in large figures, pressed keys on the screen, a dark screen, the speaker's own notes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QKeyEvent, QKeySequence, QMouseEvent
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPlainTextEdit, QScrollArea, QVBoxLayout, QWidget

from gradviz.actions import ACTIONS
from gradviz.app.panel import Panel, differ
from gradviz.explain import Words, narrate
from gradviz.explain.questions import kinds_at, question
from gradviz.player.lesson_markup import plain
from gradviz.player.lesson_tell import told
from gradviz.player.view import ViewState

if TYPE_CHECKING:
    from gradviz.app.commands import Commands
    from gradviz.session import Session

SHOWN_MS = 1800
"""How long a pressed key stands on the screen."""
_BARE = frozenset((Qt.Key.Key_Control, Qt.Key.Key_Shift, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr))


class Counter(QLabel):
    """The step and how many there are, legible from the back row."""

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("counter")
        self._session = session
        self.destroyed.connect(session.listen(self._heard))
        self.hide()

    def _heard(self, old: ViewState, new: ViewState) -> None:
        if differ(old, new, "step", "steps", "presenter", "show", "language", "quiz", "engine"):
            self.setText(f"{new.step:,} / …" if new.hides else f"{new.step:,} / {new.steps:,}")
            self.setVisible(new.presenter)
            self.adjustSize()


class KeyCaps(QLabel):
    """The key that was pressed last and what it does, for those who watch. Keys typed into a text are not shown."""

    def __init__(self, commands: Commands, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("keycaps")
        self._commands = commands
        self._last: tuple[int, str] | None = None
        self._timer = QTimer(self, singleShot=True, interval=SHOWN_MS)
        self._timer.timeout.connect(self.hide)
        self._titles = {
            QKeySequence(key).toString(): row.title
            for row in ACTIONS
            for key in (*row.plain[::-1], *row.clicker[::-1], *row.keys[::-1])
        }
        self.hide()
        app = QApplication.instance()
        if app is not None:
            app.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A shortcut comes as a question whether a widget wants the key, any other key as a press."""
        view = self._commands.session.view
        if isinstance(event, QKeyEvent) and view.presenter and view.show.keys:
            wanted = event.type() in (QEvent.Type.ShortcutOverride, QEvent.Type.KeyPress)
            if wanted and watched is QApplication.focusWidget() and not self._typed(event):
                self._show(event)
        return False

    def _typed(self, event: QKeyEvent) -> bool:
        writes = isinstance(QApplication.focusWidget(), QLineEdit | QPlainTextEdit)
        held = event.modifiers() & ~Qt.KeyboardModifier.ShiftModifier & ~Qt.KeyboardModifier.KeypadModifier
        return event.key() in _BARE or (writes and bool(event.text()) and not held)

    def _show(self, event: QKeyEvent) -> None:
        sequence = QKeySequence(event.keyCombination())
        words = Words(self._commands.session.view.language)
        title = self._titles.get(sequence.toString())
        key = sequence.toString(QKeySequence.SequenceFormat.NativeText)
        self.setText(f"{key}   {words(title)}" if title else key)
        self.adjustSize()
        over = self.parentWidget()
        if over is not None:
            self.move((over.width() - self.width()) // 2, 64)
        self.show()
        self.raise_()
        self._timer.start()


class Blank(QWidget):
    """A dark screen over the whole window. A click takes it away, as does the key that brought it."""

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        self.setObjectName("blank")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setStyleSheet("QWidget#blank { background: #000000; }")
        parent.installEventFilter(self)
        self.destroyed.connect(session.listen(self._heard))
        self.hide()

    def _heard(self, old: ViewState, new: ViewState) -> None:
        if (old.presenter, old.show) != (new.presenter, new.show):
            self.setVisible(new.presenter and new.show.blank)
            self._cover()

    def _cover(self) -> None:
        over = self.parentWidget()
        if over is not None and not self.isHidden():
            self.setGeometry(over.rect())
            self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._cover()
        return False

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._session.show_as(blank=False)


class Notes(Panel):
    """What the speaker sees and the audience does not: time, this step, the next one, the answer that stands."""

    def __init__(self, commands: Commands) -> None:
        super().__init__(commands.session)
        self._commands = commands
        self._began = time.monotonic()
        self.setWindowFlag(Qt.WindowType.Window)
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, on=False)
        self.resize(520, 560)
        self.clock, self.text = QLabel(), QLabel()
        self.clock.setObjectName("title")
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.text.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.text.setMargin(4)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setWidget(self.text)
        column = QVBoxLayout(self)
        column.setSizeConstraint(QVBoxLayout.SizeConstraint.SetNoConstraint)  # a long word must not widen the window
        column.addWidget(self.clock)
        column.addWidget(area)
        self._second = QTimer(self, interval=1000)
        self._second.timeout.connect(self._tick)
        self.begin()

    def retell(self) -> None:
        self.setWindowTitle(self.words("ui.present.notes"))
        self.setAccessibleName(self.words("ui.present.notes"))
        self.text.setAccessibleName(self.words("ui.present.notes"))

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        wanted = new.presenter and new.show.notes
        if wanted and not self.isVisible():
            self._began = time.monotonic()
            self._second.start()
            self.show()
        elif not wanted and self.isVisible():
            self._second.stop()
            self.hide()
        if wanted:
            self.text.setText("\n\n".join(self.told()))
            self._tick()

    def _tick(self) -> None:
        seconds, view = int(time.monotonic() - self._began), self.session.view
        passed = f"{seconds // 60}:{seconds % 60:02}"
        self.clock.setText(self.words("ui.present.clock", passed=passed, step=view.step, steps=view.steps))

    def told(self) -> list[str]:
        """The paragraphs: lesson, step, what comes, what could be asked and what the answer is."""
        view, trace, words = self.session.view, self.session.trace, self.words
        parts: list[str] = []
        if view.lesson is not None and view.checkpoint < len(view.lesson.checkpoints):
            parts.append(plain(told(trace, view.lesson.checkpoints[view.checkpoint], view.language)))
        if trace.steps:
            said = narrate(trace, view.step, view.language)
            parts += [said.title, said.body, said.next]
        asked = self.session.question
        if asked is None and (kinds := kinds_at(trace, view.step + 1)):
            asked = question(trace, view.step + 1, kinds[0], view.language)
            parts.append(words("ui.present.could_ask", prompt=asked.prompt) if asked else "")
        if asked is not None:
            parts.append(words("ui.present.answer", answer=asked.choices[asked.truth].text, why=asked.why))
        return [part for part in parts if part]

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        if self.session.view.show.notes:
            self.session.show_as(notes=False)
