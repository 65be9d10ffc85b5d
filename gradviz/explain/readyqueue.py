"""The engine's ready queue at a step inside a backward pass, from the recording alone.

The rule is that of PyTorch's engine (torch/csrc/autograd/engine.cpp): a node waits for one gradient for each edge of
the pass that ends in it, a root for its seed as well; when the last has come it goes into a priority queue, from which
the highest sequence number is taken first. AccumulateGrad carries the largest number there is. Which of two equal ones
goes first depends on the shape of the engine's heap: there the planned order of the recording decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from gradviz.trace import Trace
from gradviz.trace.events import Backward, NodeRan

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Waits:
    """A node that is not ready: it has `arrived` of `total` gradients, those of the nodes `missing` are to come."""

    node: int
    arrived: int
    total: int
    missing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReadyQueue:
    """After a step: node ids, those that are ready in the order in which the engine takes them."""

    within: int
    running: int | None
    """The node whose run is this step; its gradients have been handed on."""
    ready: tuple[int, ...]
    waiting: tuple[Waits, ...]
    """First those that have received something, then in the order in which they will run."""
    done: int
    total: int
    failed: int | None
    """The node that raised: the engine drops the queue."""


class Plan:
    """The edges of one pass as arrays of positions in its plan."""

    def __init__(self, trace: Trace, began: Backward) -> None:
        self.nodes = np.asarray([n for n in began.planned if n < len(trace.nodes)], np.int64)
        self.place = {int(node): i for i, node in enumerate(self.nodes)}
        pairs = [(i, self.place[t]) for i, node in enumerate(self.nodes)
                 for t, _ in trace.nodes[int(node)].edges if t in self.place]  # fmt: skip
        flat = np.asarray(pairs, np.int64).reshape(-1, 2)
        self.source, self.target = flat[:, 0], flat[:, 1]
        seeds = [self.place[r] for r in began.roots if r in self.place]
        self.seeds = np.bincount(np.asarray(seeds, np.int64), minlength=len(self.nodes))
        self.total = np.bincount(self.target, minlength=len(self.nodes)) + self.seeds
        numbers = [trace.nodes[int(n)].sequence for n in self.nodes]
        self.sequence = np.asarray([np.inf if s is None else float(s) for s in numbers])

    def arrivals(self, node: int) -> list[int]:
        """Nodes that send to a node, one entry for each edge, in the order in which they run."""
        place = self.place.get(node)
        return [] if place is None else [int(n) for n in self.nodes[self.source[self.target == place]]]

    @cached_property
    def senders(self) -> dict[int, list[int]]:
        """Position -> positions that send to it, one entry for each edge."""
        found: dict[int, list[int]] = {}
        for source, target in zip(self.source.tolist(), self.target.tolist(), strict=True):
            found.setdefault(target, []).append(source)
        return found


_PLANS: WeakKeyDictionary[Trace, dict[int, Plan]] = WeakKeyDictionary()


def ready_queue(trace: Trace, step: int, most: int = 200) -> ReadyQueue | None:
    """The queue of the innermost pass that runs at a step; None outside a pass, or where no plan was recorded. Of the
    nodes that wait at most `most` are listed."""
    began = trace.pass_at(step)
    if began is None or not began.planned:
        return None
    plan = plan_of(trace, began)
    mine = (trace.run_pass.view == began.id) & (trace.run_step.view <= step)
    done = np.zeros(len(plan.nodes), np.bool_)
    done[[plan.place[int(n)] for n in trace.run_node.view[mine] if int(n) in plan.place]] = True
    arrived = np.bincount(plan.target[done[plan.source]], minlength=len(plan.nodes)) + plan.seeds
    fault = next((f for f in trace.faults if f.within == began.id and trace.fault_step.view[f.id] <= step), None)
    free = np.flatnonzero(~done & (arrived >= plan.total)) if fault is None else np.zeros(0, np.int64)
    free = free[np.lexsort((free, -plan.sequence[free]))]
    event = trace.event_at(step)
    return ReadyQueue(
        began.id,
        event.node if isinstance(event, NodeRan) and event.within == began.id else None,
        tuple(int(n) for n in plan.nodes[free]),
        _waiting(plan, done, arrived, most),
        int(done.sum()),
        len(plan.nodes),
        fault.node if fault is not None else None,
    )


def plan_of(trace: Trace, began: Backward) -> Plan:
    """Worked out once for each pass: its plan is known when it begins, and its edges do not change."""
    known = _PLANS.setdefault(trace, {})
    if began.id not in known:
        known[began.id] = Plan(trace, began)
    return known[began.id]


def _waiting(plan: Plan, done: npt.NDArray[np.bool_], arrived: Ints, most: int) -> tuple[Waits, ...]:
    places = np.flatnonzero(~done & (arrived < plan.total))
    places = places[np.lexsort((places, arrived[places] == 0))][:most]
    rows = []
    for place in places.tolist():
        missing = dict.fromkeys(int(plan.nodes[s]) for s in plan.senders.get(place, ()) if not done[s])
        rows.append(Waits(int(plan.nodes[place]), int(arrived[place]), int(plan.total[place]), tuple(missing)))
    return tuple(rows)
