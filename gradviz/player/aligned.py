"""Two recordings on one clock: which steps belong together, and what differs where they do."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from gradviz.player.subject import key_of_step
from gradviz.trace import Trace
from gradviz.trace.codec import AnyItem
from gradviz.trace.events import Backward, Data, Fault, Grad, NodeRan, Op, Tensor, Value
from gradviz.trace.values import NotCaptured, to_numpy

Kind = Literal[
    "only_here", "only_there", "value", "grad", "requires_grad", "shape", "grad_fn", "gradient", "call", "fault"
]
Key = tuple[str, ...]
Ints = npt.NDArray[np.int64]
WINDOW = 400
"""Between equal beginnings and equal ends, so many steps of each recording are matched at once."""
MOST_NAMES = 400
"""So many names are compared at a moment."""
_CLOSE = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex128": (1e-7, 1e-7),
}
"""Relative and absolute difference that rounding may make: the defaults of `torch.testing.assert_close`."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same in two steps that belong together. `here` is the recording that is shown, `there`
    the one that it is compared with."""

    kind: Kind
    here: str | None = None
    """Key of what differs, as in selections."""
    there: str | None = None
    rounding: bool = False
    """It is no larger than what another order of additions makes."""


@dataclass(frozen=True, slots=True)
class Row:
    """One name whose state differs at a moment: what it holds in each recording."""

    name: str
    kind: Kind
    here: Data | str | None
    there: Data | str | None
    rounding: bool = False
    largest: float | None = None
    """The largest difference of two elements, where both are known and have one shape."""
    key: str | None = None
    """What to select in the recording that is shown."""


def step_key(trace: Trace, step: int) -> Key:
    """What a step is, whatever its numbers are: two steps with one key can belong together."""
    event = trace.event_at(step)
    if isinstance(event, Op):
        return "op", event.name
    if isinstance(event, NodeRan):
        node = trace.nodes[event.node]
        return ("leaf", trace.name(node.leaf) or "") if node.leaf is not None else ("node", node.name)
    if isinstance(event, Backward):
        return "seed", event.call
    if isinstance(event, Grad):
        return "grad", trace.name(event.tensor) or "", event.cause
    return ("fault", event.type) if isinstance(event, Fault) else ("",)


def agreed(here: Trace, there: Trace, limit: int) -> int:
    """The last step, `limit` at most, up to which both recordings have the same steps."""
    limit = min(limit, here.steps, there.steps)
    for step in range(1, limit + 1):
        if step_key(here, step) != step_key(there, step):
            return step - 1
    return limit


class Aligned:
    """Moments are the common clock: at each, one or both recordings make a step. Moment 0 is the beginning of both."""

    def __init__(self, here: Trace, there: Trace) -> None:
        self.here, self.there = here, there
        pairs = [(0, 0), *_paired(_keys(here), _keys(there))]
        self.pairs: list[tuple[int | None, int | None]] = list(pairs)
        """Step here and step there of each moment; None where that recording stands still."""
        self.scanned = 0
        """Up to this moment, differences were looked for."""
        self._known: dict[int, tuple[Difference, ...]] = {}
        self._differing: list[int] = []
        self._marked: list[tuple[int, str | None, str | None]] = []

    @property
    def last(self) -> int:
        """The last moment."""
        return len(self.pairs) - 1

    @cached_property
    def _clocks(self) -> tuple[Ints, Ints]:
        sides = []
        for side in (0, 1):
            steps = np.asarray([-1 if pair[side] is None else pair[side] for pair in self.pairs], np.int64)
            sides.append(np.maximum.accumulate(steps))
        return sides[0], sides[1]

    def steps(self, moment: int) -> tuple[int, int]:
        """Where both recordings stand at a moment."""
        here, there = self._clocks
        return int(here[moment]), int(there[moment])

    def moment(self, step: int) -> int:
        """The moment at which the recording that is shown makes a step."""
        return int(np.searchsorted(self._clocks[0], step, "left"))

    # ---- what differs

    def differences(self, moment: int) -> tuple[Difference, ...]:
        """What differs in the steps of a moment."""
        found = self._known.get(moment)
        if found is None:
            found = self._known[moment] = tuple(self._differences(moment))
        return found

    def _differences(self, moment: int) -> Iterator[Difference]:
        here, there = self.pairs[moment]
        if here is None or there is None:
            kind: Kind = "only_there" if here is None else "only_here"
            yield Difference(kind, _key(self.here, here), _key(self.there, there))
        else:
            yield from _of_steps(self.here, here, self.there, there)

    def differs(self, moment: int) -> bool:
        """Something differs there by more than rounding."""
        return any(not difference.rounding for difference in self.differences(moment))

    def scan(self, seconds: float) -> bool:
        """Look for differences for so long; True once all moments have been looked at."""
        until = time.perf_counter() + seconds
        while self.scanned < self.last:
            self.scanned += 1
            if self.differs(self.scanned):
                self._differing.append(self.scanned)
                for difference in self.differences(self.scanned):
                    if not difference.rounding:
                        self._marked.append((self.scanned, difference.here, difference.there))
            if not self.scanned % 16 and time.perf_counter() > until:
                return self.scanned == self.last
        return True

    def next(self, moment: int) -> int | None:
        """The next moment that differs; None where none does, as far as was scanned."""
        place = bisect_right(self._differing, moment)
        return self._differing[place] if place < len(self._differing) else None

    def previous(self, moment: int) -> int | None:
        """The moment before that differs; None where none does."""
        place = bisect_left(self._differing, moment)
        return self._differing[place - 1] if place else None

    def marks(self, moment: int) -> tuple[frozenset[str], frozenset[str]]:
        """Keys of all that differs up to a moment, here and there, as far as was scanned."""
        shown = self._marked[: bisect_right(self._marked, moment, key=lambda marked: marked[0])]
        return (
            frozenset(here for _, here, _ in shown if here is not None),
            frozenset(there for _, _, there in shown if there is not None),
        )

    @cached_property
    def _names(self) -> list[str]:
        return [*dict.fromkeys([*self.here.names, *self.there.names])]

    @property
    def names_left_out(self) -> int:
        """How many names no row tells of."""
        return max(0, len(self._names) - MOST_NAMES)

    def rows(self, moment: int, limit: int = 200) -> list[Row]:
        """Names whose value, `.grad` or requires_grad differs as things stand at a moment; the first `limit`."""
        here, there = self.steps(moment)
        rows: list[Row] = []
        for name in self._names[:MOST_NAMES]:
            rows += _of_name(self.here, here, self.there, there, name)
            if len(rows) >= limit:
                break
        return sorted(rows[:limit], key=lambda row: row.rounding)


# ---- which steps belong together


def _keys(trace: Trace) -> list[Key]:
    return [step_key(trace, step) for step in range(1, trace.steps + 1)]


def _paired(here: list[Key], there: list[Key]) -> Iterator[tuple[int | None, int | None]]:
    """Steps that belong together, in order. Equal beginnings are taken as they are, what follows is matched in windows,
    so that the time stays linear in the number of steps."""
    i = j = 0
    while i < len(here) and j < len(there):
        if here[i] == there[j]:
            i, j = i + 1, j + 1
            yield i, j
            continue
        left, right = here[i : i + WINDOW], there[j : j + WINDOW]
        whole = i + WINDOW >= len(here) and j + WINDOW >= len(there)
        blocks = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
        a = b = 0
        for block in blocks if whole else blocks[: max(1, len(blocks) - 1)]:
            yield from ((i + k + 1, None) for k in range(a, block.a))
            yield from ((None, j + k + 1) for k in range(b, block.b))
            yield from ((i + block.a + k + 1, j + block.b + k + 1) for k in range(block.size))
            a, b = block.a + block.size, block.b + block.size
        if (a, b) == (0, 0):  # nothing matches in the whole window
            yield from ((i + k + 1, None) for k in range(len(left)))
            yield from ((None, j + k + 1) for k in range(len(right)))
            a, b = len(left), len(right)
        i, j = i + a, j + b
    yield from ((k + 1, None) for k in range(i, len(here)))
    yield from ((None, k + 1) for k in range(j, len(there)))


# ---- what differs in two steps


def _key(trace: Trace, step: int | None) -> str | None:
    event = trace.event_at(step) if step is not None else None
    if isinstance(event, Backward):
        return f"tensor:{event.tensors[0]}" if event.tensors else None
    if isinstance(event, Fault):
        return f"node:{event.node}" if event.node is not None else None
    return None if step is None else key_of_step(trace, step)


def _of_steps(here: Trace, at: int, there: Trace, then: int) -> Iterator[Difference]:
    ours, theirs = here.events_of(at), there.events_of(then)
    if ours != theirs:
        yield from _of_events(here.event_at(at), there.event_at(then), _key(here, at), _key(there, then))
        tensors = zip(
            (e for e in ours if isinstance(e, Tensor)), (e for e in theirs if isinstance(e, Tensor)), strict=False
        )
        for mine, other in tensors:
            keys = f"tensor:{mine.id}", f"tensor:{other.id}"
            if mine.requires_grad != other.requires_grad:
                yield Difference("requires_grad", *keys)
            if (mine.shape, mine.dtype) != (other.shape, other.dtype):
                yield Difference("shape", *keys)
        yield from _of_contents(ours, theirs)


def _of_events(first: object, second: object, here: str | None, there: str | None) -> Iterator[Difference]:
    """What differs in the two events that make a step."""
    how: bool | None = None
    called = False
    if isinstance(first, Op) and isinstance(second, Op):
        called = first.arguments != second.arguments
        if bool(first.nodes) != bool(second.nodes):
            yield Difference("grad_fn", here, there)
    elif isinstance(first, NodeRan) and isinstance(second, NodeRan):
        how = _unlike((*first.gin, *first.gout), (*second.gin, *second.gout))
    elif isinstance(first, Backward) and isinstance(second, Backward):
        called = (first.retain_graph, first.create_graph) != (second.retain_graph, second.create_graph)
        how = _unlike(first.seeds, second.seeds)
    elif isinstance(first, Fault) and isinstance(second, Fault) and first.message != second.message:
        yield Difference("fault", here, there)
    if called:
        yield Difference("call", here, there)
    if how is not None:
        yield Difference("gradient", here, there, how)


def _of_contents(ours: list[AnyItem], theirs: list[AnyItem]) -> Iterator[Difference]:
    """Values and `.grad`s that two steps left behind, in their order."""
    for kind in (Value, Grad):
        pairs = zip((e for e in ours if isinstance(e, kind)), (e for e in theirs if isinstance(e, kind)), strict=False)
        for mine, other in pairs:
            held = [event.data if isinstance(event, Value) else event.after for event in (mine, other)]
            how = _unlike((held[0],), (held[1],))
            if how is not None:
                what: Kind = "value" if kind is Value else "grad"
                yield Difference(what, f"tensor:{mine.tensor}", f"tensor:{other.tensor}", how)


def _of_name(here: Trace, at: int, there: Trace, then: int, name: str) -> Iterator[Row]:
    mine, other = here.named(name, at), there.named(name, then)
    if mine is None and other is None:
        return
    key = None if mine is None else f"tensor:{mine}"
    if mine is None or other is None:
        value = there.at(then).value_data(other) if other is not None else here.at(at).value_data(mine or 0)
        kind: Kind = "only_there" if mine is None else "only_here"
        yield Row(name, kind, value if other is None else None, value if mine is None else None, key=key)
        return
    known, also = here.tensor(mine, at), there.tensor(other, then)
    if known and also and known.requires_grad != also.requires_grad:
        yield Row(name, "requires_grad", str(known.requires_grad), str(also.requires_grad), key=key)
    frames = here.at(at), there.at(then)
    for kind in ("value", "grad"):
        held = [
            frame.value_data(tensor) if kind == "value" else frame.grad_data(tensor)
            for frame, tensor in zip(frames, (mine, other), strict=True)
        ]
        how = _unlike((held[0],), (held[1],))
        if how is not None:
            yield Row(name, kind, held[0], held[1], how, largest(held[0], held[1]), key)


def _unlike(ours: tuple[Data | None, ...], theirs: tuple[Data | None, ...]) -> bool | None:
    """Whether these differ by no more than rounding; None where they do not differ at all."""
    if ours == theirs:
        return None
    if len(ours) != len(theirs):
        return False
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b and not alike(a, b)]
    return all(_close(a, b) for a, b in pairs) if pairs else None


def alike(a: Data | None, b: Data | None) -> bool:
    """Equal as far as it was recorded, but for the device, which is told by itself."""
    return a is b or (a is not None and b is not None and _plain(a) == _plain(b))


def _plain(data: Data) -> tuple[object, ...]:
    content = (
        (data.raw, data.parts) if data.raw is not None or data.parts else (data.norm, data.low, data.high, data.mean)
    )
    return data.shape, data.dtype, data.nan, data.inf, *content


def _close(a: Data | None, b: Data | None) -> bool:
    if a is None or b is None or a.shape != b.shape or a.dtype != b.dtype or a.dtype not in _CLOSE:
        return False
    relative, absolute = _CLOSE[a.dtype]
    try:
        return bool(np.allclose(to_numpy(a), to_numpy(b), relative, absolute, equal_nan=True))
    except NotCaptured:
        pairs = [(a.norm, b.norm), (a.low, b.low), (a.high, b.high), (a.mean, b.mean)]
        known = [(p, q) for p, q in pairs if p is not None and q is not None]
        return (
            (a.nan, a.inf) == (b.nan, b.inf)
            and bool(known)
            and all(bool(np.isclose(p, q, relative, absolute)) for p, q in known)
        )


def largest(a: Data | None, b: Data | None) -> float | None:
    """The largest absolute difference of two elements; None where that is not known or not finite."""
    if a is None or b is None or a.shape != b.shape:
        return None
    try:
        one, two = to_numpy(a), to_numpy(b)
    except NotCaptured:
        return None
    if one.dtype == bool or not one.size:
        return None
    with np.errstate(all="ignore"):
        wide = np.complex128 if np.iscomplexobj(one) or np.iscomplexobj(two) else np.float64
        most = float(np.max(np.abs(one.astype(wide) - two.astype(wide))))
    return most if np.isfinite(most) else None
