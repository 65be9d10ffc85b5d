"""Lessons in the window: the words of the checkpoint above the inspector, and the list of all lessons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QTextBrowser,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gradviz.app.fonts import MONO
from gradviz.app.palette import ROLE, Overlay
from gradviz.app.panel import Panel, differ
from gradviz.app.shelf import shelf
from gradviz.app.toolbar import ActionButton
from gradviz.explain import Words
from gradviz.player.lesson_markup import plain, to_html
from gradviz.player.lesson_tell import told
from gradviz.player.view import ViewState
from gradviz.scene.theme import Theme, mix
from gradviz.settings import read

if TYPE_CHECKING:
    from gradviz.app.commands import Commands
    from gradviz.app.store import Store
    from gradviz.player.lessons import Lesson

SHARE = 0.7
"""Of the column's height, at most, for the words; what is longer is scrolled."""


class LessonPanel(Panel):
    """Title, words, and the way on. Hidden while no lesson is open."""

    def __init__(self, commands: Commands, parent: QWidget | None = None) -> None:
        super().__init__(commands.session, parent)
        self._commands = commands
        self._due = False
        """The first checkpoint is gone to as soon as the recording is whole."""
        self.setObjectName("lesson")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.title = QLabel()
        self.title.setObjectName("title")
        self.title.setWordWrap(True)
        self.title.setTextFormat(Qt.TextFormat.PlainText)
        self.list_button, self.close_button = _plain(commands, "lesson.open"), _plain(commands, "lesson.close")
        self.text = Page()
        self.counter = QLabel()
        self.counter.setObjectName("dim")
        self.previous, self.next = (
            _button(commands, "lesson.previous", "box"),
            _button(commands, "lesson.next", "primary"),
        )
        self._put_together()
        self.text.grown.connect(self._fit)
        self.begin()

    def _put_together(self) -> None:
        head, foot = QHBoxLayout(), QHBoxLayout()
        head.addWidget(self.title, 1)
        for button in (self.list_button, self.close_button):
            head.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        foot.addWidget(self.previous)
        foot.addStretch(1)
        foot.addWidget(self.counter)
        foot.addStretch(1)
        foot.addWidget(self.next)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 10, 14, 12)
        column.setSpacing(6)
        column.addLayout(head)
        column.addWidget(self.text, 1)
        column.addLayout(foot)

    def retell(self) -> None:
        words = self.words
        self.setAccessibleName(words("ui.lesson.name"))
        self.text.setAccessibleName(words("ui.lesson.text"))
        self.previous.setText(words("ui.lesson.previous"))

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if differ(old, new, "lesson"):
            self._due = new.lesson is not None
            self.setVisible(new.lesson is not None)
        if new.lesson is None:
            return
        whole = bool(self.session.trace.events) and not new.running
        if differ(old, new, "lesson", "checkpoint", "language", "theme", "presenter", "revision", "live"):
            self._tell(new, new.lesson)
        if self._due and whole:
            self._due = False
            self._commands.trigger("lesson.here")

    def _tell(self, view: ViewState, lesson: Lesson) -> None:
        words = self.words
        number = next((k for k, known in enumerate(shelf(), 1) if known.id == lesson.id), None)
        title = lesson.titles[view.language]
        self.title.setText(words("ui.lesson.title", number=number, title=title) if number else title)
        said = told(self.session.trace, lesson.checkpoints[view.checkpoint], view.language)
        before = self.text.accessibleDescription()
        self.text.tell(said, self.theme)
        count = len(lesson.checkpoints)
        self.counter.setText(words("ui.lesson.counter", number=view.checkpoint + 1, count=count))
        ends = "ui.lesson.following" if number and number < len(shelf()) else "ui.lesson.list"
        self.next.setText(words(ends if view.checkpoint + 1 == count else "ui.lesson.next"))
        if before != self.text.accessibleDescription() and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.text, plain(said)))
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if (column := self.parentWidget()) is not None:
            column.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._fit()
        return super().eventFilter(watched, event)

    def _fit(self) -> None:
        """As high as the words, if the inspector keeps its share."""
        parent = self.parentWidget()
        column = parent.height() if parent is not None else 600
        around = self.title.sizeHint().height() + self.next.sizeHint().height() + 40
        self.text.setFixedHeight(max(40, min(self.text.needed(), int(column * SHARE) - around)))


class Page(QTextBrowser):
    """The words of a checkpoint."""

    grown = Signal()
    """It has another width, so the words need another height."""

    def __init__(self) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(0)

    def tell(self, markdown: str, theme: Theme) -> None:
        """Show these words."""
        self.setAccessibleDescription(plain(markdown))
        self.document().setDefaultStyleSheet(_sheet(theme))
        self.document().setDefaultFont(self.font())
        self.setHtml(to_html(markdown))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.grown.emit()

    def needed(self) -> int:
        """Pixels that all of it takes at the present width."""
        document = self.document()
        document.setTextWidth(self.viewport().width())
        return int(document.size().height()) + 4


def _sheet(theme: Theme) -> str:
    mono = ", ".join(f"'{family}'" for family in MONO)
    shade = mix(theme.panel, theme.text, 0.07)
    return (
        f"p, li {{ color: {theme.text}; line-height: 135%; margin: 0 0 7px 0; }} ul {{ margin: 0 0 0 -22px; }}"
        f"code {{ font-family: {mono}; background: {shade}; }} b {{ font-weight: 600; }}"
        f"pre {{ font-family: {mono}; background: {shade}; margin: 2px 0 8px 0; white-space: pre-wrap; }}"
    )


def _plain(commands: Commands, ident: str) -> QToolButton:
    button = QToolButton()
    button.setObjectName("plain")
    button.setDefaultAction(commands[ident])
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
    button.setIconSize(QSize(16, 16))
    return button


def _button(commands: Commands, ident: str, style: str) -> ActionButton:
    button = ActionButton(commands[ident], style)
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
    return button


class LessonList(Overlay):
    """All lessons with how far each was read; Enter opens one."""

    def __init__(self, commands: Commands, store: Store, window: QWidget) -> None:
        super().__init__(window)
        self._commands, self._store = commands, store
        self.title = QLabel()
        self.title.setObjectName("title")
        self.list = QListWidget()
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 12, 14, 12)
        column.addWidget(self.title)
        column.addWidget(self.list)
        self.list.itemActivated.connect(self._chosen)
        self.list.itemClicked.connect(self._chosen)

    def open(self) -> None:
        """Show it; the lesson that is open, else the first that was not read to its end, is marked."""
        view = self._commands.session.view
        words = Words(view.language)
        self.setAccessibleName(words("ui.lesson.list"))
        self.list.setAccessibleName(words("ui.lesson.list"))
        self.title.setText(words("ui.lesson.list"))
        self.list.clear()
        for k, lesson in enumerate(shelf(), 1):
            count = len(lesson.checkpoints)
            seen = min(read(self._store.settings, lesson.id), count)
            title = words("ui.lesson.title", number=k, title=lesson.titles[view.language])
            state = "done" if seen == count else "begun" if seen else "fresh"
            item = QListWidgetItem(words(f"ui.lesson.{state}", title=title, seen=seen, count=count))
            item.setData(ROLE, lesson.id)
            self.list.addItem(item)
        self.list.setCurrentRow(self._marked())
        self.bring(560, 76 + self.list.sizeHintForRow(0) * self.list.count())
        self.list.setFocus()

    def _marked(self) -> int:
        """Row of the lesson that is open, else of the first that was not read to its end."""
        now = self._commands.session.view.lesson
        kept = self._store.settings
        for row, lesson in enumerate(shelf()):
            if lesson.id == now.id if now else read(kept, lesson.id) < len(lesson.checkpoints):
                return row
        return 0

    def _chosen(self, item: QListWidgetItem) -> None:
        self.dismiss()
        self._commands.trigger("lesson.open", item.data(ROLE))
