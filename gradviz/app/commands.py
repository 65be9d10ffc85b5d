"""Actions as Qt has them: one QAction for each row, shared by menus, toolbar, keys and palette."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from gradviz.actions import ACTIONS, BY_ID, MENUS, Action, Port, trigger
from gradviz.app.icons import icon
from gradviz.explain import Words
from gradviz.player.view import ViewState
from gradviz.scene.theme import load_theme
from gradviz.session import Session

_PASSING = frozenset(("alpha", "hover", "selection"))
"""Fields that no action's state depends on: these change sixty times a second."""


class Commands(QObject):
    """The QActions of a window, kept in step with the session."""

    def __init__(self, session: Session, port: Port, window: QWidget) -> None:
        super().__init__(window)
        self.session = session
        self._port = port
        self._actions: dict[str, QAction] = {}
        self._clickers: list[QShortcut] = []
        for row in ACTIONS:
            self._actions[row.id] = self._make(row, window)
        self.retell()
        self.refresh()
        self.destroyed.connect(session.listen(self._heard))

    def __getitem__(self, ident: str) -> QAction:
        return self._actions[ident]

    def _make(self, row: Action, window: QWidget) -> QAction:
        action = QAction(window)
        action.setObjectName(row.id)
        action.setShortcuts([QKeySequence(key) for key in row.keys])
        action.setCheckable(row.checked is not None)
        action.triggered.connect(lambda checked=False, ident=row.id: self._triggered(ident))
        window.addAction(action)
        for key in row.clicker:
            shortcut = QShortcut(QKeySequence(key), window)
            shortcut.setEnabled(False)
            shortcut.activated.connect(lambda ident=row.id: self.trigger(ident))
            self._clickers.append(shortcut)
        return action

    def give_plain_keys(self, *widgets: QWidget) -> None:
        """Let the plain keys work while one of these has the focus."""
        for widget in widgets:
            for row in ACTIONS:
                for key in row.plain:
                    shortcut = QShortcut(QKeySequence(key), widget)
                    shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
                    shortcut.activated.connect(lambda ident=row.id: self.trigger(ident))

    def trigger(self, ident: str, argument: Any = "") -> bool:
        """Do it now; False where it cannot be done.

        Raises:
            KeyError: there is no such action.
        """
        return trigger(self.session, self._port, ident, argument)

    def _triggered(self, ident: str) -> None:
        self.trigger(ident)
        self._refresh_row(BY_ID[ident])  # Qt has toggled its own check mark

    def reason(self, ident: str) -> str | None:
        """Why it cannot be done now, as a sentence; None where it can."""
        key = BY_ID[ident].when(self.session)
        return None if key is None else Words(self.session.view.language)(key)

    # ---- kept in step

    def _heard(self, old: ViewState, new: ViewState) -> None:
        if old.language != new.language:
            self.retell()
        if any(getattr(old, f) != getattr(new, f) for f in ViewState.__dataclass_fields__ if f not in _PASSING):
            self.refresh()

    def retell(self) -> None:
        """Titles in the language of now."""
        words = Words(self.session.view.language)
        for row in ACTIONS:
            action = self._actions[row.id]
            action.setText(words(row.title) + ("…" if row.asks else ""))
            action.setIconText(words(row.title))
            action.setStatusTip(words(row.sentence))
            self._tip(row, words, row.when(self.session))

    def refresh(self) -> None:
        """Enabled, checked, icons: as the session stands."""
        for row in ACTIONS:
            self._refresh_row(row)
        for shortcut in self._clickers:
            shortcut.setEnabled(self.session.view.presenter)

    def _refresh_row(self, row: Action) -> None:
        view, action = self.session.view, self._actions[row.id]
        theme = load_theme(view.theme)
        reason = row.when(self.session)
        action.setEnabled(reason is None)
        if row.checked is not None:
            action.setChecked(row.checked(self.session))
        if row.icon:
            name = "pause" if row.id == "play.toggle" and view.playing else row.icon
            action.setIcon(icon(name, theme.text, theme.text_faint))
        self._tip(row, Words(view.language), reason)

    def _tip(self, row: Action, words: Words, reason: str | None) -> None:
        action = self._actions[row.id]
        keys = f"  ({key_text(row)})" if row.keys or row.plain else ""
        lines = [words(row.title) + keys, words(row.sentence)]
        if reason is not None:
            lines.append(words(reason))
        tip = "\n".join(lines)
        if action.toolTip() != tip:
            action.setToolTip(tip)

    # ---- menus

    def menu(self, name: str, parent: QWidget) -> QMenu:
        """A menu with the actions of that name, in the order of the table."""
        menu = QMenu(Words(self.session.view.language)(f"ui.menu.{name}"), parent)
        menu.setObjectName(name)
        menu.setToolTipsVisible(True)
        for row in ACTIONS:
            if row.menu == name:
                menu.addAction(self._actions[row.id])
        return menu

    def fill(self, bar: QMenuBar | QMenu) -> None:
        """All menus into a menu bar, or below one button."""
        bar.clear()
        for name in MENUS:
            bar.addMenu(self.menu(name, bar))


def key_text(row: Action) -> str:
    """The key of an action as this platform writes it."""
    keys = row.keys or row.plain
    return QKeySequence(keys[0]).toString(QKeySequence.SequenceFormat.NativeText) if keys else ""
