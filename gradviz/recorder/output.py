"""What the program prints, as events: Python's streams directly, everything else (C code, children) through a pipe."""

from __future__ import annotations

import codecs
import io
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

_Tell = Callable[[str, str], None]


class _Stream(io.RawIOBase):
    """A raw stream for `sys.stdout` or `sys.stderr` that tells each write at once and, where asked, passes it on."""

    def __init__(self, name: str, number: int, tell: _Tell, through: int | None) -> None:
        self.gradviz_name = name
        self._number = number
        self._tell = tell
        self._through = through
        self._pid = os.getpid()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, data: Any) -> int:
        content = bytes(data)
        if os.getpid() != self._pid:
            _write_all(self._number, content)  # a forked child: through the pipe, so that the parent tells it
            return len(content)
        self._tell(self._decoder.decode(content), self.gradviz_name)
        if self._through is not None:
            _write_all(self._through, content)
        return len(content)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._number


class Capture:
    """Catches file descriptors 1 and 2 between `start` and `stop`.

    Args:
        tell: receives (text, "stdout" or "stderr").
        through: also pass everything on to where it went before.
    """

    def __init__(self, tell: _Tell, *, through: bool) -> None:
        self._tell = tell
        self._through = through
        self._saved: list[tuple[int, int]] = []
        self._threads: list[threading.Thread] = []
        self._streams = sys.stdout, sys.stderr

    def start(self) -> None:
        """Put pipes in the place of both descriptors and new streams in that of `sys.stdout` and `sys.stderr`."""
        for number, name in ((1, "stdout"), (2, "stderr")):
            old = os.dup(number)
            reading, writing = os.pipe()
            os.dup2(writing, number)
            os.close(writing)
            self._saved.append((number, old))
            through = old if self._through else None
            raw = _Stream(name, number, self._tell, through)
            buffer = io.BufferedWriter(raw)
            text = io.TextIOWrapper(
                buffer,
                "utf-8",
                errors="backslashreplace" if number == 2 else "strict",
                line_buffering=True,
                write_through=number == 2,
            )
            setattr(sys, name, text)
            thread = threading.Thread(target=self._pump, args=(reading, name, through), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Put everything back, and wait for what is still in the pipes."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                continue
        sys.stdout, sys.stderr = self._streams
        for number, old in self._saved:
            os.dup2(old, number)
        for thread in self._threads:
            thread.join(timeout=1.0)  # a child that outlives the program may hold the pipe open
        for _, old in self._saved:
            os.close(old)
        self._saved, self._threads = [], []

    def _pump(self, reading: int, name: str, through: int | None) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while chunk := os.read(reading, 1 << 16):
            self._tell(decoder.decode(chunk), name)
            if through is not None:
                _write_all(through, chunk)
        os.close(reading)


def _write_all(number: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]
