"""The history of one leaf's `.grad`: every contribution, zeroing and assignment, with the way that it came."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass

from gradviz.explain.labels import short_node, tensor_label
from gradviz.explain.readyqueue import plan_of
from gradviz.explain.words import Words
from gradviz.trace import NotCaptured, Trace, to_numpy
from gradviz.trace.events import Backward, Data, Grad

MOST_NAMES = 6
WHOLE = slice(None)


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One write. `amount` and `total` are the element's, or norms where no element is asked for; None where there is
    no number: nothing was added, `.grad` is None afterwards, or the recording does not hold it."""

    step: int
    pass_id: int | None
    cause: str
    """That of the `Grad` event, or "unreached": a pass that failed before it came to this leaf."""
    source: str
    path: str
    amount: float | None
    total: float | None
    added: Data | None = None
    after: Data | None = None


def ledger(
    trace: Trace,
    tensor: int,
    element: tuple[int, ...] | None = None,
    step: int | None = None,
    language: str = "en",
    part: slice = WHOLE,
) -> list[LedgerRow]:
    """All writes to a tensor's `.grad` up to a step (to the end by default), oldest first; of many only a `part`."""
    last = trace.steps if step is None else step
    history = trace.grads.get(tensor)
    rows: list[LedgerRow] = []
    for at, index in zip(history.steps[part], history.indexes[part], strict=True) if history else ():
        event = trace.events[index]
        if at <= last and isinstance(event, Grad):
            rows.append(_row(trace, event, at, element, language))
    if trace.faults:
        written = (trace.events[index] for index in history.indexes) if history else ()
        reached = {event.within for event in written if isinstance(event, Grad)}
        rows += _unreached(trace, tensor, element, last, reached, language)
        rows.sort(key=lambda row: row.step)
    return rows


def writes_near(trace: Trace, tensor: int, step: int, most: int) -> tuple[slice, int, int]:
    """The writes to a tensor's `.grad` nearest to a step, at most so many; how many come before and after them."""
    history = trace.grads.get(tensor)
    steps = history.steps if history else []
    first = max(0, min(bisect_right(steps, step) - most // 2, len(steps) - most))
    return slice(first, first + most), first, max(0, len(steps) - first - most)


def _row(trace: Trace, event: Grad, step: int, element: tuple[int, ...] | None, language: str) -> LedgerRow:
    words = Words(language)
    total = _amount(event.after, element)
    if event.within is None:
        source = event.text or words(f"ledger.{event.cause}")
        return LedgerRow(step, None, event.cause, source, "", None, total, None, event.after)
    source = words("ledger.pass", number=event.within + 1)
    path = path_to(trace, event.within, event.tensor)
    amount = _amount(event.added, element)
    return LedgerRow(step, event.within, event.cause, source, path, amount, total, event.added, event.after)


def _unreached(
    trace: Trace, tensor: int, element: tuple[int, ...] | None, last: int, reached: set[int | None], language: str
) -> list[LedgerRow]:
    """Passes that planned to reach this leaf and failed before."""
    words, rows = Words(language), []
    accumulators = {n.id for n in trace.nodes if n.leaf == tensor}
    for fault in trace.faults:
        step = int(trace.fault_step.view[fault.id])
        if fault.within is None or fault.within in reached or step > last:
            continue
        if accumulators & set(trace.passes[fault.within].planned):
            source = words("ledger.unreached", number=fault.within + 1)
            total = _amount(trace.at(step).grad_data(tensor), element)
            rows.append(LedgerRow(step, fault.within, "unreached", source, "", None, total))
    return rows


def _amount(data: Data | None, element: tuple[int, ...] | None) -> float | None:
    if data is None:
        return None
    if element is None:  # the norm that is recorded is that of the finite elements
        return math.nan if data.nan else math.inf if data.inf else data.norm
    try:
        return float(abs(value) if isinstance(value := to_numpy(data)[element].item(), complex) else value)
    except (NotCaptured, IndexError, ValueError):
        return None


def path_to(trace: Trace, pass_id: int, leaf: int) -> str:
    """The shortest way of gradients from the roots to a leaf, "Bce → Add → b", with the number of edges that end there
    where it is more than one."""
    began = trace.passes[pass_id]
    nodes, arrivals = way_to(trace, began, leaf)
    if not nodes:
        return ""
    names = [short_node(trace.nodes[n].name) for n in nodes[:-1]]
    if len(names) > MOST_NAMES:
        names = [*names[: MOST_NAMES // 2], "…", *names[-(MOST_NAMES // 2) :]]
    text = " → ".join([*names, tensor_label(trace, leaf)])
    return f"{text} (×{arrivals})" if arrivals > 1 else text


def way_to(trace: Trace, began: Backward, leaf: int) -> tuple[list[int], int]:
    """Nodes from a root to the leaf's AccumulateGrad, and how many edges of this pass end in it."""
    parent: dict[int, int | None] = dict.fromkeys(began.roots)
    queue, goal = list(began.roots), None
    for node in queue:
        if trace.nodes[node].leaf == leaf:
            goal = node
            break
        for target, _ in trace.nodes[node].edges:
            if target is not None and target < len(trace.nodes) and target not in parent:
                parent[target] = node
                queue.append(target)
    way: list[int] = []
    at = goal
    while at is not None:
        way.append(at)
        at = parent[at]
    return way[::-1], len(plan_of(trace, began).arrivals(goal)) if goal is not None else 0
