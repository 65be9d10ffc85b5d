"""The order of events: one lock, one writer, and what must be told before the next event (graphs gone, nodes begun)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from gradviz.recorder.printed import Printed, Stream
from gradviz.recorder.snapshot import Snapshots
from gradviz.trace.codec import FRAME_BYTES, FRAME_SECONDS, Writer
from gradviz.trace.events import (
    BackwardEnded,
    Cell,
    Ended,
    Event,
    Fault,
    File,
    Gone,
    Header,
    NodeStarted,
    Output,
    Scope,
    Warn,
)

_MANY = 256
"""Events that wait, at most, to be packed together."""
REST_SECONDS = 0.01
"""After a pass, what is pending is handed over unless that was done so recently."""
LEAVING_SECONDS = 0.2
"""How long a process that ends itself waits for another thread to finish writing."""
_ENDS = frozenset((Header, File, Cell, Ended, Output, Fault, Warn, BackwardEnded))
"""What is still told once recording has stopped: how things end."""


class Journal:
    """Takes events and packs them, a few hundred at a time.

    A fault waits until it is known whether the program handled it: the next event of the program's own says so, and
    so does its arrival at the top. What unwinding itself writes (`trailing`) waits behind it.

    Args:
        sink: receives whole frames.
        snapshots: is told to measure what events hold before they are packed.
        max_events, max_bytes: beyond these, `full` turns True and nothing but the ends of things is written.
        on_full: called once, when that happens.
    """

    def __init__(
        self,
        sink: Callable[[bytes], object],
        snapshots: Snapshots,
        max_events: int,
        max_bytes: int,
        on_full: Callable[[], object],
    ) -> None:
        self.lock = threading.RLock()
        self.gone: list[int] = []
        self.begun: list[NodeStarted] = []
        self.full = False
        self.failed = False
        """The recorder went wrong: what it has half told must not be completed."""
        self.events = 0
        self.dropped = 0
        """Operations that came after recording had stopped."""
        self._on_full = on_full
        self._writer = Writer(sink)
        self._snapshots = snapshots
        self._pending: list[Event] = []
        self._since = 0.0
        self._flushed = 0.0
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._waiting: list[Event] = []
        self.printed = Printed()
        self.closed = False

    def write(self, event: Event) -> None:
        """Append an event."""
        self.write_all((event,))

    def write_all(self, events: Sequence[Event]) -> None:
        """Append events with none of another thread between them."""
        with self.lock:
            if self._waiting or self.gone or self.printed.due:
                self._catch_up()
            if self.begun:
                begun, self.begun[:] = list(self.begun), []
                self._append(begun)
            self._append(events)

    def ran(self, events: Sequence[Event]) -> None:
        """Append the run of the node that began last: its beginning needs no event of its own."""
        with self.lock:
            if self._waiting or self.gone or self.printed.due:
                self._catch_up()
            self._append(events)

    def _catch_up(self) -> None:
        """Tell what happened before and waits to be told: a fault was handled, lines were printed, nodes died."""
        if self._waiting:
            self.settle(caught=True)
        elif self.printed.due:
            self._append(self.printed.take())
        if self.gone:
            self._tell_gone()

    def trailing(self, event: Event) -> None:
        """Append an event that unwinding writes: behind a fault that waits, not after its settling."""
        with self.lock:
            if self._waiting:
                self._waiting += (*self.printed.take(), event)
            else:
                self.write_all((event,))

    def output(self, text: str, stream: Stream) -> None:
        """Append what was printed. It is joined with what is printed next; where a fault waits, it stands behind it."""
        with self.lock:
            told = self.printed.add(text, stream)
            if self._waiting:
                self._waiting += told
            elif told:
                self._append(told)

    def finish_output(self) -> None:
        """Append the end of what was printed, also where it is a flood."""
        with self.lock:
            told = self.printed.finish()
            if self._waiting:
                self._waiting += told
            else:
                self._append(told)

    def fault(self, event: Fault) -> None:
        """Append a fault, which waits until `settle`."""
        with self.lock:
            self.write_all(())
            self._waiting.append(event)

    def settle(self, *, caught: bool) -> None:
        """The fault that waits was handled by the program, or was not."""
        with self.lock:
            waiting, self._waiting = [*self._waiting, *self.printed.take()], []
            self._append([_as_caught(e) if isinstance(e, Fault) and caught else e for e in waiting])
            if waiting:
                self.flush()

    @property
    def waits(self) -> bool:
        """A fault is waiting to be settled."""
        return bool(self._waiting)

    def flush(self) -> None:
        """Hand over what is pending."""
        with self.lock:
            if not self.closed:
                if self.printed.due and not self._waiting:
                    self._append(self.printed.take())
                self._drain()
                self._writer.flush()
                self._flushed = time.monotonic()

    def rest(self) -> None:
        """Hand over what is pending, at a moment at which that costs little: the program may be gone any time."""
        if time.monotonic() - self._flushed >= REST_SECONDS:
            self.flush()

    def leave(self) -> None:
        """Hand over what is pending, as the process ends in the midst of things: whoever has the lock may never give it
        back."""
        if self.lock.acquire(timeout=LEAVING_SECONDS):
            try:
                self.settle(caught=True)
                self.flush()
            finally:
                self.lock.release()

    def close(self) -> None:
        """Hand over what is pending and take nothing more."""
        try:
            self.flush()
        finally:
            self.closed = True

    @property
    def pending(self) -> int:
        """Events that no frame holds yet."""
        return len(self._pending) + self._writer.pending + len(self.printed.due)

    def _append(self, events: Sequence[Event]) -> None:
        if self.full or self.failed:
            events = [e for e in events if type(e) in _ENDS or (isinstance(e, Scope) and not e.enter)]
        if not events or self.closed:
            return
        pending, now = self._pending, time.monotonic()
        if not pending:
            self._since = now
        pending += events
        self.events += len(events)
        if len(pending) >= _MANY or now - self._since >= FRAME_SECONDS or self._snapshots.fresh >= FRAME_BYTES:
            self._drain()
        if self.events >= self._max_events and not self.full:
            self._stop()

    def _drain(self) -> None:
        """Pack what is pending: contents get their statistics, events become bytes."""
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        try:
            fresh = self._snapshots.measure()
            if fresh < FRAME_BYTES and 16 <= len(pending) < 4096:
                self._writer.write_small(pending)
            else:
                self._writer.write_all(pending)
        except BaseException:
            self.failed = True  # some of them are lost, so that what follows would contradict what came before
            raise
        if self._writer.bytes_written >= self._max_bytes and not self.full:
            self._stop()

    def _stop(self) -> None:
        self.full = True
        self._on_full()
        self._append([Warn("limit", f"Recording stopped here, at {self.events} events. The program went on.")])

    def _tell_gone(self) -> None:
        count = len(self.gone)
        gone = sorted(self.gone[:count])
        del self.gone[:count]  # a finaliser may have added more meanwhile: those stay for the next event
        self._append([Gone(tuple(gone[start : start + 10_000])) for start in range(0, count, 10_000)])


def _as_caught(event: Fault) -> Fault:
    return replace(event, caught=True)
