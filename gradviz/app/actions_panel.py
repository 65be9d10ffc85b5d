"""What was done: the program's backward calls and the lines that were sent after it; a click goes there."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from gradviz.app.paint import color
from gradviz.app.panel import Panel, differ
from gradviz.explain.labels import one_line
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
        self._painted: list[tuple[str, str, bool]] = []
        """Text, colour and weight of each row as they stand."""
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
        self._drop_rows(found)
        self._acts = found
        for act in found[len(self._painted) :]:
            item = QListWidgetItem("")
            item.setToolTip(act.text)
            self.list.addItem(item)
            self._painted.append(("", "", False))
        if not found:
            item = QListWidgetItem(self.words("ui.actions.empty"))
            item.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(item)
        self._paint(self.session.view.step)

    def _drop_rows(self, found: list[Act]) -> None:
        """Keep the rows that stay as they are: most of a list that grows at its end and is cut at its beginning."""
        known = [(act.text, act.first) for act in self._acts]
        wanted = [(act.text, act.first) for act in found]
        gone = known.index(wanted[0]) if wanted and wanted[0] in known else len(known)
        if not known or known[gone:] != wanted[: len(known) - gone]:
            self.list.clear()
            self._painted = []
            return
        for _ in range(gone):
            self.list.takeItem(0)
        del self._painted[:gone]

    def _paint(self, step: int) -> None:
        theme = self.theme
        current = max((k for k, act in enumerate(self._acts) if act.first <= step <= act.last), default=-1)
        for k, act in enumerate(self._acts):
            now = k == current
            mark = "✖ " if act.failed and step >= act.last else "▸ " if now else "  "
            failed = act.failed and step >= act.last
            ink = theme.error if failed else theme.text if step >= act.first else theme.text_faint
            count = "" if act.number is None else f"{act.number}: "
            looks = (mark + count + one_line(act.text), ink, now)
            if looks == self._painted[k]:
                continue
            self._painted[k] = looks
            item = self.list.item(k)
            item.setText(looks[0])
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
