"""A pass and its nodes while they run: what has begun, what is done, and what is on its way between two nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from msgspec import Struct

from gradviz.recorder.arguments import PLAIN
from gradviz.recorder.nodes import Tag
from gradviz.recorder.snapshot import differs, fit
from gradviz.recorder.source import Site
from gradviz.recorder.tensors import Entry
from gradviz.trace.events import Data, Grad, NodeStarted

_C: Any = torch._C
_address = _C._data_address

Datas = tuple[Data | None, ...]


class Pass:
    """One call of the engine while it runs. Holds tags and ids, no node and no gradient."""

    __slots__ = (
        "arrived",
        "begun",
        "compiled",
        "create",
        "done",
        "handles",
        "held",
        "id",
        "keep",
        "last",
        "order",
        "raw",
        "site",
        "tags",
        "task",
        "wanted",
    )

    def __init__(self, ident: int, keep: bool, create: bool, site: Site | None) -> None:
        self.id = ident
        self.keep = keep
        self.create = create
        self.site = site
        self.task: int | None = None
        self.tags: dict[int, Tag] = {}
        """All nodes that the roots reach."""
        self.order: list[int] = []
        self.done: set[int] = set()
        self.begun: dict[int, Begun] = {}
        self.last: Tag | None = None
        self.handles: list[Any] = []
        self.raw: Any = None
        """Called with what a node's function returned, before the program's hooks on it."""
        self.compiled: set[int] = set()
        self.held: list[Any] = []
        """AccumulateGrad nodes of roots that are leaves: nothing else keeps the very node that was looked at."""
        self.arrived: dict[tuple[int | None, int], list[Arrived | None]] = {}
        """What was handed on to each input of a node that has not run yet."""
        self.wanted: list[tuple[Entry | None, tuple[int, ...]]] = []

    @property
    def failing(self) -> Tag | None:
        """The node that began and is not done, else the next of the plan."""
        if self.begun:
            return self.tags.get(next(reversed(self.begun)))
        return next((self.tags[n] for n in self.order if n not in self.done), None)

    def enter(self, tag: Tag, begun: list[NodeStarted]) -> Begun:
        """A node is running: something happens inside it."""
        known = self.begun.get(tag.id)
        if known is None:
            known = Begun(NodeStarted(self.id, tag.id))
            if tag.id not in self.done:
                self.begun[tag.id] = known
                begun.append(known.event)
        return known


class Arrived(Struct, gc=False):
    """A gradient on its way from one node to the next: the object, not held, and what it held."""

    ref: Any
    version: int | None
    data: Data


class Begun(Struct, gc=False, eq=False):
    """A node that runs now, or inside which something has happened."""

    event: NodeStarted
    gin: Datas | None = None
    gin_before: Datas | None = None
    raw: Datas | None = None
    """What the function returned, before the program's hooks on the node."""
    before: Data | None = None
    version: int | None = None
    """Of the gradient given to a leaf, when it was looked at."""
    mid: list[Data | None] | None = None
    handle: Any = None
    retained: list[Grad] = []


def known(grad: Any, others: Sequence[Any], datas: Sequence[Data | None]) -> Data | None:
    """The content of a gradient that is one of those already read."""
    for other, data in zip(others, datas, strict=False):
        if other is grad:
            return data
    return None


def is_taken(begun: Begun, grad: Any, given: Any) -> bool:
    """The engine made the gradient that it gave a leaf the leaf's own, and nothing has written to it since it was
    looked at: it stands on the same memory, with the same version counter."""
    version = begun.version
    if version is None or begun.raw is not None or type(grad) not in PLAIN or type(given) not in PLAIN:
        return False
    return grad is given or (
        not grad.is_inference()
        and version == grad._version == given._version
        and grad.layout is given.layout is torch.strided
        and grad.dtype is given.dtype
        and grad.shape == given.shape
        and grad.stride() == given.stride()
        and grad.is_neg() == given.is_neg()
        and grad.is_conj() == given.is_conj()
        and 0 != _address(grad) == _address(given)
    )


def fitted(
    gin: Datas, gout: Datas, before: Datas | None, raw: Datas | None
) -> tuple[Datas, Datas, Datas | None, Datas | None]:
    """The four parts of one run, made to fit into one event together."""
    items = fit((*gin, *gout, *(before or ()), *(raw or ())))
    first, second = len(gin), len(gin) + len(gout)
    third = second + len(before or ())
    return (
        items[:first],
        items[first:second],
        items[second:third] if before is not None else None,
        items[third:] if raw is not None else None,
    )


def any_differs(before: Datas, after: Datas) -> bool:
    """A hook changed one of these gradients."""
    return any(
        was is not now and (was is None or now is None or differs(was, now))
        for was, now in zip(before, after, strict=False)
    )
