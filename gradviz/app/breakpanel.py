"""Break it on purpose: the list of experiments to choose from, and what the chosen one changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gradviz.app.palette import ROLE, Overlay
from gradviz.app.panel import Panel, clear, differ
from gradviz.explain import value_text
from gradviz.explain.words import Words
from gradviz.player.compare import Change, Comparison, Held, difference
from gradviz.player.experiments import Experiment
from gradviz.player.view import ViewState, go
from gradviz.trace.events import Data, Fault
from gradviz.trace.values import number

if TYPE_CHECKING:
    from gradviz.app.commands import Commands

_FIELDS = ("experiment", "revision", "events", "live", "language", "theme")


def _edit(words: Words, experiment: Experiment, unbroken: str) -> str:
    """What the experiment did to the unbroken program's text."""
    if experiment.was is None:
        return words("ui.break.put", line=experiment.line, text=experiment.shown)
    was = unbroken.split("\n")[experiment.was - 1].strip()
    return words("ui.break.replaced", line=experiment.line, was=was, text=experiment.shown)


class BreakList(Overlay):
    """The experiments that the program has something for; Enter or a click runs one."""

    chosen = Signal(str)

    def __init__(self, commands: Commands, window: QWidget) -> None:
        super().__init__(window)
        self._session = commands.session
        self.title, self.hint = QLabel(), QLabel()
        self.title.setObjectName("title")
        self.hint.setObjectName("dim")
        self.hint.setWordWrap(True)
        self.list = QListWidget()
        self.list.setWordWrap(True)
        self.list.itemActivated.connect(self._taken)
        self.list.itemClicked.connect(self._taken)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 14, 18, 14)
        for widget in (self.title, self.hint, self.list):
            column.addWidget(widget)
        self.setFocusProxy(self.list)

    def open(self) -> None:
        """Show what this program can be broken with."""
        view = self._session.view
        words = Words(view.language)
        self.setAccessibleName(words("ui.break.title"))
        self.list.setAccessibleName(words("ui.break.title"))
        self.title.setText(words("ui.break.title"))
        self.hint.setText(words("ui.break.hint"))
        self.list.clear()
        found = self._session.breakable
        for experiment in found:
            name = words(f"ui.break.{experiment.kind}.title")
            said = words(f"ui.break.{experiment.kind}.sentence")
            put = _edit(words, experiment, (view.experiment or view).program.text)
            item = QListWidgetItem(f"{name}\n{said}\n{put}")
            item.setData(ROLE, experiment.kind)
            self.list.addItem(item)
        if not found:
            item = QListWidgetItem(words("ui.break.nothing"))
            item.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(item)
        self.list.setCurrentRow(0)
        self.bring(620, 150 + 68 * max(1, len(found)))
        self.list.setFocus()

    def _taken(self, item: QListWidgetItem) -> None:
        kind = item.data(ROLE)
        if isinstance(kind, str):
            self.dismiss()
            self.chosen.emit(kind)


class BreakPanel(Panel):
    """Visible while an experiment is shown: a short table, a way to the first difference, a way back."""

    def __init__(self, commands: Commands, parent: QWidget | None = None) -> None:
        super().__init__(commands.session, parent)
        self._commands = commands
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 14, 12)
        column.setSpacing(8)
        self.title, self.edit, self.said = self._label("title"), self._label("mono"), self._label("dim")
        self._table = QWidget()
        self._grid = QGridLayout(self._table)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(10)
        self._grid.setVerticalSpacing(4)
        for k, share in enumerate((2, 3, 3)):
            self._grid.setColumnStretch(k, share)
        self.jump, self.undo = QPushButton(), QPushButton()
        self.jump.setObjectName("primary")
        self.jump.clicked.connect(self._jump)
        self.undo.clicked.connect(lambda: commands.trigger("edit.undo"))
        buttons = QHBoxLayout()
        buttons.addWidget(self.jump)
        buttons.addWidget(self.undo)
        buttons.addStretch(1)
        for widget in (self.title, self.edit, self.said, self._table):
            column.addWidget(widget)
        column.addLayout(buttons)
        self.hide()
        self.begin()

    def _label(self, style: str, text: str = "") -> QLabel:
        label = QLabel(text)
        label.setObjectName(style)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label

    def retell(self) -> None:
        self.setAccessibleName(self.words("ui.break.title"))
        self.undo.setText(self.words("ui.break.undo"))
        self.undo.setAccessibleName(self.words("ui.break.undo"))

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if not differ(old, new, *_FIELDS):
            return
        broken = new.experiment
        self.setVisible(broken is not None)
        if broken is None:
            return
        words, found = self.words, self.session.comparison
        self.title.setText(words(f"ui.break.{broken.experiment.kind}.title"))
        self.edit.setText(_edit(words, broken.experiment, broken.program.text))
        self._fill(found)
        step = found.step if found else None
        self.jump.setVisible(step is not None)
        self.jump.setText(words("ui.break.jump", step=step))
        self.jump.setAccessibleName(self.jump.text())

    def _fill(self, found: Comparison | None) -> None:
        words = self.words
        clear(self._grid)
        if found is None:
            self.said.setText(words("ui.break.running"))
            return
        changed = found.changes or found.step is not None
        key = "ui.break.changed" if found.changes else "ui.break.on_the_way" if changed else "ui.break.same"
        self.said.setText(words(key))
        if not found.changes:
            return
        for k, head in enumerate(("", words("ui.break.before"), words("ui.break.after"))):
            self._grid.addWidget(self._label("dim", head), 0, k)
        for row, change in enumerate(found.changes, 1):
            for k, text in enumerate(self._cells(change)):
                label = self._label("mono" if change.what != "fault" or not k else "", text)
                label.setAlignment(Qt.AlignmentFlag.AlignTop)
                self._grid.addWidget(label, row, k)

    def _cells(self, change: Change) -> tuple[str, str, str]:
        name = change.name if change.what == "value" else f"{change.name}.{change.what}"
        name = self.words("ui.break.error") if change.what == "fault" else name
        apart = difference(change)
        after = self._text(change.new)
        if apart and isinstance(change.new, Data) and after.startswith("[…"):
            after = self.words("ui.break.apart", difference=number(apart))
        if change.what == "fault":
            none = self.words("ui.break.no_error")
            old, new = (self._text(fault) if fault else none for fault in (change.old, change.new))
            return name, old, new
        return name, self._text(change.old), after

    def _text(self, held: Held) -> str:
        if isinstance(held, Fault):
            card = self.words(f"fault.{held.code}.title", type=held.type, message=held.message)
            return card.split("\n")[0]
        return value_text(held) if isinstance(held, Data) else str(held)

    def _jump(self) -> None:
        found = self.session.comparison
        if found is not None and found.step is not None:
            self.session.update(playing=False, following=False)
            self.session.show(go(self.session.view, found.step))
