"""What was done: the program's backward calls and the lines that were sent after it; a click goes there."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from gradviz.app.paint import color
from gradviz.app.panel import Panel, differ
from gradviz.player.lines import Act, acts
from gradviz.player.view import ViewState, go
from gradviz.session import Session


class ActionsPanel(Panel):
    """A list of lines; the one that the step belongs to is marked, later ones are faint."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.list = QListWidget()
        self.list.setObjectName("code")
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.itemClicked.connect(self._clicked)
        self.list.itemActivated.connect(self._clicked)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 0, 8, 0)
        layout.addWidget(self.list)
        self._acts: list[Act] = []
        self.setFocusProxy(self.list)
        self.begin()

    def retell(self) -> None:
        self.list.setAccessibleName(self.words("ui.actions.name"))
        self._acts = []
        self._fill()

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if differ(old, new, "revision", "events", "actions"):
            self._fill()
        if differ(old, new, "revision", "events", "step", "theme", "language"):
            self._paint(new.step)

    def _fill(self) -> None:
        found = acts(self.session.trace) if self.session.trace.events else []
        if found == self._acts and self.list.count():
            return
        self._acts = found
        self.list.clear()
        for act in found:
            item = QListWidgetItem("")
            item.setToolTip(act.text)
            self.list.addItem(item)
        if not found:
            item = QListWidgetItem(self.words("ui.actions.empty"))
            item.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(item)
        self._paint(self.session.view.step)

    def _paint(self, step: int) -> None:
        theme = self.theme
        current = max((k for k, act in enumerate(self._acts) if act.first <= step <= act.last), default=-1)
        for k, act in enumerate(self._acts):
            item = self.list.item(k)
            now = k == current
            mark = "✖ " if act.failed and step >= act.last else "▸ " if now else "  "
            item.setText(mark + " ".join(act.text.split()))
            failed = act.failed and step >= act.last
            ink = theme.error if failed else theme.text if step >= act.first else theme.text_faint
            item.setForeground(color(ink))
            font = self.list.font()
            font.setWeight(QFont.Weight.DemiBold if now else QFont.Weight.Normal)
            item.setFont(font)
            if now:
                self.list.scrollToItem(item)

    def _clicked(self, item: QListWidgetItem) -> None:
        row = self.list.row(item)
        if row < len(self._acts):
            self.session.update(playing=False, following=False)
            self.session.show(go(self.session.view, self._acts[row].first))
