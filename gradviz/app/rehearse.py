"""A program and the lines sent after it, recorded without a window: by the same process that the window starts."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence

from gradviz.app.launch import launch
from gradviz.player.program import Program
from gradviz.trace import Decoder, Trace
from gradviz.trace.events import Ended

LONGEST = 300.0
"""Seconds that a program and its lines may take."""


class RehearsalError(Exception):
    """The program could not be recorded; the text says why in one sentence."""


def rehearse(program: Program, lines: Sequence[str] = (), *, seconds: float = LONGEST) -> Trace:
    """Record a program, then each line in its namespace, as the window does.

    Raises:
        RehearsalError: the recorder did not start, or ended before the last line was run, or took too long.
    """
    try:
        launched = launch(program)
    except (OSError, ValueError) as error:
        raise RehearsalError(f"The recorder cannot be started: {error}.") from error
    assert launched.process.stdout is not None and launched.process.stdin is not None
    late = threading.Timer(seconds, launched.end)
    late.start()
    trace, decoder, waiting = Trace(), Decoder(), list(lines)
    try:
        while chunk := launched.process.stdout.read(65536):
            events = decoder.feed(chunk)
            trace.extend(events)
            for _ in (event for event in events if isinstance(event, Ended) and not event.final):
                if not waiting:
                    launched.process.stdin.close()
                    continue
                request = {"cell": len(trace.cells), "source": waiting.pop(0), "origin": "action"}
                launched.process.stdin.write((json.dumps(request) + "\n").encode())
        if not trace.events:
            raise RehearsalError(launched.complaint() or "The recorder ended before it had recorded anything.")
        if waiting:
            raise RehearsalError(f"The program's process ended before this line was run: {waiting[0]}")
    finally:
        late.cancel()
        launched.end()
        launched.tidy()
    return trace
