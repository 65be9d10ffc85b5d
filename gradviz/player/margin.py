"""What stands beside the lines of a program at a step: tensors that its names hold, what its grad_fn nodes do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from gradviz.trace import Frame, Trace
from gradviz.trace.events import Named
from gradviz.trace.frame import DONE, FREED, NOT_BORN, PENDING, RUNNING

Sign = Literal["waiting", "running", "partly", "done", "freed"]
MOST_NAMES = 3000


@dataclass(frozen=True, slots=True)
class Flow:
    """The grad_fn nodes that the operations of one line left behind, at a step."""

    sign: Sign
    nodes: int
    """Those that exist."""
    ran: int
    freed: int
    """Those of them that have let go what they saved."""


class Margin:
    """Grows with a recording; every question is about a step."""

    def __init__(self) -> None:
        self._trace: Trace | None = None
        self._lines: list[int] = []
        self._array: npt.NDArray[np.int64] = np.empty(0, np.int64)

    def _line_of_node(self, trace: Trace) -> npt.NDArray[np.int64]:
        """The line of the program that each node came from; 0 where it came from elsewhere."""
        if trace is not self._trace:
            self._trace, self._lines = trace, []
        if len(self._lines) < len(trace.nodes):
            for node in trace.nodes[len(self._lines) :]:
                span = trace.ops[node.op].span if node.op is not None and node.op < len(trace.ops) else None
                self._lines.append(span[1] if span is not None and trace.cell_of(span[0]) == 0 else 0)
            self._array = np.asarray(self._lines, np.int64)
        elif len(self._array) != len(self._lines):
            self._array = np.asarray(self._lines, np.int64)
        return self._array

    def flows(self, frame: Frame) -> dict[int, Flow]:
        """By line, what its nodes do at the frame's step."""
        lines = self._line_of_node(frame.trace)
        if not len(lines):
            return {}
        status = frame.statuses
        ran = (frame.last_run >= 0) & (status != NOT_BORN)
        size = int(lines.max()) + 1
        counts = {
            name: np.bincount(lines[chosen], minlength=size)
            for name, chosen in (
                ("nodes", (status == PENDING) | (status == RUNNING) | (status == DONE) | (status == FREED)),
                ("ran", ran & ((status == DONE) | (status == FREED) | (status == RUNNING))),
                ("freed", status == FREED),
                ("running", status == RUNNING),
            )
        }
        found = {}
        for line in np.flatnonzero(counts["nodes"]).tolist():
            if line:
                nodes, done, freed = (int(counts[name][line]) for name in ("nodes", "ran", "freed"))
                found[line] = Flow(_sign(nodes, done, freed, int(counts["running"][line])), nodes, done, freed)
        return found

    def names(self, trace: Trace, step: int) -> dict[int, list[tuple[str, int]]]:
        """By line, the names that were last given a tensor there by a step, with the tensors."""
        found: dict[int, list[tuple[str, int]]] = {}
        for k, name in enumerate(trace.names):
            if k >= MOST_NAMES:
                break
            index = trace.names[name].at(step)
            event = trace.events[index] if index is not None else None
            if isinstance(event, Named) and event.span is not None and trace.cell_of(event.span[0]) == 0:
                found.setdefault(event.span[3] if event.span[3] > 0 else event.span[1], []).append((name, event.tensor))
        return found


def _sign(nodes: int, ran: int, freed: int, running: int) -> Sign:
    if running:
        return "running"
    if not ran:
        return "waiting"
    if ran < nodes:
        return "partly"
    return "freed" if freed else "done"
