"""The search field: its text is the view's; it tells how much was found and walks from hit to hit."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QWidget

from gradviz.explain import Words
from gradviz.player.view import ViewState
from gradviz.scene.theme import load_theme
from gradviz.session import Session

WAIT_MS = 120


class Search(QWidget):
    """A line with a count. Enter selects the next hit, Shift+Enter the one before, Escape ends the search."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.line, self.count = QLineEdit(), QLabel()
        self.line.setClearButtonEnabled(True)
        self.setFocusProxy(self.line)
        self._wait = QTimer(self)
        self._wait.setSingleShot(True)
        self._wait.setInterval(WAIT_MS)
        self._wait.timeout.connect(self._search)
        box = QHBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.addWidget(self.line, 1)
        box.addWidget(self.count)
        self.line.textEdited.connect(lambda _: self._wait.start())
        self.line.textChanged.connect(lambda text: self._search() if not text else None)
        self.line.returnPressed.connect(lambda: self.go(1))
        self.destroyed.connect(session.listen(self._changed))
        self._refresh()

    def _changed(self, old: ViewState, new: ViewState) -> None:
        if (old.search, old.step, old.events, old.revision, old.language, old.theme) != (
            new.search,
            new.step,
            new.events,
            new.revision,
            new.language,
            new.theme,
        ):
            self._refresh()

    def _search(self) -> None:
        self._wait.stop()
        self.session.update(search=self.line.text())

    def _refresh(self) -> None:
        view = self.session.view
        words = Words(view.language)
        self.line.setPlaceholderText(words("ui.search.hint"))
        self.line.setAccessibleName(words("ui.search.name"))
        self.line.setToolTip(words("ui.search.help"))
        if self.line.text() != view.search and not self._wait.isActive():
            self.line.setText(view.search)
        hits = self.session.hits
        error = hits.error
        if error is not None:
            said = words(f"ui.search.error_{error.code}", part=error.part)
        elif not hits.keys:
            said = words("ui.search.nothing")
        else:
            said = words("ui.search.count", count=f"{len(hits.keys):,}", total=f"{hits.total:,}")
        self.count.setText(said)
        theme = load_theme(view.theme)
        self.count.setStyleSheet(f"color: {theme.error if error else theme.text_dim}")
        self.count.setVisible(bool(view.search.strip()))

    def go(self, way: int) -> None:
        """Select the next (1) or the previous (-1) hit."""
        if self._wait.isActive():
            self._search()
        keys = self.session.hits.keys
        if not keys:
            return
        chosen = self.session.view.selection
        place = keys.index(chosen) + way if chosen in keys else (0 if way > 0 else -1)
        self.session.update(selection=keys[place % len(keys)])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape gives the search up; Up and Down walk the hits."""
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self.session.update(search="")
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.go(1 if key == Qt.Key.Key_Down else -1)
        else:
            super().keyPressEvent(event)
