"""Opens a large recording in slices, so that its beginning is on the canvas while the rest is still being read."""

from __future__ import annotations

import time
from pathlib import Path
from typing import IO

from PySide6.QtCore import QObject, QTimer, Signal

from gradviz.player.view import ViewState
from gradviz.session import Session
from gradviz.trace import Decoder, Trace, TraceError
from gradviz.trace.file import damage_of, why_empty

LARGE = 64 * 1024
"""Bytes of a recording from which on it is read in slices."""
PIECE = 8 * 1024
SLICE_SECONDS = 0.012
REST_MS = 1
TELL_SECONDS = 0.12
"""Panels are told of what was read this often, and never for more than one part in `PATIENCE` of the time."""
PATIENCE = 6


class FileReader(QObject):
    """One file at a time. `session.view.busy` tells how far it is; `ended` comes with what is damaged, or ""."""

    ended = Signal(str)

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self._file: IO[bytes] | None = None
        self._size, self._read, self._revision = 1, 0, -1
        self._decoder = Decoder()
        self._due = 0.0
        self._timer = QTimer(self, singleShot=True, interval=REST_MS)
        self._timer.timeout.connect(self._slice)
        self.destroyed.connect(session.listen(self._heard))

    def open(self, path: str) -> Trace:
        """Begin to read; gives the recording as far as its first frame goes, for the session to begin with. `start`
        reads the rest.

        Raises:
            OSError: the file cannot be read.
            TraceError: it is no recording, or not even its first frame is whole.
        """
        self.stop()
        file = Path(path).open("rb")  # noqa: SIM115 (read from in slices, closed by `stop`)
        trace, decoder, tape = Trace(), Decoder(bounded=True), []
        try:
            while not trace.events and decoder.damage is None and (piece := file.read(PIECE)):
                tape.append(piece)
                trace.extend(decoder.feed(piece))
        except TraceError as error:
            if not trace.events:
                file.close()
                raise TraceError(f"{error} ({path})") from None
            decoder.damage = str(error)  # what comes before it is shown
        if not trace.events:
            file.close()
            raise TraceError(f"{why_empty(path, decoder)} ({path})")
        self._file, self._decoder = file, decoder
        self._size, self._read = max(1, Path(path).stat().st_size), file.tell()
        self._tape = tape
        return trace

    def start(self, trace: Trace) -> None:
        """Make `trace` the session's recording and read on."""
        self.session.begin(trace, tape=self._tape)
        self._revision = self.session.view.revision
        self.session.update(busy=("reading", 0))
        self._due = 0.0
        self._timer.start()

    def stop(self) -> None:
        """Leave the rest unread."""
        self._timer.stop()
        file, self._file = self._file, None
        if file is not None:
            file.close()
            self._revision = -1
            if self.session.view.busy is not None and self.session.view.busy[0] == "reading":
                self.session.update(busy=None)

    def _heard(self, old: ViewState, new: ViewState) -> None:
        if old.revision != new.revision and self._revision not in (-1, new.revision):
            self.stop()

    def _slice(self) -> None:
        until = time.perf_counter() + SLICE_SECONDS
        while self._file is not None and time.perf_counter() < until:
            try:
                piece = self._file.read(PIECE)
            except OSError as error:
                self._end(str(error))
                return
            if not piece:
                self._end(damage_of(self.session.trace, self._decoder) or "")
                return
            self._read += len(piece)
            if not self._take(piece):
                return
        if time.perf_counter() > self._due:
            self._tell()
        self._timer.start()

    def _take(self, piece: bytes) -> bool:
        try:
            self.session.trace.extend(self._decoder.feed(piece))
            if self.session.tape is not None:
                self.session.tape.append(piece)
        except TraceError as error:
            self._end(str(error))
            return False
        if self._decoder.damage:
            self._end(self._decoder.damage)
            return False
        return True

    def _tell(self) -> None:
        began = time.perf_counter()
        self.session.append(())
        self.session.update(busy=("reading", round(100 * self._read / self._size)))
        ended = time.perf_counter()
        self._due = ended + max(TELL_SECONDS, PATIENCE * (ended - began))

    def _end(self, damage: str) -> None:
        self.session.trace.damage = damage or None
        self.session.append(())
        self.stop()
        self.ended.emit(damage)
