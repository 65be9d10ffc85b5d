"""The recording seen from one step. Computed by comparing numbers, never by replaying, so any step costs the same."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from gradviz.trace.events import Data, Event, Grad, NodeRan, Value
from gradviz.trace.values import to_numpy

if TYPE_CHECKING:
    from gradviz.trace.codec import AnyItem
    from gradviz.trace.trace import Ints, Trace

Status = Literal["not born", "pending", "running", "done", "freed", "gone", "failed"]
STATUSES: tuple[Status, ...] = ("not born", "pending", "running", "done", "freed", "gone", "failed")
NOT_BORN, PENDING, RUNNING, DONE, FREED, GONE, FAILED = range(7)


class Frame:
    """What held after `step`. Arrays are indexed by node id and are read-only for callers."""

    def __init__(self, trace: Trace, step: int) -> None:
        self.trace = trace
        self.step = step

    @property
    def event(self) -> AnyItem | None:
        """The event that is this step; None at step 0."""
        return self.trace.event_at(self.step)

    @property
    def events(self) -> list[AnyItem]:
        """All events of this step, in order."""
        return self.trace.events_of(self.step)

    # ---- nodes

    @cached_property
    def last_run(self) -> Ints:
        """Position in the trace's run columns of the latest run of each node so far, -1 where it has not run."""
        done = int(np.searchsorted(self.trace.run_step.view, self.step, "right"))
        last = np.full(len(self.trace.nodes), -1, np.int64)
        last[self.trace.run_node.view[:done]] = np.arange(done)
        return last

    @cached_property
    def planned(self) -> npt.NDArray[np.bool_]:
        """Nodes that a running pass is still going to run."""
        mark = np.zeros(len(self.trace.nodes), np.bool_)
        for pass_id in self.trace.active_passes(self.step):
            plan = np.asarray(self.trace.passes[pass_id].planned, np.int64)
            plan = plan[plan < len(mark)]
            mark[plan[self._not_run_since(plan, int(self.trace.pass_step.view[pass_id]))]] = True
        return mark

    def _not_run_since(self, nodes: Ints, step: int) -> npt.NDArray[np.bool_]:
        last = self.last_run[nodes]
        runs = self.trace.run_step.view
        return np.where(last < 0, True, runs[last] < step if len(runs) else True)

    @cached_property
    def statuses(self) -> npt.NDArray[np.uint8]:
        """Code of each node's status: an index into `STATUSES`."""
        trace, step = self.trace, self.step
        status = np.where(trace.node_step.view <= step, PENDING, NOT_BORN).astype(np.uint8)
        status[self.last_run >= 0] = DONE
        freed = trace.freed_node.view[: np.searchsorted(trace.freed_step.view, step, "right")]
        status[freed] = FREED
        planned_again = self.planned & (status == DONE)
        status[planned_again] = PENDING
        started = trace.started_node.view[: np.searchsorted(trace.started_step.view, step, "right")]
        status[started[self.planned[started]]] = RUNNING
        event = self.event
        if isinstance(event, NodeRan):
            status[event.node] = RUNNING
        self._mark_failed(status)
        status[trace.gone_node.view[: np.searchsorted(trace.gone_step.view, step, "right")]] = GONE
        return status

    def _mark_failed(self, status: npt.NDArray[np.uint8]) -> None:
        trace = self.trace
        for fault in trace.faults[: np.searchsorted(trace.fault_step.view, self.step, "right")]:
            if fault.node is None or fault.node >= len(status):
                continue
            last = int(self.last_run[fault.node])
            if last < 0 or trace.run_step.view[last] < trace.fault_step.view[fault.id]:
                status[fault.node] = FAILED

    def status(self, node: int) -> Status:
        """Status of a node by its id."""
        return STATUSES[int(self.statuses[node])]

    def run(self, node: int) -> NodeRan | None:
        """The latest run of a node so far."""
        last = int(self.last_run[node])
        event = self.trace.events[int(self.trace.run_index.view[last])] if last >= 0 else None
        return event if isinstance(event, NodeRan) else None

    # ---- tensors

    def _find(self, tensor: int | str) -> int:
        if isinstance(tensor, int):
            return tensor
        found = self.trace.named(tensor, self.step)
        if found is None:
            raise KeyError(f"no tensor is called {tensor!r} at step {self.step}")
        return found

    def _held(self, histories: dict[int, Any], tensor: int) -> Event | None:
        index = histories[tensor].at(self.step) if tensor in histories else None
        event = self.trace.events[index] if index is not None else None
        return event if isinstance(event, Event) else None

    def value_data(self, tensor: int | str) -> Data | None:
        """Content of a tensor as recorded; None where it did not exist yet or no value event tells of it."""
        event = self._held(self.trace.values, self._find(tensor))
        return event.data if isinstance(event, Value) else None

    def grad_data(self, tensor: int | str) -> Data | None:
        """`.grad` of a tensor as recorded; None where it is None."""
        event = self._held(self.trace.grads, self._find(tensor))
        return event.after if isinstance(event, Grad) else None

    def grad_event(self, tensor: int | str) -> Grad | None:
        """The latest change of a tensor's `.grad` so far."""
        event = self._held(self.trace.grads, self._find(tensor))
        return event if isinstance(event, Grad) else None

    def value(self, tensor: int | str) -> npt.NDArray[Any] | None:
        """Exact content of a tensor, by name or id, as an array of its shape; None where it does not exist yet.

        Raises:
            KeyError: no tensor has this name at this step.
            NotCaptured: it exists and the recording does not hold its content.
        """
        data = self.value_data(tensor)
        return None if data is None else to_numpy(data)

    def grad(self, tensor: int | str) -> npt.NDArray[Any] | None:
        """Exact `.grad` of a tensor, by name or id, as an array of its shape; None where PyTorch has None.

        Raises:
            KeyError: no tensor has this name at this step.
            NotCaptured: it exists and the recording does not hold its content.
        """
        data = self.grad_data(tensor)
        return None if data is None else to_numpy(data)

    # ---- the rest

    @property
    def held_bytes(self) -> int:
        """Bytes that nodes keep for their backward formulas."""
        return int(self.trace.held_bytes()[self.step])

    @cached_property
    def retained_bytes(self) -> int:
        """Those of `held_bytes` that are still there because their node ran in a pass with retain_graph=True."""
        trace, runs = self.trace, int(np.searchsorted(self.trace.run_step.view, self.step, "right"))
        retained = np.array([begun.retain_graph for begun in trace.passes], np.bool_)
        if not retained.any():
            return 0
        keeps = np.zeros(len(trace.nodes), np.bool_)
        keeps[trace.run_node.view[:runs][retained[trace.run_pass.view[:runs]]]] = True
        keeps[trace.freed_node.view[: np.searchsorted(trace.freed_step.view, self.step, "right")]] = False
        keeps[trace.gone_node.view[: np.searchsorted(trace.gone_step.view, self.step, "right")]] = False
        rows = keeps[trace.saved_node.view]
        _, first = np.unique(trace.saved_storage.view[rows], return_index=True)
        return int(trace.saved_size.view[rows][first].sum())

    @property
    def output(self) -> str:
        """All that the program has printed so far."""
        trace = self.trace
        shown = int(np.searchsorted(trace.output_step.view, self.step, "right"))
        return "".join(event.text for event in trace.outputs[:shown])
