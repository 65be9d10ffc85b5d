"""The nodes of the graph: found by walking from outputs, told apart by a tag in `node.metadata`, never held."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from msgspec import Struct

from gradviz.recorder.arguments import PLAIN
from gradviz.recorder.snapshot import DTYPES, dtype_text, is_wrapped, shape_of
from gradviz.recorder.source import Site
from gradviz.trace.events import Event, Node, Saved

if TYPE_CHECKING:
    from gradviz.recorder.tensors import Entry, Store, Tensors

_C: Any = torch._C
KEY = "gradviz"
LAST = 2**64 - 1
"""The sequence number of every AccumulateGrad."""
_MOST = 1_000
_Edges = tuple[tuple[int | None, int], ...]


class _Type(Struct, gc=False):
    """What is the same for all nodes of one type: the names of what they save. Without a name of its own (None), the
    type stands for several kinds of node."""

    name: str | None
    raw: list[tuple[str, str]]
    rest: list[tuple[str, str]]
    custom: bool
    known: dict[bytes | None, tuple[Saved, ...]] = {}
    """Those of `rest` that were told, by their values."""


class Tag(Struct, gc=False, eq=False):
    """Stands in a node's metadata and so lives exactly as long; its end is how the recorder learns of the node's."""

    owner: object
    id: int
    name: str
    seq: int
    gone: list[int]
    kind: _Type
    op: int | None = None
    site: Site | None = None
    within: int | None = None
    edges: _Edges = ()
    leaf: Entry | None = None
    saved: tuple[tuple[str, Entry | None, Store | None, int | None], ...] = ()
    size: int | None = None
    """Bytes saved; None where the node saves no tensor, so that freeing it means nothing."""
    freed: int | None = None
    """The pass that let go what was saved."""
    retained: list[Entry] | None = None
    custom: bool = False
    hooked: bool = False
    """The program has a hook on a tensor that this node made."""
    python: bool = False
    """Python code may run inside it: a Function of the program's, or a saved-tensor hook."""

    def __del__(self) -> None:
        self.gone.append(self.id)
        for _, _, store, _ in self.saved:
            if store is not None:
                store.savers.discard(self.id)


class Nodes:
    """Numbers nodes and tells of those that are new. Called with torch functions disabled and the journal locked."""

    def __init__(self, gone: list[int], on_name: Callable[[str, list[Event]], None]) -> None:
        self.count = 0
        self.tensors: Tensors
        self.site: Site | None = None
        """The site of the operation at hand."""
        self.since = 0
        self.older = False
        """A node was found that is older than the operation at hand: what made it was not seen."""
        self.within: int | None = None
        self.parent: int | None = None
        self._gone = gone
        self._on_name = on_name
        self._types: dict[type, _Type] = {}
        self._named: set[str] = set()
        self._key = object()

    def tag(self, node: Any) -> Tag | None:
        """The tag of a node that was seen."""
        tag: Tag | None = node.metadata.get(KEY)
        return tag if tag is not None and tag.owner is self._key else None

    def walk(self, node: Any, op: int | None, batch: list[Event]) -> int:
        """The id of a node. It and all below it that are new are told, oldest first."""
        key = self._key
        tag = node.metadata.get(KEY)
        if tag is not None and tag.owner is key:
            return int(tag.id)
        edges: list[tuple[int | None, int]] = []
        for below, number in node.next_functions:
            if below is None:
                edges.append((None, 0))
                continue
            tag = below.metadata.get(KEY)
            if tag is None or tag.owner is not key:
                return self._walk(node, op, batch)
            edges.append((tag.id, number))
        seq = node._sequence_nr()
        new = self._mark(node, -1 if seq == LAST else seq, op)
        self._tell(node, tuple(edges), new, batch)
        return new.id

    def _walk(self, node: Any, op: int | None, batch: list[Event]) -> int:
        """As `walk` where more than the node itself is new."""
        found: list[tuple[int, int, Any, Any]] = []
        stack, seen = [node], set()
        while stack:
            current = stack.pop()
            if current in seen or self.tag(current) is not None:
                continue
            seen.add(current)
            nexts = current.next_functions
            seq = current._sequence_nr()
            found.append((-1 if seq == LAST else seq, -len(found), current, nexts))
            stack += [n for n, _ in nexts if n is not None]
        found.sort(key=_age)
        tags = [self._mark(current, seq, op) for seq, _, current, _ in found]
        for (_, _, current, nexts), new in zip(found, tags, strict=True):
            edges = tuple([(None, 0) if n is None else (n.metadata[KEY].id, i) for n, i in nexts])
            self._tell(current, edges, new, batch)
        return int(node.metadata[KEY].id)

    def _mark(self, node: Any, seq: int, op: int | None) -> Tag:
        kind = self._types.get(type(node)) or self._type(node)
        name = kind.name or node.name().rpartition("::")[2]
        made = op if seq >= self.since else None
        if made is None and seq >= 0 and op is not None:
            self.older = True
        tag = Tag(self._key, self.count, name, LAST if seq < 0 else seq, self._gone, kind, made, self.site, self.within)
        self.count += 1
        node.metadata[KEY] = tag
        return tag

    def _tell(self, node: Any, edges: _Edges, tag: Tag, batch: list[Event]) -> None:
        tag.edges = edges
        saved: tuple[Saved, ...] = ()
        custom = None
        kind = tag.kind
        accumulates = tag.seq == LAST and not edges and hasattr(node, "variable")
        if accumulates:
            tag.leaf = self.tensors.see(node.variable, batch)
        else:
            if kind.raw or kind.rest:
                saved = self._saved(node, tag, kind)
            if kind.custom:
                cls = getattr(type(node), "_forward_cls", type(node))
                custom = f"{cls.__module__}.{cls.__qualname__}"
                tag.custom = tag.python = True
        if tag.name not in self._named:
            self._named.add(tag.name)
            self._on_name(tag.name, batch)
        batch.append(
            Node(
                tag.id,
                tag.name,
                edges,
                _inputs(node),
                None if accumulates else tag.seq,
                tag.op,
                None if tag.leaf is None else tag.leaf.id,
                saved,
                None if accumulates else self.parent,
                self.within,
                custom,
            )
        )

    def _type(self, node: Any) -> _Type:
        name = node.name().rpartition("::")[2]
        own = name if type(node).__name__ == name else None
        kind = self._types[type(node)] = _Type(own, *_attributes(node), isinstance(node, _C._FunctionBase))
        return kind

    def _saved(self, node: Any, tag: Tag, kind: _Type) -> tuple[Saved, ...]:
        """What a node keeps. Only raw fields are read: the others run the user's unpack hooks and check versions."""
        told: list[Saved] = []
        kept: list[tuple[str, Entry | None, Store | None, int | None]] = []
        for name, attribute in kind.raw:
            try:
                value = getattr(node, attribute)
            except (RuntimeError, AttributeError):
                continue
            if isinstance(value, tuple | list):
                for i, item in enumerate(value):
                    self._keep(tag, f"{name}[{i}]", item, told, kept)
            elif value is not None:
                self._keep(tag, name, value, told, kept)
        if kind.rest:
            told += self._rest(node, kind)
        if kept or tag.python:
            tag.saved = tuple(kept)
            tag.size = sum([item.bytes for item in told])
        return tuple(told)

    def _keep(self, tag: Tag, name: str, item: Any, told: list[Saved], kept: list[Any]) -> None:
        if item.unpack_hook is not None:
            told.append(Saved(name, "packed"))
            tag.python = True
            return
        tensor = item.data
        if tensor is None:
            told.append(Saved(name, "none"))
            return
        entry, store = self.tensors.holder(tensor)
        dtype = tensor.dtype
        version = None if tensor.is_inference() else tensor._version
        if store is not None and type(tensor) in PLAIN:  # then it is dense
            shape = tuple(tensor.shape)
            size = tensor.numel() * tensor.element_size()
        else:
            shape = shape_of(tensor)
            size = 0 if is_wrapped(tensor) or tensor.is_nested else tensor.numel() * tensor.element_size()
        kept.append((name, entry, store, version))
        if store is not None:
            store.savers.add(tag.id)
        leaf = entry.is_leaf if entry is not None else store is not None and store.has_leaf
        told.append(
            Saved(
                name,
                "tensor",
                None if entry is None else entry.id,
                version,
                shape,
                DTYPES.get(dtype) or dtype_text(dtype),
                0 if leaf else size,
                None if leaf or store is None else store.id,
            )
        )

    def _rest(self, node: Any, kind: _Type) -> tuple[Saved, ...]:
        """What a node keeps that is no tensor. Sizes, dimensions and factors come again and again: those that were told
        before, by their exact bytes, are told by the same objects."""
        values: list[Any] = []
        for _, attribute in kind.rest:
            try:
                values.append(getattr(node, attribute))
            except (RuntimeError, AttributeError):
                values.append(None)
        try:
            key = marshal.dumps(values)
        except ValueError:
            key = None
        known = kind.known.get(key)
        if known is None:
            known = tuple(
                [
                    Saved(name, "scalar", text=_scalar(value))
                    for (name, _), value in zip(kind.rest, values, strict=True)
                    if value is not None and not isinstance(value, torch.Tensor)
                ]
            )
            if key is not None and len(kind.known) < _MOST:
                kind.known[key] = known
        return known


def _age(item: tuple[int, int, Any, Any]) -> tuple[int, int]:
    return item[:2]


def _attributes(node: Any) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Names of what a type of node saves: (name, raw attribute) of tensors, (name, attribute) of the rest."""
    names = [n for n in dir(node) if n.startswith(("_raw_saved_", "_saved_"))]
    raw = [n.removeprefix("_raw_saved_") for n in names if n.startswith("_raw_saved_")]
    rest = [n.removeprefix("_saved_") for n in names if n.startswith("_saved_")]
    return [(n, "_raw_saved_" + n) for n in raw], [(n, "_saved_" + n) for n in rest if n not in raw]


def _scalar(value: Any) -> str:
    if isinstance(value, int) and value >= 1 << 63:
        value -= 1 << 64  # negative dimensions come back unsigned
    elif isinstance(value, tuple):
        value = tuple(v - (1 << 64) if isinstance(v, int) and v >= 1 << 63 else v for v in value)
    return str(value)[:200]


def _inputs(node: Any) -> tuple[tuple[tuple[int, ...], str], ...]:
    try:
        found = []
        for m in node._input_metadata:
            dtype = m.dtype
            found.append((() if m.is_nested_tensor else tuple(m.shape), DTYPES.get(dtype) or dtype_text(dtype)))
        return tuple(found)
    except (RuntimeError, AttributeError, TypeError):
        return ()
