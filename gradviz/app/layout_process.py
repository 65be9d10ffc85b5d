"""The layout process seen from the window: a request goes out, an answer comes back as a signal."""

from __future__ import annotations

import sys
import time
from collections import deque
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QTimer, Signal

from gradviz.graph import messages
from gradviz.graph.messages import Assembly, Placed, Request
from gradviz.graph.model import Graph, Layout

ROOT = Path(__file__).resolve().parents[2]
SLICE_SECONDS = 0.008
"""How long the window's thread takes parts of an answer before it does something else."""
GRACE_MS = 300
BUDGET_SECONDS = 10.0
"""Processor time that a layout may spend on having fewer crossings."""


class LayoutProcess(QObject):
    """Starts with the first request. `lost` is emitted when it ends by itself; nothing more comes of it then."""

    answered = Signal(int, object)
    """Number of the request, and a `Placed`."""
    progressed = Signal(int, float)
    lost = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process: QProcess | None = None
        self._frames: deque[tuple[bytes, bytes]] = deque()
        self._pending = bytearray()
        self._assembly = Assembly()
        self._numbers = 0
        self._slices = QTimer(self, singleShot=True, interval=0)
        self._slices.timeout.connect(self._slice)

    @property
    def pid(self) -> int | None:
        """Process id; None before the first request and after the end."""
        return self._process.processId() if self._process is not None else None

    def tell(self, recording: bytes) -> None:
        """Send more of the recording."""
        self._write(messages.RECORDING, recording)

    def stood(self, graph: Graph, layout: Layout) -> None:
        """Send what is on the canvas, that the next answer keeps its places."""
        for part in messages.parts(graph, layout):
            self._send(part)
        self._write(messages.BEFORE, b"")

    def ask(self, mode: str, folded: frozenset[str], unfolded: frozenset[str], *, keep: bool) -> int:
        """Request a layout of all that was sent; what was requested before is given up. Gives its number."""
        self._numbers += 1
        request = Request(self._numbers, mode, tuple(folded), tuple(unfolded), keep, BUDGET_SECONDS)
        self._write(messages.REQUEST, messages.encode(request))
        return self._numbers

    def cancel(self) -> None:
        """Nobody waits for an answer any more."""
        if self._process is not None:
            self._numbers += 1
            self._write(messages.CANCEL, b"")

    def close(self) -> None:
        """End the process without a word."""
        process, self._process = self._process, None
        self._slices.stop()
        self._frames.clear()
        self._pending.clear()
        self._assembly = Assembly()
        if process is None:
            return
        process.blockSignals(True)
        process.closeWriteChannel()
        process.kill()
        process.waitForFinished(GRACE_MS)
        process.deleteLater()

    # ---- inside

    def _start(self) -> QProcess:
        process = QProcess(self)
        environment = QProcessEnvironment.systemEnvironment()
        environment.insert("PYTHONNOUSERSITE", "1")
        environment.insert("OPENBLAS_NUM_THREADS", "1")
        process.setProcessEnvironment(environment)
        process.setWorkingDirectory(str(ROOT))
        process.setProcessChannelMode(QProcess.ProcessChannelMode.SeparateChannels)
        process.setStandardErrorFile(QProcess.nullDevice())
        process.readyReadStandardOutput.connect(self._arrived)
        process.finished.connect(self._ended)
        process.errorOccurred.connect(self._ended)
        self._process = process
        process.start(sys.executable, ["-m", "gradviz.graph.worker"])
        return process

    def _write(self, letter: bytes, content: bytes) -> None:
        self._send(messages.frame(letter, content))

    def _send(self, content: bytes) -> None:
        (self._process or self._start()).write(content)

    def _ended(self, *_: object) -> None:
        if self._process is not None:
            self.close()
            self.lost.emit()

    def _arrived(self) -> None:
        if self._process is None:
            return
        self._pending += self._process.readAllStandardOutput().data()
        at, pending = 0, self._pending
        while len(pending) - at >= messages.HEAD:
            end = at + messages.HEAD + int.from_bytes(pending[at : at + 4], "big")
            if len(pending) < end:
                break
            self._frames.append((bytes(pending[at + 4 : at + 5]), bytes(pending[at + messages.HEAD : end])))
            at = end
        del pending[:at]
        if self._frames and not self._slices.isActive():
            self._slices.start()

    def _slice(self) -> None:
        until = time.perf_counter() + SLICE_SECONDS
        while self._frames and time.perf_counter() < until:
            letter, content = self._frames.popleft()
            if letter == messages.PROGRESS:
                number, share = msgspec.msgpack.decode(content, type=tuple[int, float])
                if number == self._numbers:
                    self.progressed.emit(number, share)
            elif letter == messages.ANSWER:
                number = msgspec.msgpack.decode(content, type=int)
                assembly, self._assembly = self._assembly, Assembly()
                if number == self._numbers:
                    self.answered.emit(number, assembly.placed())
            else:
                self._assembly.take(letter, content)
        if self._frames:
            self._slices.start()


__all__ = ["LayoutProcess", "Placed"]
