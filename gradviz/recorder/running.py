"""A pass and its nodes while they run: what has begun, what is done, and what is on its way between two nodes."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from gradviz.recorder.nodes import Tag
from gradviz.recorder.source import Site
from gradviz.recorder.tensors import Entry
from gradviz.trace.events import Data, Grad, NodeStarted

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
    mid: list[Data | None] | None = None
    handle: Any = None
    retained: list[Grad] = []
