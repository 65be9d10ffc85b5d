"""The command palette, the page of keys, and the answer to "why": cards that lie over the window until Escape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from gradviz.actions import ACTIONS, BY_ID, MENUS
from gradviz.app.commands import key_text
from gradviz.explain import Words

if TYPE_CHECKING:
    from gradviz.app.commands import Commands

ROLE = int(Qt.ItemDataRole.UserRole)


class Overlay(QFrame):
    """A card in the upper middle of its window; Escape closes it and gives the focus back."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setObjectName("card")
        self._before: QWidget | None = None
        self.hide()

    def bring(self, width: int, height: int) -> None:
        """Show it."""
        window = self.parentWidget()
        if window is None:
            return
        if not self.isVisible():
            self._before = window.focusWidget()
        width, height = min(width, window.width() - 40), min(height, window.height() - 120)
        self.setGeometry((window.width() - width) // 2, 76, width, height)
        self.show()
        self.raise_()

    def dismiss(self) -> None:
        """Hide it."""
        if not self.isVisible():
            return
        self.hide()
        if self._before is not None:
            self._before.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()
        else:
            super().keyPressEvent(event)


class Palette(Overlay):
    """Every action by its name; Enter does it."""

    def __init__(self, commands: Commands, window: QWidget) -> None:
        super().__init__(window)
        self._commands = commands
        self.field = QLineEdit()
        self.list = QListWidget()
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        column = QVBoxLayout(self)
        column.addWidget(self.field)
        column.addWidget(self.list)
        self.field.textChanged.connect(self.fill)
        self.field.returnPressed.connect(self._chosen)
        self.field.installEventFilter(self)
        self.list.itemClicked.connect(self._chosen)

    @property
    def _words(self) -> Words:
        return Words(self._commands.session.view.language)

    def open(self) -> None:
        """Show it, empty."""
        words = self._words
        self.setAccessibleName(words("ui.palette.name"))
        self.field.setAccessibleName(words("ui.palette.name"))
        self.list.setAccessibleName(words("ui.palette.list"))
        self.field.setPlaceholderText(words("ui.palette.hint"))
        self.field.clear()
        self.fill("")
        self.bring(560, 420)
        self.field.setFocus()

    def fill(self, text: str) -> None:
        """The actions whose title, sentence or id is like the text, best first."""
        self.list.clear()
        for ident in self._found(text):
            row = BY_ID[ident]
            title, key = self._words(row.title), key_text(row)
            item = QListWidgetItem(f"{title}    {key}" if key else title)
            item.setData(ROLE, ident)
            reason = self._commands.reason(ident)
            item.setToolTip(reason or self._words(row.sentence))
            if reason:
                item.setText(f"{item.text()}   — {reason}")
                item.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(item)
        self.list.setCurrentRow(0)

    def _found(self, text: str) -> list[str]:
        rows = [row for row in ACTIONS if row.id != "view.palette"]
        titles = {row.id: f"{self._words(row.title)} {row.id}".lower() for row in rows}
        wanted = text.lower().split()
        # Likeness is for slips of the keyboard: where the words themselves stand somewhere, it would only add noise.
        if exact := [key for key, title in titles.items() if all(word in title for word in wanted)]:
            return sorted(exact, key=lambda key: titles[key].find(wanted[0]) if wanted else 0)
        from rapidfuzz import fuzz, process

        hits = process.extract(text.lower(), titles, scorer=fuzz.WRatio, score_cutoff=55, limit=None)
        return [key for _, _, key in hits]

    def _chosen(self) -> None:
        item = self.list.currentItem()
        if item is None or not item.flags() & Qt.ItemFlag.ItemIsEnabled:
            return
        self.dismiss()
        self._commands.trigger(item.data(ROLE))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
            if step is not None:
                self.list.setCurrentRow(max(0, min(self.list.count() - 1, self.list.currentRow() + step)))
                return True
        return super().eventFilter(watched, event)


class KeysPage(Overlay):
    """All keys, by menu, read off the table of actions."""

    def __init__(self, commands: Commands, window: QWidget) -> None:
        super().__init__(window)
        self._commands = commands
        self._area = QScrollArea()
        self._area.setWidgetResizable(True)
        column = QVBoxLayout(self)
        column.addWidget(self._area)

    def open(self) -> None:
        """Show it in the language of now."""
        words = Words(self._commands.session.view.language)
        self.setAccessibleName(words("ui.action.help.keys.title"))
        self._area.setAccessibleName(words("ui.action.help.keys.title"))
        page = QWidget()
        grid = QGridLayout(page)
        grid.setHorizontalSpacing(20)
        line = 0
        for menu in MENUS:
            rows = [row for row in ACTIONS if row.menu == menu and (row.keys or row.plain)]
            if not rows:
                continue
            grid.addWidget(_label(words(f"ui.menu.{menu}"), "heading"), line, 0)
            line += 1
            for row in rows:
                keys = [key_text(row), *(_native(key) for key in row.plain[:1] if row.keys), *map(_native, row.clicker)]
                grid.addWidget(_label("   ".join(keys), "mono"), line, 0)
                grid.addWidget(_label(words(row.title), ""), line, 1)
                grid.addWidget(_label(words(row.sentence), "dim"), line, 2)
                line += 1
        self._area.setWidget(page)
        self.bring(760, 620)
        self._area.setFocus()


def _label(text: str, style: str) -> QLabel:
    label = QLabel(text)
    label.setObjectName(style)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def _native(key: str) -> str:
    from PySide6.QtGui import QKeySequence

    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)
