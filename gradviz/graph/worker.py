"""The layout process: `python -m gradviz.graph.worker`. Frames come on its stdin and go to its stdout (`messages`).

It holds the recording itself, so that a request is small. A newer request ends the work on an older one. It ends when
its stdin does, whatever it is doing.
"""

from __future__ import annotations

import gc
import os
import queue
import sys
import threading
import time
from typing import Any

import msgspec

from gradviz.graph import messages
from gradviz.graph.build import build
from gradviz.graph.layout import lay_out
from gradviz.graph.model import Graph, Layout
from gradviz.trace import Decoder, Trace, TraceError

TELL_SECONDS = 0.1


class Superseded(Exception):
    """Nobody waits for this answer any more."""


class Worker:
    """Answers requests in order, the newest one only."""

    def __init__(self, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        self._waiting: queue.SimpleQueue[tuple[bytes, bytes]] = queue.SimpleQueue()
        self._newest = -1
        self._trace, self._decoder = Trace(), Decoder()
        self._before: tuple[Graph, Layout] | None = None
        self._assembly = messages.Assembly()
        self._told = 0.0

    def run(self) -> None:
        """Work until stdin ends; never returns."""
        threading.Thread(target=self._listen, daemon=True).start()
        while True:
            letter, content = self._waiting.get()
            if letter == messages.RECORDING:
                self._read(content)
            elif letter == messages.REQUEST:
                self._answer(msgspec.msgpack.decode(content, type=messages.Request))
            elif letter == messages.BEFORE:
                placed, self._assembly = self._assembly.placed(), messages.Assembly()
                self._before = placed.graph, placed.layout
            else:
                self._assembly.take(letter, content)

    def _listen(self) -> None:
        """Hear frames while the other thread works; end the process when nobody is there any more."""
        pending = bytearray()
        while chunk := os.read(self._source, 1 << 20):
            pending += chunk
            while len(pending) >= messages.HEAD:
                end = messages.HEAD + int.from_bytes(pending[:4], "big")
                if len(pending) < end:
                    break
                letter, content = bytes(pending[4:5]), bytes(pending[messages.HEAD : end])
                del pending[:end]
                if letter == messages.REQUEST:
                    self._newest = msgspec.msgpack.decode(content, type=messages.Request).number
                elif letter == messages.CANCEL:
                    self._newest = -1
                    continue
                self._waiting.put((letter, content))
        os._exit(0)

    def _read(self, content: bytes) -> None:
        """More of the recording. What cannot be read ends it here as it does in the window."""
        try:
            self._trace.extend(self._decoder.feed(content))
        except TraceError:
            return

    def _answer(self, request: messages.Request) -> None:
        if request.number != self._newest:
            return

        def heard(share: float) -> None:
            if request.number != self._newest:
                raise Superseded
            if time.monotonic() - self._told > TELL_SECONDS:
                self._told = time.monotonic()
                self._send(messages.frame(messages.PROGRESS, messages.encode((request.number, share))))

        try:
            graph = build(self._trace, request.mode, frozenset(request.folded), frozenset(request.unfolded))
            heard(0.1)
            layout = lay_out(
                graph,
                self._before if request.keep else None,
                budget_seconds=request.budget,
                progress=lambda share: heard(0.1 + 0.8 * share),
            )
            heard(0.9)
        except Superseded:
            return
        self._before = graph, layout
        for part in messages.parts(graph, layout):
            self._send(part)
        self._send(messages.frame(messages.ANSWER, messages.encode(request.number)))

    def _send(self, content: bytes) -> None:
        view = memoryview(content)
        try:
            while view:
                view = view[os.write(self._sink, view) :]
        except OSError:
            os._exit(0)


def main() -> Any:
    """Run as a process. What a library prints by mistake goes to stderr, not between the frames."""
    gc.disable()  # nothing here goes round in circles, and looking for such takes as long as the work
    sink = os.dup(1)
    os.dup2(2, 1)
    sys.setswitchinterval(0.05)
    Worker(os.dup(0), sink).run()


if __name__ == "__main__":
    main()
