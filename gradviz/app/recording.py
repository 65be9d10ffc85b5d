"""The live recording: a recorder in its own process, its bytes decoded in small slices, lines sent to it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Signal

from gradviz.app.launch import Launched, launch
from gradviz.player.aligned import agreed
from gradviz.player.program import Program
from gradviz.player.view import go
from gradviz.session import Session
from gradviz.trace import Decoder, Trace, TraceError
from gradviz.trace.codec import AnyItem
from gradviz.trace.events import Cell, Ended, Fault, Header, Warn

PIECE = 8 * 1024
"""Bytes that are decoded at once: a compressed frame of them becomes a few hundred events."""
SLICE_SECONDS = 0.008
"""How long the window's thread decodes before it does something else."""
REST_MS = 4
TELL_SECONDS = 0.06
"""While much arrives, panels are told of it this often, and never for more than one part in `PATIENCE` of the time."""
PATIENCE = 6
GRACE_MS = 500
"""How long a program has for KeyboardInterrupt before it is ended."""
LOOK_MS = 200
"""How often a silent recorder is looked at."""
DYING_SECONDS = 0.5
"""How long a process that has closed its pipe has until it is dead."""
BACKLOG = 32
"""Chunks that wait at most: beyond, the pipe fills and the program waits, so memory stays bounded."""


class Reader(threading.Thread):
    """Reads a recorder's pipe into a bounded queue, b"" at its end. It only waits and copies; decoding is the window's
    work. The end of the process is the end too: a child that it left behind may hold the pipe open for ever."""

    def __init__(self, process: subprocess.Popen[bytes], wake: Callable[[], object]) -> None:
        super().__init__(daemon=True, name="recorder pipe")
        self.chunks: queue.Queue[bytes] = queue.Queue(BACKLOG)
        self.abandoned = False
        self._process = process
        self._wake = wake

    def run(self) -> None:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while not self.abandoned:
            try:
                chunk = os.read(descriptor, 65536) if self._more(descriptor) else b""
            except OSError:
                chunk = b""
            if not chunk:  # it has closed its end of the pipe; what it died of is known when it is dead
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(DYING_SECONDS)
            if not self._put(chunk) or not chunk:
                return

    def _more(self, descriptor: int) -> bool:
        """Wait until something can be read; False where that will never be, as the process is no more."""
        if sys.platform == "win32":
            return True  # nothing is forked there, and pipes cannot be waited for in this way
        watch = select.poll()
        watch.register(descriptor, select.POLLIN)
        while not self.abandoned:
            ended = self._process.poll() is not None  # asked first: what it wrote before is there by now
            if watch.poll(0 if ended else LOOK_MS):
                return True
            if ended:
                return False
        return False

    def _put(self, chunk: bytes) -> bool:
        while not self.abandoned:
            try:
                self.chunks.put(chunk, timeout=0.2)
            except queue.Full:
                continue
            with contextlib.suppress(RuntimeError):  # the window is gone
                self._wake()
            return True
        return False


class RecorderProcess(QObject):
    """Feeds the session from a live recorder, one at a time.

    `session.view.live` says how it stands. `lost` is emitted when it ends by itself: "stopped", "signal", "exit",
    "start" or "damage", and a detail.
    """

    lost = Signal(str, str)
    sent = Signal(str)
    starved = Signal()
    """The program asked for input, and there was none left."""
    limited = Signal()
    """The recording has become as large as it may; the program goes on without it."""
    _arrived = Signal()

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self._launched: Launched | None = None
        self._reader: Reader | None = None
        self._decoder = Decoder()
        self._pieces: list[bytes] = []
        self._waiting: list[str] = []
        self._due = 0.0
        self._stopping = self._killed = False
        self._resume: int | None = None
        self._left: Trace | None = None
        """The run in which the playhead stood where it is to go again."""
        self._play_from: int | None = None
        self._timer = QTimer(self, singleShot=True, interval=REST_MS)
        self._timer.timeout.connect(self._slice)
        self._deadline = QTimer(self, singleShot=True, interval=GRACE_MS)
        self._deadline.timeout.connect(self._end_now)
        self._arrived.connect(self._wake)

    # ---- starting and ending

    @property
    def pid(self) -> int | None:
        """Process id of the live recorder."""
        return self._launched.process.pid if self._launched else None

    def start(
        self, program: Program, actions: tuple[str, ...] = (), *, step: int = 0, launched: Launched | None = None
    ) -> None:
        """Record a program from its beginning, then run these lines. The playhead goes to `step` as soon as there is
        one. `launched`: a recorder of this program that is already on its way."""
        self.close()
        self._left = self.session.trace if self.session.trace.steps else None
        self.session.begin(Trace(), tape=[])
        self.session.update(live="starting", actions=(), following=False)
        self._decoder, self._pieces, self._waiting = Decoder(), [], list(actions)
        self._resume, self._play_from = step, None
        self._stopping = self._killed = False
        try:
            self._launched = launched or launch(program, device=self.session.view.device)
        except (OSError, ValueError) as error:
            self.session.update(live="gone")
            self.lost.emit("start", str(error))
            return
        self._reader = Reader(self._launched.process, self._arrived.emit)
        self._reader.start()

    def stop(self) -> None:
        """Interrupt the program; it is ended if that does not help at once."""
        if self._launched is None:
            return
        self._stopping = True
        self._waiting.clear()
        if self.session.view.live == "starting":
            self._end_now()
            return
        self._deadline.start()
        if len(self.session.trace.cells) > len(self.session.view.actions):
            self._signal(signal.SIGINT)  # else it has not begun the line, and would meet the signal before

    def close(self) -> None:
        """End the process without a word; what was recorded stays."""
        self._deadline.stop()
        self._timer.stop()
        launched, self._launched = self._launched, None
        reader, self._reader = self._reader, None
        if launched is None:
            return
        launched.kill()
        if reader is not None:
            reader.abandoned = True
        threading.Thread(target=_bury, args=(launched, reader), name="recorder's end").start()

    def _end_now(self) -> None:
        if self._launched is not None and self.session.view.running:
            self._killed = True
            self._launched.kill()

    def _signal(self, number: int) -> None:
        """To the recorder alone: programs that it started decide for themselves."""
        if self._launched is not None:
            with contextlib.suppress(OSError):
                self._launched.process.send_signal(number)

    # ---- lines

    def send(self, line: str, *, play: bool = True, typed: bool = False) -> None:
        """Run a line in the live process. The playhead goes to its first step and plays from there; where it has none,
        to the end, where what it printed is shown. One that was `typed` prints the values of its expressions."""
        if self._launched is None or self._launched.process.stdin is None:
            return
        view = self.session.view
        if play:
            self._play_from = view.steps + 1
        cell = len(self.session.trace.cells)
        request = json.dumps({"cell": cell, "source": line, "origin": "console" if typed else "action"}) + "\n"
        known = view.typed | {line} if typed else view.typed
        self.session.update(live="running", actions=(*view.actions, line), typed=known, playing=False)
        self.sent.emit(line)
        with contextlib.suppress(OSError):  # it is gone: the end of its pipe says so
            self._launched.process.stdin.write(request.encode())

    # ---- what arrives

    def _wake(self) -> None:
        if not self._timer.isActive():
            self._timer.start(0 if not self._pieces else REST_MS)

    def _slice(self) -> None:
        """Decode for a few milliseconds, then let the window do something else."""
        if self._reader is None:
            return
        until, fresh = time.perf_counter() + SLICE_SECONDS, False
        while time.perf_counter() < until:
            piece = self._piece()
            if piece is None:
                break
            if piece == b"":
                self._lost()
                return
            fresh = True
            if not self._take(piece):
                return
        more = bool(self._pieces) or not self._reader.chunks.empty()
        if fresh and (not more or time.perf_counter() > self._due):
            self._tell()
        if more:
            self._timer.start(REST_MS)

    def _piece(self) -> bytes | None:
        if not self._pieces and self._reader is not None:
            try:
                chunk = self._reader.chunks.get_nowait()
            except queue.Empty:
                return None
            if not chunk:
                return b""
            self._pieces = [chunk[k : k + PIECE] for k in range(0, len(chunk), PIECE)][::-1]
        return self._pieces.pop()

    def _take(self, piece: bytes) -> bool:
        trace = self.session.trace
        try:
            events = self._decoder.feed(piece)
            trace.extend(events)
            if self.session.tape is not None:
                self.session.tape.append(piece)
            if self._decoder.damage:
                raise TraceError(self._decoder.damage)
        except TraceError as error:
            trace.damage = str(error)
            self._tell()
            self.close()
            self.session.update(live="gone")
            self.lost.emit("damage", str(error))
            return False
        for event in events:
            self._note(event)
        return True

    def _note(self, event: AnyItem) -> None:
        if isinstance(event, Header):
            self.session.update(live="running")
        elif isinstance(event, Cell):
            if self.session.view.live == "ready":
                self.session.update(live="running")
            if self._stopping:
                self._signal(signal.SIGINT)
        elif isinstance(event, Fault):
            if (event.type, event.message, event.caught) == ("EOFError", "EOF when reading a line", False):
                self.starved.emit()
        elif isinstance(event, Warn):
            if event.code == "limit":
                self.limited.emit()
        elif isinstance(event, Ended):
            self._deadline.stop()
            self._stopping = self._killed  # its last words may have been on the way when it was killed
            self._tell()
            if self._waiting:
                line = self._waiting.pop(0)
                self.send(line, play=False, typed=line in self.session.view.typed)
            else:
                self.session.update(live="ready", following=False)
                self._arrive(last=True)

    def _tell(self) -> None:
        began = time.perf_counter()
        goes = self.session.view.following and self._play_from is None and self._resume is None
        self.session.append((), **({"step": self.session.trace.steps, "alpha": 1.0} if goes else {}))
        self._arrive()
        ended = time.perf_counter()
        self._due = ended + max(TELL_SECONDS, PATIENCE * (ended - began))

    def _arrive(self, *, last: bool = False) -> None:
        """Move the playhead to where it was asked to go, as soon as that step is there."""
        view = self.session.view
        if self._play_from is not None and view.steps >= self._play_from:
            target, self._play_from = self._play_from, None
            self.session.show(replace(go(view, target), alpha=0.0, playing=True))
        elif self._resume is not None and (last or view.steps >= self._resume):
            target, self._resume = self._resume, None
            if view.step == 0 and target:
                self.session.show(go(view, self._same_place(target)))
        elif self._play_from is not None and last:
            self._play_from = None
            self.session.show(go(view, view.steps))
        elif view.following:
            self.session.show(go(view, view.steps))

    def _same_place(self, step: int) -> int:
        """Where the playhead stood, if this run has the same steps up to there; else the first step that is another."""
        before, trace = self._left, self.session.trace
        if before is None:
            return step
        same = agreed(trace, before, step)
        return step if same >= min(step, before.steps) else same + 1

    def _lost(self) -> None:
        """The pipe has ended, so the process has, or will not be heard again."""
        launched = self._launched
        if launched is None:
            return
        kind, detail = _why(launched, self._stopping, bool(self.session.trace.events))
        trace = self.session.trace
        cut = trace.cells and trace.cells[-1].id not in trace.ended
        last = [Ended(trace.cells[-1].id, "interrupted" if self._stopping else "killed")] if cut else ()
        self.close()
        self.session.append(last, live="gone", playing=False)
        self._arrive(last=True)
        self.session.update(following=False)
        self.lost.emit(kind, detail)


def _bury(launched: Launched, reader: Reader | None) -> None:
    """Wait until a recorder that was ended is no more, and tidy up. A process that has much memory dies slowly."""
    launched.end()
    if reader is not None:
        reader.join(1.0)
    launched.tidy(silent=reader is None or not reader.is_alive())


def _why(launched: Launched, stopping: bool, heard: bool) -> tuple[str, str]:
    code = launched.process.poll()
    if stopping:
        return "stopped", ""
    if not heard:
        return "start", launched.complaint()
    if code is not None and code < 0:
        return "signal", str(-code)
    return "exit", "" if code is None else str(code)
