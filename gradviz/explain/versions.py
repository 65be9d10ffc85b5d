"""The history of one tensor's content: each version, who wrote it at which step, and writes that the counter missed;
who keeps which version for backward, and how long."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from gradviz.explain.labels import node_label, one_line, step_label, tensor_label
from gradviz.trace import Trace
from gradviz.trace.events import Data, NodeRan, Op, Saved, Tensor, Value

Kind = Literal["made", "there", "write", "silent", "moved"]
LONGEST = 40
"""Characters of source text that name a write; of a longer one the operation is named."""


@dataclass(frozen=True, slots=True)
class Version:
    """What a tensor held from a step on. `number` is PyTorch's version counter there, None where the tensor has none.

    `kind`: "made" by an operation; "there" before the recording saw it; a "write" that the counter counted; a "silent"
    one that it did not; "moved": the tensor was given other memory. `through` is the other tensor on the same memory
    that was written to, None where it was this one. `source` is the program's text, else the operation or the node.
    """

    step: int
    number: int | None
    kind: Kind
    source: str
    through: str | None = None
    data: Data | None = None


def versions(trace: Trace, tensor: int, step: int, most: int) -> tuple[list[Version], int]:
    """The versions of a tensor up to a step, oldest first: the last `most` of them, and how many came before."""
    history = trace.values.get(tensor)
    if history is None:
        return [], 0
    steps, count = history.steps, bisect_right(history.steps, step)
    first = max(0, count - most)
    found: list[Version] = []
    for position in range(first, count):
        if position + 1 < count and steps[position + 1] == steps[position]:
            continue  # the last content of a step is what it leaves
        event = trace.events[history.indexes[position]]
        before = _before(trace, tensor, position)
        if isinstance(event, Value) and (made := _version(trace, tensor, steps[position], event, before)) is not None:
            found.append(made)
    return found, first


def _before(trace: Trace, tensor: int, position: int) -> tuple[int, Value] | None:
    """Step and event of the content before this one, of another step."""
    history = trace.values[tensor]
    for earlier in range(position - 1, -1, -1):
        event = trace.events[history.indexes[earlier]]
        if history.steps[earlier] < history.steps[position] and isinstance(event, Value):
            return history.steps[earlier], event
    return None


def _version(trace: Trace, tensor: int, step: int, event: Value, before: tuple[int, Value] | None) -> Version | None:
    """None for a content that is told again and is the same."""
    if before is None:
        told = trace.tensor(tensor, step)
        kind: Kind = "made" if told is not None and told.op is not None else "there"
        source, _ = _writer(trace, tensor, step)
        return Version(step, event.version, kind, source if kind == "made" else "", None, event.data)
    now, then = trace.tensor(tensor, step), trace.tensor(tensor, before[0])
    source, through = _writer(trace, tensor, step)
    if now is not None and then is not None and now.storage != then.storage:
        return Version(step, event.version, "moved", source, through, event.data)
    counted = event.version is None or event.version != before[1].version
    if not counted and event.data == before[1].data:
        return None
    return Version(step, event.version, "write" if counted else "silent", source, through, event.data)


def _writer(trace: Trace, tensor: int, step: int) -> tuple[str, str | None]:
    """What wrote at a step, and the other tensor through which it did."""
    told = trace.tensor(tensor, step)
    storage = told.storage if told is not None else -1
    found: tuple[Op, int] | None = None
    for event in trace.events_of(step):
        if not isinstance(event, Op):
            continue
        if tensor in event.writes or (found is None and tensor in event.outputs):
            return _source(event), None
        for written in event.writes:
            other = trace.tensor(written, step)
            if other is not None and other.storage == storage >= 0:
                found = event, written
    if found is not None:
        return _source(found[0]), tensor_label(trace, found[1])
    begun = trace.event_at(step)
    return node_label(trace, begun.node) if isinstance(begun, NodeRan) else step_label(trace, step), None


def _source(op: Op) -> str:
    text = one_line(op.text)
    return text if 0 < len(text) <= LONGEST else op.name


# ---- who keeps it


@dataclass(frozen=True, slots=True)
class Life:
    """A node keeps a tensor from the step at which it was born; `until` the step at which it lets go, None where it has
    not yet. `version` is what it saved, `now` what the counter says at the step that was asked about."""

    node: int
    item: Saved
    since: int
    until: int | None
    version: int | None
    now: int | None

    @property
    def is_stale(self) -> bool:
        """It still keeps a version that is not there any more: a backward through the node would fail."""
        return self.until is None and self.version is not None and self.now is not None and self.version != self.now


def life(trace: Trace, step: int, node: int, item: Saved) -> Life:
    """How long a node has kept one thing, as seen from a step."""
    ends = [trace.freed_step.view[trace.freed_node.view == node], trace.gone_step.view[trace.gone_node.view == node]]
    over = [int(s) for s in np.concatenate(ends) if s <= step]
    told = trace.tensor(item.tensor, step) if item.tensor is not None else None
    return Life(
        node,
        item,
        int(trace.node_step.view[node]),
        min(over, default=None),
        item.version,
        told.version if isinstance(told, Tensor) else None,
    )


_SAVERS: WeakKeyDictionary[Trace, tuple[int, dict[int, list[tuple[int, Saved]]]]] = WeakKeyDictionary()


def _savers(trace: Trace) -> dict[int, list[tuple[int, Saved]]]:
    """Tensor -> nodes that saved it, and as what; grows with the recording."""
    known, savers = _SAVERS.get(trace, (0, {}))
    for told in trace.nodes[known:]:
        for item in told.saved:
            if item.tensor is not None:
                savers.setdefault(item.tensor, []).append((told.id, item))
    _SAVERS[trace] = len(trace.nodes), savers
    return savers


def keepers(trace: Trace, tensor: int, step: int, most: int) -> tuple[list[Life], int]:
    """The nodes that keep this tensor at a step, or did so before it: the last `most` to be born, oldest first, and how
    many came before."""
    saved = _savers(trace).get(tensor, [])
    count = bisect_right(saved, step, key=lambda pair: int(trace.node_step.view[pair[0]]))
    first = max(0, count - most)
    return [life(trace, step, node, item) for node, item in saved[first:count]], first
