"""Going by lines: which steps belong to one line of the program, or to one backward call."""

from __future__ import annotations

import numpy as np

from gradviz.trace import Trace
from gradviz.trace.events import NodeRan

Line = tuple[int, int, int]
"""Cell position, file, line; -1 where it is not known."""


def line_of(trace: Trace, step: int) -> Line:
    """The line that a step belongs to: for a node's run, the one with the backward call."""
    cell = int(np.searchsorted(trace.cell_step.view, step, "right"))
    span = trace.span(step)
    return (cell, span[0], span[1]) if span else (cell, -1, -1)


def first_of_line(trace: Trace, step: int) -> int:
    """The first of the steps in a row that belong to the same line as `step`."""
    line = line_of(trace, step)
    while step > 1:
        start = _pass_start(trace, step)
        if start is not None and start < step and line_of(trace, start) == line:
            step = start
        elif line_of(trace, step - 1) == line:
            step -= 1
        else:
            break
    return step


def last_of_line(trace: Trace, step: int) -> int:
    """The last of the steps in a row that belong to the same line as `step`."""
    line = line_of(trace, step)
    while step < trace.steps:
        end = _pass_end(trace, step)
        if end is not None and step < end <= trace.steps and line_of(trace, end) == line:
            step = end
        elif line_of(trace, step + 1) == line:
            step += 1
        else:
            break
    return step


def next_line(trace: Trace, step: int) -> int:
    """Where the next line, or the rest of this one, is done."""
    return last_of_line(trace, step + 1) if step < trace.steps else step


def previous_line(trace: Trace, step: int) -> int:
    """Where the line before this one was done."""
    return first_of_line(trace, step) - 1 if step > 0 else 0


def _pass_of(trace: Trace, step: int) -> int | None:
    event = trace.event_at(step)
    if not isinstance(event, NodeRan) or event.within >= len(trace.passes):
        return None
    outer = event.within
    while (parent := trace.passes[outer].parent) is not None and parent < outer:
        outer = parent
    return outer


def _pass_start(trace: Trace, step: int) -> int | None:
    ident = _pass_of(trace, step)
    return None if ident is None else int(trace.pass_step.view[ident])


def _pass_end(trace: Trace, step: int) -> int | None:
    ident = _pass_of(trace, step)
    return None if ident is None else trace.pass_end.get(ident)
