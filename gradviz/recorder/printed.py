"""What the program prints, on its way to events: joined, and a flood thinned, so that ten million lines become few."""

from __future__ import annotations

from typing import Literal

from gradviz.trace.events import Output

Stream = Literal["stdout", "stderr"]
PIECE = 4096
"""Characters that are joined into one event at most."""
WHOLE = 1 << 20
"""So many characters of each stream are told in full..."""
BLOCK = 1 << 20
"""...then of each so many..."""
TAIL = 4096
"""...only the last ones. Counted in characters and never in time, so that two runs leave out the same."""


class Printed:
    """Collects texts until they are taken. `due`: some wait, in their place among what else happens."""

    def __init__(self) -> None:
        self.due: list[str] = []
        self.left_out = 0
        """Characters that were not told."""
        self._stream: Stream = "stdout"
        self._size = 0
        self._room: dict[Stream, int] = {}
        self._floods: dict[Stream, _Flood] = {}

    def add(self, text: str, stream: Stream) -> list[Output]:
        """Take a text; gives what has to be told at once."""
        flood = self._floods.get(stream)
        if flood is not None:
            return self._thinned(flood.add(text))
        told = self.take() if stream != self._stream else []
        self._stream = stream
        room = self._room.get(stream, WHOLE) - len(text)
        if room < 0:
            flood = self._floods[stream] = _Flood(stream)
            self.due.append(text[:room])
            return told + self.take() + self._thinned(flood.add(text[room:]))
        self._room[stream] = room
        self.due.append(text)
        self._size += len(text)
        return told + self.take() if self._size >= PIECE else told

    def take(self) -> list[Output]:
        """What waits, as events; nothing waits afterwards."""
        text, self._size = "".join(self.due), 0
        self.due.clear()
        return [Output(text, self._stream)] if text else []

    def finish(self) -> list[Output]:
        """All that waits, with the ends of floods."""
        return self.take() + self._thinned([end for flood in self._floods.values() for end in flood.told()])

    def _thinned(self, told: list[Output]) -> list[Output]:
        self.left_out += sum(one.skipped for one in told)
        return told


class _Flood:
    def __init__(self, stream: Stream) -> None:
        self._stream: Stream = stream
        self._tail, self._run = "", 0

    def add(self, text: str) -> list[Output]:
        told: list[Output] = []
        while text:
            part, text = text[: BLOCK - self._run], text[BLOCK - self._run :]
            self._run += len(part)
            self._tail = (self._tail + part[-TAIL:])[-TAIL:]
            if self._run == BLOCK:
                told += self.told()
        return told

    def told(self) -> list[Output]:
        """The end of what came since the last time."""
        if not self._run:
            return []
        told = [Output(self._tail, self._stream, self._run - len(self._tail))]
        self._tail, self._run = "", 0
        return told
