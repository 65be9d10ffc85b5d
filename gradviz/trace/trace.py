"""The recording as an append-only list of events with indexes over it. What held at a step is a `Frame`."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from gradviz.trace.check import Checker
from gradviz.trace.codec import AnyItem, check_header
from gradviz.trace.events import (
    Backward,
    BackwardEnded,
    Cell,
    Ended,
    Fault,
    File,
    Freed,
    Gone,
    Grad,
    Header,
    Named,
    Node,
    NodeRan,
    NodeStarted,
    Op,
    Output,
    Rule,
    Scope,
    Span,
    Tensor,
    Value,
    Warn,
)
from gradviz.trace.frame import Frame

StepKind = Literal["start", "op", "seed", "node", "accumulate", "grad", "fault"]
Ints = npt.NDArray[np.int64]


class Column:
    """A growing array of integers; `view` is the filled part, without a copy."""

    __slots__ = ("_array", "_length")

    def __init__(self, *values: int) -> None:
        self._array: Ints = np.empty(64, np.int64)
        self._length = 0
        for value in values:
            self.append(value)

    def append(self, value: int) -> None:
        if self._length == len(self._array):
            self._array = np.concatenate([self._array, np.empty_like(self._array)])
        self._array[self._length] = value
        self._length += 1

    def add_to_last(self, amount: int) -> None:
        self._array[self._length - 1] += amount

    @property
    def last(self) -> int:
        return int(self._array[self._length - 1])

    @property
    def view(self) -> Ints:
        return self._array[: self._length]

    def __len__(self) -> int:
        return self._length


class History:
    """Pairs (step, event index) of one thing, in order; `at` gives the index that holds at a step."""

    __slots__ = ("indexes", "steps")

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.indexes: list[int] = []

    def append(self, step: int, index: int) -> None:
        self.steps.append(step)
        self.indexes.append(index)

    def at(self, step: int) -> int | None:
        """Index of the event that holds after `step`, or None where there is none yet."""
        position = bisect_right(self.steps, step)
        return self.indexes[position - 1] if position else None


class Trace:
    """Everything that was recorded, in order. Grows by `append` only; every question about "now" goes to `at`.

    Index attributes are for reading: `ops`, `nodes`, `passes`, `faults`, `files` and `cells` hold events by id.
    """

    display: ClassVar[Callable[[Trace], dict[str, str]] | None] = None
    """How a notebook shows a recording: media type -> content. Set from above, since nothing here draws."""

    def __init__(self, events: Iterable[AnyItem] = ()) -> None:  # noqa: PLR0915 the tables, one a line
        self.events: list[AnyItem] = []
        self.header = Header()
        self.damage: str | None = None
        """Why the recording ends early, as a sentence; None where it does not."""
        self.ops: list[Op] = []
        self.outer_op: dict[int, int] = {}
        """Operations that ran inside another -> the innermost of those, once that one is told."""
        self._outermost: dict[int, list[int]] = defaultdict(list)
        self.nodes: list[Node] = []
        self.passes: list[Backward] = []
        self.faults: list[Fault] = []
        self.warnings: list[Warn] = []
        self.outputs: list[Output] = []
        self.files: dict[int, File] = {}
        self.cells: list[Cell] = []
        self._cell_of: dict[int, int] = {}
        self.ended: dict[int, Ended] = {}
        self.scopes: dict[int, Scope] = {}
        self.rules: dict[str, Rule] = {}
        self.tensors: dict[int, History] = defaultdict(History)
        self.values: dict[int, History] = defaultdict(History)
        self.grads: dict[int, History] = defaultdict(History)
        self.names: dict[str, History] = defaultdict(History)
        self.names_of: dict[int, list[str]] = defaultdict(list)
        self.op_step = Column()
        self.node_step = Column()
        self.pass_step = Column()
        self.pass_end: dict[int, int] = {}
        self.outer_pass, self.outer_end = Column(), Column()
        """Passes with a plan that ran inside no other, in the order in which they ended, and the steps at which they
        did."""
        self.graph_lines: set[int] = set()
        """Lines of the program whose operations left nodes behind."""
        self.fault_step = Column()
        self.warning_step = Column()
        self.output_step = Column()
        self.cell_step = Column()
        self.run_node, self.run_pass = Column(), Column()
        self.run_step, self.run_index = Column(), Column()
        self.started_node, self.started_step = Column(), Column()
        self.freed_node, self.freed_step = Column(), Column()
        self.gone_node, self.gone_step = Column(), Column()
        self.grad_tensors: dict[int, int] = {}
        """Tensors that are some tensor's `.grad` -> that tensor."""
        self.named_leaves: dict[int, bool] = {}
        """Tensors with a name, no grad_fn, and no other's `.grad`, in order of their naming -> whether they require
        grad. As things stand at the end."""
        self._event_step = Column()
        self._step_index = Column(-1)
        self._held = Column(0)
        self.saved_node, self.saved_storage, self.saved_size = Column(), Column(), Column()
        """What nodes keep, each node's memory once: which node, which memory, bytes."""
        self._storages: dict[int, tuple[tuple[int, int], ...]] = {}
        self._storage_users: dict[int, int] = defaultdict(int)
        self._line: tuple[int, tuple[int, int] | None] | None = None
        self._last_ended: Ended | None = None
        self._checker = Checker()
        self._waiting: list[AnyItem] = []
        self._awaited = -1
        """The last node that an event in `_waiting` names."""
        self.extend(events)

    # ---- growing

    def append(self, event: AnyItem) -> None:
        """Add one event. The first of a recording must be its header.

        What names nodes that are only born by the events after it is taken together with them, so that no step is
        ever seen half told.

        Raises:
            TraceError: the first event is no header, or one of a newer major format; or the event contradicts those
                before it, and then it is not added.
        """
        if not self.events:
            self.header = check_header(event)
        self._checker.check(event)
        kind = type(event)
        if kind is Ended and event.status == "killed":  # type: ignore[union-attr]
            self._waiting, self._awaited = [], -1  # the rest of it will never come
        if kind is Op or kind is Node:
            self._awaited = max(self._awaited, _last_node(event))
        if self._awaited >= self._checker.nodes:
            self._waiting.append(event)
        elif self._waiting:
            waiting, self._waiting = [*self._waiting, event], []
            for one in waiting:
                self._take(one)
        else:
            self._take(event)

    @property
    def unfinished(self) -> bool:
        """The recording stops in the middle of what belongs together, which is not shown."""
        return bool(self._waiting)

    def _take(self, event: AnyItem) -> None:
        index, kind = len(self.events), type(event)
        self.events.append(event)
        if kind in _BEGINNERS and self._begins_step(event):
            self._step_index.append(index)
            self._held.append(self._held.last)
        step = len(self._step_index) - 1
        if kind in _FORERUNNERS and (kind is not Scope or event.enter):  # type: ignore[union-attr]
            step += 1
        self._event_step.append(step)
        take = _TAKERS.get(kind)
        if take is not None:
            take(self, event, index, step)

    def extend(self, events: Iterable[AnyItem]) -> None:
        """Add events in order."""
        for event in events:
            self.append(event)

    def _begins_step(self, event: AnyItem) -> bool:
        begins = True
        if isinstance(event, Op):
            begins = bool(event.outputs or event.writes) and not event.quiet and not event.error
        elif isinstance(event, Grad):
            if event.within is not None:
                return False
            line = (len(self.cells), event.span[:2] if event.span else None)
            begins = line != self._line
            self._line = line
            return begins
        if begins:
            self._line = None
        return begins

    # ---- asking

    @property
    def steps(self) -> int:
        """Number of the last step; 0 is before anything."""
        return len(self._step_index) - 1

    @property
    def complete(self) -> bool:
        """The program's end was recorded and nothing is damaged."""
        return self.damage is None and self._last_ended is not None and self._last_ended.status != "killed"

    def at(self, step: int) -> Frame:
        """What held after `step`; steps outside the recording are taken as the nearest one inside it."""
        return Frame(self, max(0, min(step, self.steps)))

    def op(self, ident: int | None) -> Op | None:
        """The operation that a tensor or a node names; None where it names none, or one that was not told (yet)."""
        return self.ops[ident] if ident is not None and ident < len(self.ops) else None

    def event_at(self, step: int) -> AnyItem | None:
        """The event that is this step; None for step 0."""
        index = int(self._step_index.view[step])
        return self.events[index] if index >= 0 else None

    def events_of(self, step: int) -> list[AnyItem]:
        """All events that belong to a step, in order."""
        starts, owner = self._step_index.view, self._event_step.view
        first = int(starts[step - 1]) + 1 if step else 0
        last = int(starts[step + 1]) if step < self.steps else len(self.events)
        return [self.events[i] for i in range(first, last) if owner[i] == step]

    def step_of_event(self, index: int) -> int:
        """The step that an event, by its position in `events`, belongs to."""
        return int(self._event_step.view[index])

    def kind(self, step: int) -> StepKind:
        """What kind of step this is; "start" for 0."""
        event = self.event_at(step)
        if isinstance(event, NodeRan):
            return "accumulate" if self.nodes[event.node].leaf is not None else "node"
        for cls, kind in _STEP_KINDS:
            if isinstance(event, cls):
                return kind
        return "start"

    def pass_at(self, step: int) -> Backward | None:
        """The innermost pass that is running at a step."""
        return self.passes[active[-1]] if (active := self.active_passes(step)) else None

    def active_passes(self, step: int) -> list[int]:
        """Ids of the passes that have begun and not yet ended at a step, outermost first."""
        begun = int(np.searchsorted(self.pass_step.view, step, "right"))
        return [i for i in range(max(0, begun - 64), begun) if self.pass_end.get(i, step) >= step]

    def runs(self, node: int) -> list[int]:
        """Steps at which a node ran."""
        return [int(s) for s in self.run_step.view[self.run_node.view == node]]

    def order(self, pass_id: int) -> list[int]:
        """Nodes that completed in a pass, in the engine's order."""
        return [int(n) for n in self.run_node.view[self.run_pass.view == pass_id]]

    def span(self, step: int) -> Span | None:
        """The line that the program was at: for a node's run, the call that started the pass."""
        event = self.event_at(step)
        if isinstance(event, NodeRan):
            return self.passes[event.within].span if event.within < len(self.passes) else None
        return event.span if isinstance(event, Op | Backward | Grad | Fault) else None

    def origin(self, step: int) -> Span | None:
        """For a node's run, the expression whose operation left the node behind."""
        event = self.event_at(step)
        if not isinstance(event, NodeRan):
            return None
        op = self.nodes[event.node].op
        return self.ops[op].span if op is not None and op < len(self.ops) else None

    def cell_of(self, file: int) -> int | None:
        """Position of the cell whose source a file is: 0 the program, above it the lines that were sent; None for any
        other file."""
        return self._cell_of.get(file)

    def tensor(self, tensor: int, step: int | None = None) -> Tensor | None:
        """What is known of a tensor at a step (at the end by default); None where it was not seen yet."""
        index = self.tensors[tensor].at(self.steps if step is None else step) if tensor in self.tensors else None
        event = self.events[index] if index is not None else None
        return event if isinstance(event, Tensor) else None

    def named(self, name: str, step: int | None = None) -> int | None:
        """The tensor that a name meant at a step (at the end by default)."""
        index = self.names[name].at(self.steps if step is None else step) if name in self.names else None
        event = self.events[index] if index is not None else None
        return event.tensor if isinstance(event, Named) else None

    def name(self, tensor: int) -> str | None:
        """The first name that a tensor was given."""
        names = self.names_of.get(tensor)
        return names[0] if names else None

    def held_bytes(self) -> Ints:
        """Bytes that nodes keep for their backward formulas after each step, shape (steps + 1,). Memory shared by
        several nodes counts once."""
        return self._held.view

    def __repr__(self) -> str:
        return f"<Trace of {self.steps} steps, {len(self.ops)} operations, {len(self.nodes)} nodes>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": repr(self)} | (Trace.display(self) if Trace.display is not None else {})

    # ---- one small method for each kind of event

    def _take_ended(self, event: Ended, index: int, step: int) -> None:
        self.ended[event.cell] = self._last_ended = event

    def _take_cell(self, event: Cell, index: int, step: int) -> None:
        self._cell_of.setdefault(event.file, len(self.cells))
        self.cells.append(event)
        self.cell_step.append(step)

    def _take_scope(self, event: Scope, index: int, step: int) -> None:
        if event.enter:
            self.scopes[event.id] = event

    def _take_named(self, event: Named, index: int, step: int) -> None:
        self.names[event.name].append(step, index)
        if event.name not in self.names_of[event.tensor]:
            self.names_of[event.tensor].append(event.name)
        known = self.tensors.get(event.tensor)
        told = self.events[known.indexes[-1]] if known else None
        if isinstance(told, Tensor):
            self._note_leaf(told)

    def _note_leaf(self, told: Tensor) -> None:
        if told.is_leaf and told.id in self.names_of and told.id not in self.grad_tensors:
            self.named_leaves[told.id] = told.requires_grad
        else:
            self.named_leaves.pop(told.id, None)

    def _note_grad(self, tensor: int, owner: int) -> None:
        self.grad_tensors[tensor] = owner
        self.named_leaves.pop(tensor, None)

    def _take_tensor(self, event: Tensor, index: int, step: int) -> None:
        if event.grad_of is not None:
            self._note_grad(event.id, event.grad_of)
        self.tensors[event.id].append(step, index)
        self._note_leaf(event)

    def _take_value(self, event: Value, index: int, step: int) -> None:
        self.values[event.tensor].append(step, index)

    def _take_grad(self, event: Grad, index: int, step: int) -> None:
        self.grads[event.tensor].append(step, index)
        if event.grad_tensor is not None:
            self._note_grad(event.grad_tensor, event.tensor)

    def _take_op(self, event: Op, index: int, step: int) -> None:
        self.ops.append(event)
        self.op_step.append(step)
        row = self._outermost[event.thread]
        if event.first is not None:
            while row and row[-1] >= event.first:
                self.outer_op[row.pop()] = event.id
        row.append(event.id)
        if event.nodes and event.span is not None and self.cell_of(event.span[0]) == 0:
            self.graph_lines.add(event.span[1])

    def _take_node(self, event: Node, index: int, step: int) -> None:
        self.nodes.append(event)
        self.node_step.append(step)
        kept = tuple({s.storage: (s.storage, s.bytes) for s in event.saved if s.storage is not None}.values())
        if kept:
            self._storages[event.id] = kept
            for storage, size in kept:
                self.saved_node.append(event.id)
                self.saved_storage.append(storage)
                self.saved_size.append(size)
                self._held.add_to_last(size if not self._storage_users[storage] else 0)
                self._storage_users[storage] += 1

    def _release(self, node: int) -> None:
        for storage, size in self._storages.pop(node, ()):
            self._storage_users[storage] -= 1
            self._held.add_to_last(-size if not self._storage_users[storage] else 0)

    def _take_backward(self, event: Backward, index: int, step: int) -> None:
        self.passes.append(event)
        self.pass_step.append(step)

    def _take_backward_ended(self, event: BackwardEnded, index: int, step: int) -> None:
        begun = self.passes[event.id] if 0 <= event.id < len(self.passes) else None
        planned = begun.planned if begun is not None and begun.parent is None else ()
        if event.id not in self.pass_end and any(node < len(self.nodes) for node in planned):
            self.outer_pass.append(event.id)
            self.outer_end.append(step)
        self.pass_end[event.id] = step

    def _take_started(self, event: NodeStarted, index: int, step: int) -> None:
        self.started_node.append(event.node)
        self.started_step.append(step)

    def _take_ran(self, event: NodeRan, index: int, step: int) -> None:
        self.run_node.append(event.node)
        self.run_pass.append(event.within)
        self.run_step.append(step)
        self.run_index.append(index)

    def _take_freed(self, event: Freed, index: int, step: int) -> None:
        self.freed_node.append(event.node)
        self.freed_step.append(step)
        self._release(event.node)

    def _take_gone(self, event: Gone, index: int, step: int) -> None:
        for node in event.nodes:
            self.gone_node.append(node)
            self.gone_step.append(step)
            self._release(node)

    def _take_fault(self, event: Fault, index: int, step: int) -> None:
        self.faults.append(event)
        self.fault_step.append(step)

    def _take_warn(self, event: Warn, index: int, step: int) -> None:
        self.warnings.append(event)
        self.warning_step.append(step)

    def _take_output(self, event: Output, index: int, step: int) -> None:
        self.outputs.append(event)
        self.output_step.append(step)

    def _take_file(self, event: File, index: int, step: int) -> None:
        self.files[event.id] = event

    def _take_rule(self, event: Rule, index: int, step: int) -> None:
        self.rules[event.name] = event


_STEP_KINDS: tuple[tuple[type, StepKind], ...] = (
    (Op, "op"),
    (Backward, "seed"),
    (Grad, "grad"),
    (Fault, "fault"),
)
_BEGINNERS = frozenset((Op, Grad, Backward, NodeRan, Fault))
"""Only these can begin a step."""
_FORERUNNERS = frozenset((Cell, NodeStarted, Scope))
"""These belong to the step after them, a scope where it is entered."""
_TAKERS: dict[type, Any] = {
    Ended: Trace._take_ended,
    Cell: Trace._take_cell,
    Scope: Trace._take_scope,
    Named: Trace._take_named,
    Tensor: Trace._take_tensor,
    Value: Trace._take_value,
    Grad: Trace._take_grad,
    Op: Trace._take_op,
    Node: Trace._take_node,
    Backward: Trace._take_backward,
    BackwardEnded: Trace._take_backward_ended,
    NodeStarted: Trace._take_started,
    NodeRan: Trace._take_ran,
    Freed: Trace._take_freed,
    Gone: Trace._take_gone,
    Fault: Trace._take_fault,
    Warn: Trace._take_warn,
    Output: Trace._take_output,
    File: Trace._take_file,
    Rule: Trace._take_rule,
}


def _last_node(event: Any) -> int:
    """The highest node that an operation has left behind, or that a node has an edge to; -1 where there is none."""
    if type(event) is Op:
        return max(event.nodes) if event.nodes else -1
    last = -1
    for target, _ in event.edges:
        if target is not None and target > last:
            last = target
    return last
