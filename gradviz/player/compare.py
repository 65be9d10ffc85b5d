"""What an experiment changed: a broken run beside the unbroken one, and the first step at which they differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gradviz.player.aligned import alike, largest, step_key
from gradviz.trace import Trace
from gradviz.trace.codec import AnyItem
from gradviz.trace.events import Backward, Data, Fault, Grad, NodeRan, Op, Value

MOST_STEPS = 4000
"""Of longer recordings this much is compared step by step."""
MOST_ROWS = 8
What = Literal["fault", "grad", "requires_grad", "is_leaf", "value"]
Held = Data | Fault | bool | None


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that is not as it was. For a fault `old` and `new` are the faults, for `requires_grad` and `is_leaf`
    what PyTorch answers at the end, else what was held then."""

    what: What
    name: str
    old: Held
    new: Held


@dataclass(frozen=True, slots=True)
class Comparison:
    """`step` is the first step of the broken run that is not as it was, the changed line's own left out; None: none."""

    changes: tuple[Change, ...]
    step: int | None


def compare(old: Trace, new: Trace, line: int, was: int | None = None) -> Comparison:
    """Compare two runs of one program, of which the second has something else on a line: in place of the line `was` of
    the first, or beside all that was there."""
    changes = [*_faults(old, new), *_held(old, new)]
    return Comparison(tuple(changes[:MOST_ROWS]), _first(old, new, line, was))


def _faults(old: Trace, new: Trace) -> list[Change]:
    mine, theirs = _uncaught(new), _uncaught(old)
    if (mine is None) == (theirs is None) and (mine is None or theirs is None or mine.message == theirs.message):
        return []
    return [Change("fault", "", theirs, mine)]


def _uncaught(trace: Trace) -> Fault | None:
    return next((fault for fault in trace.faults if not fault.caught), None)


def _held(old: Trace, new: Trace) -> list[Change]:
    """Gradients of all named tensors, then their flags, then values, where they differ at the end."""
    names = [n for n in dict.fromkeys([*old.names, *new.names]) if not _inner(old, n)]
    pairs = [(n, old.named(n) if n in old.names else None, new.named(n) if n in new.names else None) for n in names]
    one, other = old.at(old.steps), new.at(new.steps)
    grads: list[Change] = []
    values: list[Change] = []
    for name, here, there in pairs:
        for what, get, found in (("grad", "grad_data", grads), ("value", "value_data", values)):
            before = getattr(one, get)(here) if here is not None else None
            after = getattr(other, get)(there) if there is not None else None
            if not alike(before, after) and there is not None:
                found.append(Change("grad" if what == "grad" else "value", name, before, after))
    return [*grads, *_flags(old, new, pairs), *values]


def _flags(old: Trace, new: Trace, pairs: list[tuple[str, int | None, int | None]]) -> Iterator[Change]:
    """Where autograd treats what a name means in another way."""
    for name, here, there in pairs:
        before = old.tensor(here) if here is not None else None
        after = new.tensor(there) if there is not None else None
        if before is None or after is None:
            continue
        if before.requires_grad != after.requires_grad:
            yield Change("requires_grad", name, before.requires_grad, after.requires_grad)
        elif before.requires_grad and before.is_leaf != after.is_leaf:
            yield Change("is_leaf", name, before.is_leaf, after.is_leaf)


def _inner(trace: Trace, name: str) -> bool:
    """A second name of something that has a longer one: "weight" of a "model.0.weight"."""
    return any(other.endswith(f".{name}") for other in trace.names)


# ---- step by step


def _first(old: Trace, new: Trace, line: int, was: int | None) -> int | None:
    ours = [s for s in range(1, min(new.steps, MOST_STEPS) + 1) if not _on(new, s, line)]
    theirs = [s for s in range(1, min(old.steps, MOST_STEPS) + 1) if was is None or not _on(old, s, was)]
    for i, j in zip(theirs, ours, strict=False):
        if step_key(old, i) != step_key(new, j) or not _alike(old, i, new, j):
            return j
    if len(theirs) == len(ours):
        return None
    return ours[len(theirs)] if len(ours) > len(theirs) else new.steps


def _on(trace: Trace, step: int, line: int) -> bool:
    """The step is the changed line itself: its own operation, not what the engine does for it."""
    event = trace.event_at(step)
    span = event.span if isinstance(event, Op | Grad) else None
    return span is not None and span[1] == line and trace.cell_of(span[0]) == 0


def _alike(old: Trace, i: int, new: Trace, j: int) -> bool:
    """Two steps hold the same numbers, and what they made requires grad alike."""
    if _recorded(old, i) != _recorded(new, j):
        return False
    one, other = _numbers(old, i), _numbers(new, j)
    return len(one) == len(other) and all(alike(a, b) for a, b in zip(one, other, strict=True))


def _recorded(trace: Trace, step: int) -> list[bool]:
    """Whether the results of an operation require grad, in order."""
    event = trace.event_at(step)
    made = [trace.tensor(tensor, step) for tensor in event.outputs] if isinstance(event, Op) else []
    return [told.requires_grad for told in made if told is not None]


def _numbers(trace: Trace, step: int) -> list[Data | None]:
    found: list[Data | None] = []
    ran = isinstance(trace.event_at(step), NodeRan)
    for event in trace.events_of(step):
        # What an optimizer writes right after a pass belongs to its last step, and is no work of that node.
        found += [] if ran and isinstance(event, Value) else _of(event)
    return found


def _of(event: AnyItem) -> list[Data | None]:
    if isinstance(event, NodeRan):
        return [*event.gin, *event.gout]
    if isinstance(event, Grad):
        return [event.after]
    if isinstance(event, Value):
        return [event.data]
    return [*event.seeds] if isinstance(event, Backward) else []


def difference(change: Change) -> float | None:
    """The largest difference of any element, where both are known and have one shape."""
    if not isinstance(change.old, Data) or not isinstance(change.new, Data):
        return None
    return largest(change.old, change.new)
