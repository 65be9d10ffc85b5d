"""What the timeline shows of a recording, as arrays over steps. Grows with the recording; knows nothing of Qt."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gradviz.trace import Trace
from gradviz.trace.events import Backward, BackwardEnded, Fault, Grad, NodeRan, Op, Scope, Tensor

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
START, OP, SEED, NODE, LEAF, GRAD, FAULT, FAULT_BACK = range(8)
"""Codes of steps. LEAF is the run of an AccumulateGrad; FAULT_BACK an error inside a pass."""
FORWARD_ROW, BACKWARD_ROW = 0, 1
ROW_OF = np.asarray([-1, FORWARD_ROW, BACKWARD_ROW, BACKWARD_ROW, BACKWARD_ROW, -1, FORWARD_ROW, BACKWARD_ROW])
CHECK_EVERY = 512
MOST_LEAVES = 8
MOST_CALLS, CALL_FROM = 24, 34.0
"""Module calls of one level that are shown at most, and how many pixels they must have on average."""


class Grown:
    """Numbers that are added one by one and read as an array; what was read before is not gone through again."""

    __slots__ = ("_array", "_length", "_new")

    def __init__(self, dtype: npt.DTypeLike, *values: float) -> None:
        self._array = np.empty(64, dtype)
        self._length = 0
        self._new: list[float] = list(values)

    def append(self, value: float) -> None:
        """Add a number."""
        self._new.append(value)

    def __len__(self) -> int:
        return self._length + len(self._new)

    @property
    def view(self) -> npt.NDArray[Any]:
        """All numbers, without a copy."""
        length = len(self)
        if self._new:
            if length > len(self._array):
                larger = np.empty(max(length, 2 * len(self._array)), self._array.dtype)
                larger[: self._length] = self._array[: self._length]
                self._array = larger
            self._array[self._length : length] = self._new
            self._length, self._new = length, []
        return self._array[:length]


@dataclass(frozen=True, slots=True)
class Bracket:
    """A stretch of steps with a name: a backward pass, or a module's call at some `depth`."""

    first: int
    last: int
    label: str
    depth: int
    is_pass: bool


class Tracks:
    """Columns by step, filled from the events of `trace` in slices."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.faults: list[int] = []
        self.brackets: list[Bracket] = []
        self._spans = Grown(np.int64), Grown(np.int64), Grown(np.int64)
        """Of each bracket: its first step, its last, and its depth, -1 for a pass."""
        self._changes = Grown(np.int64)
        self._kinds = Grown(np.uint8, START)
        self._weights = Grown(np.float64, np.nan)
        self._read = 0
        self._open: list[tuple[int, int, str]] = []
        self._passes: dict[int, int] = {}
        self._stairs: dict[int, tuple[Grown, Grown]] = {}
        self._total = Grown(np.int64), Grown(np.float64)
        self._squares: dict[int, float] = {}
        self._sum = 0.0

    def grow(self, seconds: float = 0.03) -> bool:
        """Read what the recording has gained, for about that long. True when nothing is left to read."""
        events, end = self.trace.events, time.perf_counter() + seconds
        while self._read < len(events):
            event = events[self._read]
            step = self.trace.step_of_event(self._read)
            if step >= len(self._kinds) and not isinstance(event, Scope):
                self._add_steps(step)
            self._take(event, step)
            self._read += 1
            if self._read % CHECK_EVERY == 0 and time.perf_counter() > end:
                return self._read == len(events)
        return True

    def _add_steps(self, step: int) -> None:
        for number in range(len(self._kinds), min(step, self.trace.steps) + 1):
            code, weight = self._describe(self.trace.event_at(number), number)
            self._kinds.append(code)
            self._weights.append(weight)

    def _describe(self, event: object, step: int) -> tuple[int, float]:
        if isinstance(event, Op):
            made = event.outputs or event.writes
            return OP, self._size(made[0]) if made else np.nan
        if isinstance(event, NodeRan):
            leaf = self.trace.nodes[event.node].leaf is not None
            norms = [d.norm for d in event.gin if d is not None and d.norm is not None]
            return LEAF if leaf else NODE, float(np.hypot.reduce(norms)) if norms else np.nan
        if isinstance(event, Backward):
            return SEED, np.nan
        if isinstance(event, Fault):
            self.faults.append(step)
            return (FAULT if event.within is None else FAULT_BACK), np.nan
        self._changes.append(step)
        return GRAD, np.nan

    def _size(self, tensor: int) -> float:
        history = self.trace.tensors.get(tensor)
        event = self.trace.events[history.indexes[0]] if history and history.indexes else None
        return float(np.prod(event.shape, dtype=np.float64)) if isinstance(event, Tensor) else np.nan

    def _take(self, event: object, step: int) -> None:
        if isinstance(event, Scope):
            self._scope(event, step)
        elif isinstance(event, Backward):
            self._passes[event.id] = step
        elif isinstance(event, BackwardEnded):
            first = self._passes.pop(event.id, step)
            self._bracket(Bracket(first, step, str(event.id + 1), 0, True))
        elif isinstance(event, Grad):
            self._grad(event, step)

    def _scope(self, event: Scope, step: int) -> None:
        if event.enter:
            self._open.append((event.id, step, event.path or event.cls))
            return
        while self._open:
            ident, first, label = self._open.pop()
            if ident == event.id:
                if step >= first:
                    self._bracket(Bracket(first, step, label, len(self._open), False))
                return

    def _bracket(self, bracket: Bracket) -> None:
        self.brackets.append(bracket)
        values = bracket.first, bracket.last, -1 if bracket.is_pass else bracket.depth
        for column, value in zip(self._spans, values, strict=True):
            column.append(value)

    def _grad(self, event: Grad, step: int) -> None:
        after = event.after
        norm = np.nan if after is None else after.norm if after.norm is not None else np.nan
        steps, norms = self._stairs.setdefault(event.tensor, (Grown(np.int64), Grown(np.float64)))
        steps.append(step)
        norms.append(float(norm))
        square = float(norm) ** 2 if norm == norm else 0.0
        self._sum += square - self._squares.get(event.tensor, 0.0)
        self._squares[event.tensor] = square
        self._total[0].append(step)
        self._total[1].append(max(self._sum, 0.0) ** 0.5)

    # ---- asking

    @property
    def steps(self) -> int:
        """Steps read so far."""
        return len(self._kinds) - 1

    @property
    def events(self) -> int:
        """Events read so far."""
        return self._read

    @property
    def kinds(self) -> npt.NDArray[np.uint8]:
        """Code of each step."""
        return self._kinds.view

    @property
    def weights(self) -> Floats:
        """Elements of the result for an operation, norm of what came in for a node, NaN for others or unknown."""
        return self._weights.view

    @property
    def changes(self) -> Ints:
        """Steps that change a `.grad` outside a pass."""
        return self._changes.view

    def stairs(self) -> dict[int, tuple[Ints, Floats]]:
        """Leaf -> steps at which its `.grad` changed and the norm from then on, NaN where it is None. Key -1 alone:
        the norm of all leaves together, where there are more than `MOST_LEAVES`."""
        chosen = {-1: self._total} if len(self._stairs) > MOST_LEAVES else self._stairs
        return {k: (steps.view, norms.view) for k, (steps, norms) in chosen.items()}

    def brackets_in(self, first: float, last: float, pixels: float, narrowest: float = 0.0) -> list[Bracket]:
        """Brackets to draw between two steps at that many pixels a step: the passes, and the module calls of the
        deepest level that is still readable, in the order of their steps; none that spans less than `narrowest`."""
        firsts, lasts, depths = (column.view for column in self._spans)
        seen = np.flatnonzero((lasts >= first) & (firsts <= last))
        depth, span = depths[seen], (lasts - firsts)[seen]
        shown = depth == -1
        for level in range(6):
            mine = depth == level
            count = int(mine.sum())
            if not 0 < count <= MOST_CALLS or (span[mine].mean() + 1) * pixels < CALL_FROM:
                break
            shown = (depth == -1) | mine
        chosen = seen[shown & (span >= narrowest)]
        return [self.brackets[i] for i in chosen[np.argsort(firsts[chosen], kind="stable")].tolist()]


def bars(kinds: npt.NDArray[np.uint8], weights: Floats, row: int, first: int, width: int) -> tuple[Ints, Floats, Ints]:
    """Steps from `first` on, `width` of them to a bar: bar number, height 0.3 to 1 (logarithm of the largest weight in
    it) and most important code, for the bars of a row that have any step."""
    empty = np.zeros(0, np.int64)
    steps = np.flatnonzero(ROW_OF[kinds] == row)
    if not steps.size:
        return empty, np.zeros(0), empty
    group = (steps - first) // width
    starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(weights[steps])
    logs[~np.isfinite(logs)] = -np.inf
    low, high = _range(logs)
    tallest = np.maximum.reduceat(logs, starts)
    share = np.clip((tallest - low) / (high - low), 0, 1) if high > low else np.ones(len(starts))
    share = np.where(np.isfinite(tallest), share, 0.0)
    codes = np.maximum.reduceat(kinds[steps].astype(np.int64), starts)
    return group[starts], 0.3 + 0.7 * share, codes


def _range(logs: Floats) -> tuple[float, float]:
    finite = logs[np.isfinite(logs)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
