"""What an event may refer to. Whatever is read is checked here once, so that nobody behind has to doubt an id.

A file may be anybody's, and a stream may come from another version: an event that names a node which was never born,
or a number that no counter reaches, is refused before it enters the recording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from gradviz.trace.codec import TraceError
from gradviz.trace.events import (
    Backward,
    BackwardEnded,
    Cell,
    Data,
    Device,
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
    Rule,
    Saved,
    Scope,
    Span,
    Tensor,
    Value,
    Warn,
)

IDS = 1 << 31
"""No id, line, column, or number of a thing reaches this."""
NUMBERS = 1 << 53
"""No size or counter goes beyond what a float holds exactly."""
DIMENSIONS = 64
"""PyTorch itself stops there."""
AHEAD = 100_000
"""An operation may name nodes that are born by the events right after it; so far ahead at most."""
NAME = 4096
"""Longest name, in characters."""

Datas = Iterable[Data | None]


class Checker:
    """Sees all events of one recording in order. `nodes` counts those born so far."""

    def __init__(self) -> None:
        self.nodes = 0
        self._ops = self._passes = self._faults = 0
        self._scopes: set[int] = set()

    def check(self, event: Any) -> None:
        """Let an event pass.

        Raises:
            TraceError: it contradicts what came before it, or itself.
        """
        found = _CHECKS.get(type(event))
        if found is not None:
            found(self, event)

    # ---- references

    def _node(self, node: int | None) -> None:
        if node is not None and not 0 <= node < self.nodes:
            raise _wrong(f"it speaks of node {node}, which was never born")

    def _all_nodes(self, nodes: tuple[int, ...]) -> None:
        """Nodes that each come once."""
        if nodes and (len(nodes) > self.nodes or min(nodes) < 0 or max(nodes) >= self.nodes):
            raise _wrong("it speaks of nodes that were never born")

    def _op(self, op: int | None) -> None:
        if op is not None and not 0 <= op < self._ops:
            raise _wrong(f"it speaks of operation {op}, which never ran")

    def _pass(self, number: int | None) -> None:
        if number is not None and not 0 <= number < self._passes:
            raise _wrong(f"it speaks of pass {number}, which never began")

    # ---- one small method for each kind

    def _take_header(self, event: Header) -> None:
        _names(event.program, event.device, event.values, *event.versions, *event.versions.values())
        _number(event.value_limit)
        _numbers(x for x in (event.rank, event.world_size) if x is not None)
        _finite(event.time)
        for device in event.devices:
            self._take_device(device)

    @staticmethod
    def _take_device(device: Device) -> None:
        _names(device.type, device.name)
        _number(device.index or 0)

    def _take_file(self, event: File) -> None:
        _ident(event.id)
        _names(event.path)

    def _take_cell(self, event: Cell) -> None:
        _ident(event.id)
        _ident(event.file)

    def _take_ended(self, event: Ended) -> None:
        _ident(event.cell)
        _names(event.status, *event.left_out)
        _numbers(event.left_out.values())
        _finite(event.seconds)

    def _take_scope(self, event: Scope) -> None:
        _ident(event.id)
        _names(event.path, event.cls)
        _span(event.span)
        if event.enter:
            if event.parent is not None and (event.parent >= event.id or event.parent not in self._scopes):
                raise _wrong(f"scope {event.id} stands inside one that was never entered")
            self._scopes.add(event.id)

    def _take_named(self, event: Named) -> None:
        _ident(event.tensor)
        _names(event.name)
        _span(event.span)

    def _take_tensor(self, event: Tensor) -> None:
        _shape(event.shape)
        if len(event.dtype) + len(event.device) + len(event.layout) + len(event.cls) > NAME:
            _names(event.dtype, event.device, event.layout, event.cls)
        if event.node is not None:
            self._node(event.node)
        _idents((event.id, event.op or 0, event.output_nr, event.grad_of or 0))
        if event.base is not None:
            _ident(event.base)
            if event.base == event.id:
                raise _wrong(f"tensor {event.id} is a view of itself")
        if event.storage >= NUMBERS or event.storage < -1 or event.version:
            _numbers((event.storage + 1, event.version or 0))

    def _take_op(self, event: Op) -> None:
        if event.id != self._ops:
            raise _order("operations")
        _idents(event.inputs + event.outputs + event.writes)
        if event.nodes and not 0 <= min(event.nodes) <= max(event.nodes) < self.nodes + AHEAD:
            raise _wrong(f"operation {event.id} names nodes that were never born")
        if len(event.name) + len(event.func) > NAME:
            _names(event.name, event.func)
        if event.span is not None:
            _span(event.span)
        if event.scope is not None and event.scope not in self._scopes:
            raise _wrong(f"operation {event.id} stands in a scope that was never entered")
        if event.first is not None and not 0 <= event.first < event.id:
            raise _wrong(f"operation {event.id} holds operations that did not run before it")
        if event.within is not None or event.within_node is not None:
            self._pass(event.within)
            self._node(event.within_node)
        if event.thread:
            _ident(event.thread)
        self._ops += 1

    def _take_node(self, event: Node) -> None:
        if event.id != self.nodes:
            raise _order("nodes")
        if len(event.name) > NAME or event.custom:
            _names(event.name, event.custom or "")
        for target, number in event.edges:
            if target is not None and (target == event.id or not 0 <= target < self.nodes + AHEAD):
                raise _wrong(f"an edge of node {event.id} goes to a node that cannot be")
            if number:
                _ident(number)
        for shape, dtype in event.inputs:
            _shape(shape)
            if len(dtype) > NAME:
                _names(dtype)
        if event.saved:
            _saved(event.saved)
        _idents((event.op or 0, event.leaf or 0))  # the operation may be told after its nodes
        if event.parent is not None or event.within is not None:
            self._node(event.parent)
            self._pass(event.within)
        if event.span is not None:
            _span(event.span)
        self.nodes += 1

    def _take_rule(self, event: Rule) -> None:
        _names(event.name)

    def _take_backward(self, event: Backward) -> None:
        if event.id != self._passes:
            raise _order("passes")
        for root in event.roots:
            self._node(root)
        self._all_nodes(event.planned)
        _idents(event.root_inputs)
        _idents(event.tensors)
        _idents(event.inputs or ())
        _datas(event.seeds)
        self._pass(event.parent)
        self._node(event.parent_node)
        _span(event.span)
        self._passes += 1

    def _take_started(self, event: NodeStarted) -> None:
        self._pass(event.within)
        self._node(event.node)
        _datas(event.gin)

    def _take_ran(self, event: NodeRan) -> None:
        self._pass(event.within)
        self._node(event.node)
        _datas(event.gin)
        _datas(event.gout)
        if event.gin_before or event.gout_before:
            _datas(event.gin_before or ())
            _datas(event.gout_before or ())
        if event.thread:
            _ident(event.thread)

    def _take_grad(self, event: Grad) -> None:
        _idents((event.tensor, event.grad_tensor or 0))
        if len(event.cause) > NAME:
            _names(event.cause)
        _datas((event.before, event.added, event.after))
        if event.within is not None or event.node is not None:
            self._pass(event.within)
            self._node(event.node)
        if event.span is not None:
            _span(event.span)

    def _take_value(self, event: Value) -> None:
        _ident(event.tensor)
        _datas((event.data,))
        if event.version:
            _number(event.version)

    def _take_freed(self, event: Freed) -> None:
        self._node(event.node)
        self._pass(event.within)
        _number(event.bytes)

    def _take_gone(self, event: Gone) -> None:
        self._all_nodes(event.nodes)

    def _take_backward_ended(self, event: BackwardEnded) -> None:
        self._pass(event.id)

    def _take_fault(self, event: Fault) -> None:
        if event.id != self._faults:
            raise _order("faults")
        _names(event.type)
        self._take_warn(event)
        self._faults += 1

    def _take_warn(self, event: Warn | Fault) -> None:
        _names(event.code)
        _span(event.span)
        self._node(event.node)
        self._pass(event.within)
        self._op(event.op)
        _ident(event.tensor or 0)


def _wrong(what: str) -> TraceError:
    return TraceError(f"The recording contradicts itself: {what}.")


def _order(what: str) -> TraceError:
    return _wrong(f"its {what} are not numbered in order")


def _ident(value: int) -> None:
    if not 0 <= value < IDS:
        raise _wrong(f"{value} is no number of anything")


def _idents(values: tuple[int, ...]) -> None:
    for value in values:
        if not 0 <= value < IDS:
            raise _wrong(f"{value} is no number of anything")


def _number(value: int) -> None:
    if not 0 <= value <= NUMBERS:
        raise _wrong(f"{value} is no size of anything")


def _numbers(values: Iterable[int]) -> None:
    for value in values:
        _number(value)


def _finite(value: float) -> None:
    if not abs(value) < NUMBERS:
        raise _wrong(f"{value} is no time")


def _names(*names: str) -> None:
    for name in names:
        if len(name) > NAME:
            raise _wrong(f"a name of {len(name)} characters is no name")


@lru_cache(4096)
def _span(span: Span | None) -> None:
    if span is not None and (min(span) < -1 or max(span) >= IDS or span[0] < 0):
        raise _wrong(f"{span} is no place in a file")


@lru_cache(4096)
def _shape(shape: tuple[int, ...]) -> None:
    if len(shape) > DIMENSIONS:
        raise _wrong(f"a tensor has {len(shape)} dimensions")
    count = 1
    for size in shape:
        if size < 0:
            raise _wrong(f"a tensor has the size {size}")
        count *= size or 1
    if count > NUMBERS:
        raise _wrong("a tensor is larger than any memory")


def _saved(saved_ones: tuple[Saved, ...]) -> None:
    for saved in saved_ones:
        if len(saved.name) + len(saved.dtype or "") > NAME:
            _names(saved.name, saved.dtype or "")
        if saved.tensor is not None:
            _ident(saved.tensor)
        if saved.bytes or saved.version or saved.storage:
            _numbers((saved.bytes, saved.version or 0, saved.storage or 0))
        if saved.shape:
            _shape(saved.shape)


def _datas(found: Datas) -> None:
    for data in found:
        if data is None:
            continue
        _shape(data.shape)
        if data.nan or data.inf:
            _numbers((data.nan, data.inf))
        if data.thumb_shape is not None:
            _shape(data.thumb_shape)
        if data.parts:
            if any(part.parts for part in data.parts):
                raise _wrong("a part of a value has parts")
            _datas(data.parts)


_CHECKS: dict[type, Callable[[Any, Any], None]] = {
    Header: Checker._take_header,
    File: Checker._take_file,
    Cell: Checker._take_cell,
    Ended: Checker._take_ended,
    Scope: Checker._take_scope,
    Named: Checker._take_named,
    Tensor: Checker._take_tensor,
    Op: Checker._take_op,
    Node: Checker._take_node,
    Rule: Checker._take_rule,
    Backward: Checker._take_backward,
    NodeStarted: Checker._take_started,
    NodeRan: Checker._take_ran,
    Grad: Checker._take_grad,
    Value: Checker._take_value,
    Freed: Checker._take_freed,
    Gone: Checker._take_gone,
    BackwardEnded: Checker._take_backward_ended,
    Fault: Checker._take_fault,
    Warn: Checker._take_warn,
}
