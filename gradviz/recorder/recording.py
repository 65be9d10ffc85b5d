"""`record`: the recorder inside the user's own process, as a context manager or a decorator."""

from __future__ import annotations

import functools
import linecache
import os
import sys
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, BinaryIO

from gradviz.recorder.ranks import ranked
from gradviz.recorder.recorder import MAX_BYTES, MAX_EVENTS, Recorder
from gradviz.recorder.source import is_own
from gradviz.trace import Decoder, Trace


def record(
    path: str | os.PathLike[str] | Callable[..., Any] | None = None,
    values: str = "auto",
    value_limit: int = 1024,
    *,
    max_events: int = MAX_EVENTS,
    max_bytes: int = MAX_BYTES,
) -> Any:
    """Records what runs inside.

        with record("run.gradviz") as recording:
            loss.backward()
        recording.trace

        @record
        def step(): ...
        step()
        step.recording.trace

    Args:
        path: also write the recording to this file, as it grows; or the function to be recorded.
        values: "auto" (bytes of small tensors, statistics of large ones), "all" or "none".
        value_limit: largest number of elements of which "auto" keeps the bytes.
        max_events, max_bytes: beyond these (bytes of the recording as written) nothing more is recorded; the last
            event says so and how many operations came after.

    With `GRADVIZ=off` in the environment nothing is recorded and the trace is empty. Errors of the program pass
    through unchanged.
    """
    options = {"values": values, "value_limit": value_limit, "max_events": max_events, "max_bytes": max_bytes}
    if callable(path):
        return _recorded(path, options, None)
    return Recording(path, options)


class Recording:
    """What `record` gives: a context manager, or a decorator; `trace` holds what was recorded."""

    def __init__(self, path: str | os.PathLike[str] | None, options: dict[str, Any]) -> None:
        self._path = path
        self._options = options
        self._recorder: Recorder | None = None
        self._frames: list[bytes] = []
        self._file: BinaryIO | None = None
        self._trace: Trace | None = None
        self._globals: dict[str, Any] = {}
        self.problems: list[str] = []
        """What went wrong inside the recorder itself, if anything."""

    @property
    def trace(self) -> Trace:
        """The recording so far, whole once the block is left."""
        if self._trace is None:
            if self._recorder is not None:
                self._recorder.core.journal.flush()
            trace = Trace(Decoder().feed(b"".join(self._frames)))
            if self._recorder is not None:
                return trace
            self._trace = trace
        return self._trace

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return _recorded(function, self._options, self._path)

    def __enter__(self) -> Recording:
        if os.environ.get("GRADVIZ", "").lower() == "off":
            return self
        if self._path is not None:
            self._file = ranked(self._path).open("wb")
        self._frames, self._trace = [], None
        recorder = self._recorder = Recorder(self._sink, **self._options)
        recorder.header()
        frame = _caller()
        name = frame.f_code.co_filename
        self._globals = frame.f_globals
        file = recorder.core.sources.register(name, name, "".join(linecache.getlines(name)))
        recorder.begin(0, file)
        recorder.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        recorder = self._recorder
        if recorder is None:
            return
        recorder.stop()
        if isinstance(error, Exception):
            recorder.core.faults.top(error)
        recorder.bind(self._globals, unseen=False)
        self._globals = {}
        recorder.end(0, "ok" if error is None else "error" if isinstance(error, Exception) else "exit", final=True)
        recorder.close()
        self.problems = recorder.core.problems
        self._recorder = None
        if self._file is not None:
            self._file.close()
            self._file = None

    def _sink(self, frame: bytes) -> None:
        self._frames.append(frame)
        if self._file is not None:
            self._file.write(frame)
            self._file.flush()


def _recorded(function: Callable[..., Any], options: dict[str, Any], path: Any) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        recording = Recording(path, options)
        wrapper.recording = recording  # type: ignore[attr-defined]
        with recording:
            return function(*args, **kwargs)

    wrapper.recording = None  # type: ignore[attr-defined]
    return wrapper


def _caller() -> FrameType:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    assert frame is not None
    return frame
