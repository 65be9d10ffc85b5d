"""Breakpoints: lines, nodes and operations at which the playhead stops. Keys: "line:7", "node:5", "op:3"."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from gradviz.player.navigate import line_of
from gradviz.trace import Trace
from gradviz.trace.events import Fault, NodeRan, Op

Breaks = frozenset[str]


def toggled(breaks: Breaks, key: str) -> Breaks:
    """With this one, or without it where it was there."""
    return breaks ^ {key}


def lines(breaks: Breaks) -> set[int]:
    """The lines among them."""
    return {int(key[5:]) for key in breaks if key.startswith("line:")}


def is_hit(trace: Trace, step: int, breaks: Breaks) -> bool:
    """The playhead stops at this step: its operation or node is marked, or it is where the program comes to a marked
    line."""
    if not breaks or not 0 < step <= trace.steps:
        return False
    event = trace.event_at(step)
    keys = {f"node:{event.node}"} if isinstance(event, NodeRan | Fault) else set()
    if isinstance(event, Op):
        keys = {f"op:{event.id}", *(f"node:{node}" for node in event.nodes)}
    if keys & breaks:
        return True
    span = trace.span(step)
    if span is None or f"line:{span[1]}" not in breaks or trace.cell_of(span[0]) != 0:
        return False
    return step == 1 or line_of(trace, step) != line_of(trace, step - 1)


class Stops:
    """The steps of one recording at which the playhead stops, found as it grows."""

    def __init__(self, trace: Trace, breaks: Breaks) -> None:
        self.trace, self.breaks = trace, breaks
        self._found: list[int] = []
        self._seen = 0

    def _steps(self) -> list[int]:
        if self.breaks and self._seen < self.trace.steps:
            fresh = range(self._seen + 1, self.trace.steps + 1)
            self._found += [step for step in fresh if is_hit(self.trace, step, self.breaks)]
            self._seen = self.trace.steps
        return self._found

    def next(self, step: int) -> int | None:
        """The next one; None where there is none."""
        found = self._steps()
        place = bisect_right(found, step)
        return found[place] if place < len(found) else None

    def previous(self, step: int) -> int | None:
        """The one before; None where there is none."""
        found = self._steps()
        place = bisect_left(found, step)
        return found[place - 1] if place else None


def moved(breaks: Breaks, before: str, after: str) -> Breaks:
    """Breakpoints of lines go with their lines when somebody edits; those of lines that were deleted go."""
    marked = lines(breaks)
    if not marked or before == after:
        return breaks
    old, new = before.split("\n"), after.split("\n")
    shared = min(len(old), len(new))
    head = next((k for k in range(shared) if old[k] != new[k]), shared)
    tail = next((k for k in range(shared - head) if old[-1 - k] != new[-1 - k]), shared - head)
    kept = {key for key in breaks if not key.startswith("line:")}
    for line in marked:
        if line <= head:
            kept.add(f"line:{line}")
        elif line > len(old) - tail:
            kept.add(f"line:{line + len(new) - len(old)}")
        elif line <= len(new) - tail:
            kept.add(f"line:{line}")  # a line that was changed
    return frozenset(kept)
