"""What the timeline shows of a recording, as arrays over steps. Grows with the recording; knows nothing of Qt."""

from __future__ import annotations

import time
from dataclasses import dataclass

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
        self.changes: list[int] = []
        """Steps that change a `.grad` outside a pass."""
        self.brackets: list[Bracket] = []
        self._kinds: list[int] = [START]
        self._weights: list[float] = [np.nan]
        self._read = 0
        self._open: list[tuple[int, int, str]] = []
        self._passes: dict[int, int] = {}
        self._stairs: dict[int, tuple[list[int], list[float]]] = {}
        self._total: tuple[list[int], list[float]] = ([], [])
        self._squares: dict[int, float] = {}
        self._sum = 0.0
        self._columns: tuple[npt.NDArray[np.uint8], Floats] = np.zeros(0, np.uint8), np.zeros(0)

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
        self.changes.append(step)
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
            self.brackets.append(Bracket(first, step, str(event.id + 1), 0, True))
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
                    self.brackets.append(Bracket(first, step, label, len(self._open), False))
                return

    def _grad(self, event: Grad, step: int) -> None:
        after = event.after
        norm = np.nan if after is None else after.norm if after.norm is not None else np.nan
        steps, norms = self._stairs.setdefault(event.tensor, ([], []))
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

    def _arrays(self) -> tuple[npt.NDArray[np.uint8], Floats]:
        kinds, weights = self._columns
        if len(kinds) != len(self._kinds):
            more = self._kinds[len(kinds) :], self._weights[len(kinds) :]
            kinds = np.concatenate([kinds, np.asarray(more[0], np.uint8)])
            weights = np.concatenate([weights, np.asarray(more[1])])
            self._columns = kinds, weights
        return self._columns

    @property
    def kinds(self) -> npt.NDArray[np.uint8]:
        """Code of each step."""
        return self._arrays()[0]

    @property
    def weights(self) -> Floats:
        """Elements of the result for an operation, norm of what came in for a node, NaN for others or unknown."""
        return self._arrays()[1]

    def stairs(self) -> dict[int, tuple[Ints, Floats]]:
        """Leaf -> steps at which its `.grad` changed and the norm from then on, NaN where it is None. Key -1 alone:
        the norm of all leaves together, where there are more than `MOST_LEAVES`."""
        chosen = {-1: self._total} if len(self._stairs) > MOST_LEAVES else self._stairs
        return {k: (np.asarray(s, np.int64), np.asarray(n, np.float64)) for k, (s, n) in chosen.items()}

    def brackets_in(self, first: float, last: float, pixels: float) -> list[Bracket]:
        """Brackets to draw between two steps at that many pixels a step: the passes, and the module calls of the
        deepest level that is still readable."""
        seen = [b for b in self.brackets if b.last >= first and b.first <= last]
        passes = [b for b in seen if b.is_pass]
        calls = [b for b in seen if not b.is_pass]
        best: list[Bracket] = []
        for depth in range(6):
            level = [b for b in calls if b.depth == depth]
            if not level or len(level) > 24 or sum(b.last - b.first + 1 for b in level) * pixels / len(level) < 34:
                break
            best = level
        return passes + best


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
