"""The order of events: one lock, one writer, and what must be told before the next event (graphs gone, nodes begun)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from gradviz.trace.codec import Writer
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

_ENDS = frozenset((Header, File, Cell, Ended, Output, Fault, Warn, BackwardEnded))
"""What is still told once recording has stopped: how things end."""


class Journal:
    """Takes events and packs them at once.

    A fault waits until it is known whether the program handled it: the next event of the program's own says so, and
    so does its arrival at the top. What unwinding itself writes (`trailing`) waits behind it.

    Args:
        sink: receives whole frames.
        max_events, max_bytes: beyond these, `full` turns True and nothing but the ends of things is written.
        on_full: called once, when that happens.
    """

    def __init__(
        self, sink: Callable[[bytes], object], max_events: int, max_bytes: int, on_full: Callable[[], object]
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
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._waiting: list[Event] = []
        self.closed = False

    def write(self, event: Event) -> None:
        """Append an event."""
        with self.lock:
            self._catch_up()
            if self.begun:
                self._tell_begun()
            self._append(event)

    def _catch_up(self) -> None:
        """Tell what happened before and waits to be told: a fault was handled, nodes died."""
        if self._waiting:
            self.settle(caught=True)
        if self.gone:
            self._tell_gone()

    def write_all(self, events: Iterable[Event]) -> None:
        """Append events with none of another thread between them."""
        with self.lock:
            for event in events:
                self.write(event)

    def ran(self, event: Event) -> None:
        """Append the run of the node that began last: its beginning needs no event of its own."""
        with self.lock:
            self._catch_up()
            self._append(event)

    def trailing(self, event: Event) -> None:
        """Append an event that unwinding writes: behind a fault that waits, not after its settling."""
        with self.lock:
            if self._waiting:
                self._waiting.append(event)
            else:
                self.write(event)

    def fault(self, event: Fault) -> None:
        """Append a fault, which waits until `settle`."""
        with self.lock:
            self._catch_up()
            if self.begun:
                self._tell_begun()
            self._waiting.append(event)

    def settle(self, *, caught: bool) -> None:
        """The fault that waits was handled by the program, or was not."""
        with self.lock:
            waiting, self._waiting = self._waiting, []
            for event in waiting:
                if isinstance(event, Fault) and caught:
                    event = _as_caught(event)
                self._append(event)
            if waiting and not self.closed:
                self._writer.flush()

    @property
    def waits(self) -> bool:
        """A fault is waiting to be settled."""
        return bool(self._waiting)

    def flush(self) -> None:
        """Hand over what is pending."""
        with self.lock:
            if not self.closed:
                self._writer.flush()

    def close(self) -> None:
        """Hand over what is pending and take nothing more."""
        with self.lock:
            if not self.closed:
                try:
                    self._writer.flush()
                finally:
                    self.closed = True

    @property
    def pending(self) -> int:
        """Events that no frame holds yet."""
        return self._writer.pending

    def _append(self, event: Event) -> None:
        if self.closed:
            return
        if (self.full or self.failed) and not (type(event) in _ENDS or (isinstance(event, Scope) and not event.enter)):
            return
        self.events += 1
        self._writer.write(event)
        if self.events >= self._max_events or (self._writer.bytes_written >= self._max_bytes and not self.full):
            self.full = True
            self._on_full()

    def _tell_gone(self) -> None:
        count = len(self.gone)
        gone = sorted(self.gone[:count])
        del self.gone[:count]  # a finaliser may have added more meanwhile: those stay for the next event
        for start in range(0, len(gone), 10_000):
            self._append(Gone(tuple(gone[start : start + 10_000])))

    def _tell_begun(self) -> None:
        begun, self.begun[:] = list(self.begun), []
        for event in begun:
            self._append(event)


def _as_caught(event: Fault) -> Fault:
    return replace(event, caught=True)
