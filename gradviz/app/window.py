"""The window as others see it. It is shown empty at once; what stands in it is built while a person looks at it."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent
from PySide6.QtWidgets import QApplication, QMainWindow

from gradviz.app.curtain import Curtain
from gradviz.app.store import Store
from gradviz.app.style import dress

if TYPE_CHECKING:
    from gradviz.app.desk import Desk
    from gradviz.app.launch import Opening
    from gradviz.session import Session

SMALLEST = (900, 560)
SOON_MS = 10
"""After the first paint the panels are built this soon."""


class Window(QMainWindow):
    """`session`, `trigger` and `wait_ready` are for others to use; whoever asks for them first has the panels built."""

    def __init__(self, opening: Opening) -> None:
        super().__init__()
        self.store = Store()
        self._opening = opening
        self._desk: Desk | None = None
        app = QApplication.instance()
        if isinstance(app, QApplication):
            dress(app, self.store.settings.theme)
        self.curtain = Curtain(self.store.settings.theme)
        self.setCentralWidget(self.curtain)
        self.setMinimumSize(*SMALLEST)
        self.setAcceptDrops(True)
        self._restore_shape()
        self._soon = QTimer(self, singleShot=True, interval=SOON_MS)
        self._soon.timeout.connect(self.furnish)
        self._soon.start()

    def _restore_shape(self) -> None:
        screen = QApplication.primaryScreen().availableGeometry()
        self.resize(min(1600, int(screen.width() * 0.94)), min(1000, int(screen.height() * 0.94)))
        geometry = self.store.shape("geometry")
        if geometry is not None:
            self.restoreGeometry(geometry)

    def wait_painted(self, timeout_s: float = 0.2) -> None:
        """Let the platform show the empty window before anything else takes time. Some platforms need several turns."""
        until = time.monotonic() + timeout_s
        while not self.curtain.painted and time.monotonic() < until:
            QApplication.processEvents()

    def furnish(self) -> None:
        """Put everything in, if that was not done yet. Imports what the first paint did not wait for."""
        if self._desk is None:
            from gradviz.app.desk import Desk

            self._soon.stop()
            gc.disable()  # all that is made here lives on, and looking it through takes a tenth of a second
            try:
                self._desk = Desk(self)
            finally:
                gc.enable()
            self._desk.port.begin(self._opening)
            self._desk.autosave.offer(self._desk.port.offer)

    @property
    def desk(self) -> Desk:
        """The panels, and what they do."""
        self.furnish()
        assert self._desk is not None
        return self._desk

    @property
    def session(self) -> Session:
        """The recording and the view of it: `session.trace`, `session.view`."""
        return self.desk.session

    # ---- from outside

    def trigger(self, action: str, argument: Any = "") -> bool:
        """Do an action now; False where it is disabled, and then nothing has happened.

        Raises:
            KeyError: there is no such action.
        """
        return self.desk.commands.trigger(action, argument)

    @property
    def is_ready(self) -> bool:
        """The program has ended and all that was recorded is on the canvas."""
        return self.desk.is_ready

    def wait_ready(self, timeout_s: float = 30.0) -> bool:
        """Wait, with events running, until the program has ended and its whole recording is on the canvas. False
        where that takes longer, or where nothing was recorded."""
        loop, timer, limit = QEventLoop(), QTimer(interval=5), QTimer(singleShot=True, interval=int(timeout_s * 1000))
        timer.timeout.connect(lambda: loop.quit() if self.is_ready else None)
        limit.timeout.connect(loop.quit)
        timer.start()
        limit.start()
        if not self.is_ready:
            loop.exec()
        timer.stop()
        limit.stop()
        return self.is_ready

    # ---- Qt's

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        path = dropped(event)
        if path:
            event.acceptProposedAction()
            self.trigger("file.open", path)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape that nobody wanted ends presenter mode: that is what slide clickers send."""
        if event.key() == Qt.Key.Key_Escape and self._desk is not None and self.session.view.presenter:
            self.trigger("view.presenter")
        else:
            super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        self.store.keep_shape("geometry", self.saveGeometry())
        self._soon.stop()
        if self._desk is not None:
            self._desk.clear()
        elif self._opening.launched is not None:
            self._opening.launched.end()
            self._opening.launched.tidy()
        super().closeEvent(event)


def dropped(event: QDropEvent) -> str | None:
    """The program, recording or lesson that is being dropped; None where it is something else."""
    paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
    return next((path for path in paths if path.lower().endswith((".py", ".gradviz", ".md"))), None)
