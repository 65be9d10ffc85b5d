"""Keeps Python's garbage collector from what lives on. A look at everything takes 50 ms in a window that has just
opened, a fifth of a second at a million events, and comes at any moment: so what is known to live is left out, and all
is looked at while nobody does anything."""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

from gradviz.player.view import ViewState
from gradviz.session import Session

EVERY = 20_000
"""After so many new events, what there is by then is walked through no more. In a recording nothing goes round in
circles, so that one which is larger is not walked through at all."""
IDLE_MS = 2_000
"""When nothing has changed for so long, nobody waits for the window."""


class Collector(QObject):
    """Listens to a session; what lives when it is made is spared from then on."""

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.idle = QTimer(self, singleShot=True, interval=IDLE_MS)
        self.idle.timeout.connect(self._settle)
        self._due = False
        self.destroyed.connect(session.listen(self._heard))
        gc.freeze()

    def close(self) -> None:
        """Spare nothing any more."""
        self.idle.stop()
        gc.unfreeze()

    def _heard(self, old: ViewState, new: ViewState) -> None:
        other = old.revision != new.revision
        known = 0 if other else old.events
        if new.events // EVERY > known // EVERY:
            gc.freeze()
        self._due = self._due or other
        if self._due:
            self.idle.start()

    def _settle(self) -> None:
        """Look at everything once, and then spare it."""
        session = self._session
        if session.view.running:
            self.idle.start()
            return
        self._due = False
        kept = len(session.trace.events) + (len(session.before.events) if session.before is not None else 0)
        if kept < EVERY:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
