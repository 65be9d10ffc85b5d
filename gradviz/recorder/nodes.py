"""The nodes of the graph: found by walking from outputs, told apart by a tag in `node.metadata`, never held."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from gradviz.recorder.snapshot import dtype_text, is_wrapped, shape_of
from gradviz.recorder.source import Site
from gradviz.trace.events import Event, Node, Saved

if TYPE_CHECKING:
    from gradviz.recorder.tensors import Entry, Store, Tensors

_C: Any = torch._C
KEY = "gradviz"
LAST = 2**64 - 1
"""The sequence number of every AccumulateGrad."""
_Edges = tuple[tuple[int | None, int], ...]


class Tag:
    """Stands in a node's metadata and so lives exactly as long; its end is how the recorder learns of the node's."""

    __slots__ = (
        "__weakref__",
        "custom",
        "edges",
        "freed",
        "gone",
        "id",
        "leaf",
        "name",
        "op",
        "owner",
        "retained",
        "saved",
        "seq",
        "site",
        "size",
        "within",
    )

    def __init__(self, owner: object, ident: int, name: str, seq: int, gone: list[int]) -> None:
        self.owner = owner
        self.id = ident
        self.name = name
        self.seq = seq
        self.gone = gone
        self.edges: _Edges = ()
        self.leaf: Entry | None = None
        self.saved: tuple[tuple[str, Entry | None, Store | None, int | None], ...] = ()
        self.size: int | None = None
        """Bytes saved; None where the node saves no tensor, so that freeing it means nothing."""
        self.freed: int | None = None
        """The pass that let go what was saved."""
        self.retained: list[Entry] | None = None
        self.custom = False
        self.op: int | None = None
        self.site: Site | None = None
        self.within: int | None = None

    def __del__(self) -> None:
        self.gone.append(self.id)


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
        self._attributes: dict[type, tuple[list[tuple[str, str]], list[tuple[str, str]]]] = {}
        self._key = object()

    def tag(self, node: Any) -> Tag | None:
        """The tag of a node that was seen."""
        tag = node.metadata.get(KEY)
        return tag if tag is not None and tag.owner is self._key else None

    def walk(self, node: Any, op: int | None, batch: list[Event]) -> int:
        """The id of a node. It and all below it that are new are told, oldest first."""
        tag = self.tag(node)
        if tag is not None:
            return tag.id
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
        if len(found) > 1:
            found.sort(key=lambda item: item[:2])
        tags = [self._mark(current, seq, op) for seq, _, current, _ in found]
        for (_, _, current, nexts), new in zip(found, tags, strict=True):
            self._tell(current, nexts, new, batch)
        own = self.tag(node)
        assert own is not None
        return own.id

    def _mark(self, node: Any, seq: int, op: int | None) -> Tag:
        name = node.name().rpartition("::")[2]
        tag = Tag(self._key, self.count, name, LAST if seq < 0 else seq, self._gone)
        self.count += 1
        if seq >= self.since:
            tag.op = op
        elif seq >= 0 and op is not None:
            self.older = True
        tag.site = self.site
        tag.within = self.within
        node.metadata[KEY] = tag
        return tag

    def _tell(self, node: Any, nexts: Any, tag: Tag, batch: list[Event]) -> None:
        edges: list[tuple[int | None, int]] = []
        for below, number in nexts:
            if below is None:
                edges.append((None, 0))
            else:
                edges.append((below.metadata[KEY].id, number))
        tag.edges = tuple(edges)
        saved: tuple[Saved, ...] = ()
        custom = None
        accumulates = tag.seq == LAST and not nexts and hasattr(node, "variable")
        if accumulates:
            tag.leaf = self.tensors.see(node.variable, batch)
        else:
            saved = self._saved(node, tag)
            if isinstance(node, _C._FunctionBase):
                cls = getattr(type(node), "_forward_cls", type(node))
                custom = f"{cls.__module__}.{cls.__qualname__}"
                tag.custom = True
        self._on_name(tag.name, batch)
        batch.append(
            Node(
                tag.id,
                tag.name,
                tag.edges,
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

    def _saved(self, node: Any, tag: Tag) -> tuple[Saved, ...]:
        """What a node keeps. Only raw fields are read: the others run the user's unpack hooks and check versions."""
        attributes = self._attributes.get(type(node))
        if attributes is None:
            attributes = self._attributes[type(node)] = _attributes(node)
        raw, scalars = attributes
        told: list[Saved] = []
        kept: list[tuple[str, Entry | None, Store | None, int | None]] = []
        for name, attribute in raw:
            value = _get(node, attribute)
            if value is None:
                continue
            if isinstance(value, tuple | list):
                for i, item in enumerate(value):
                    self._keep(tag, f"{name}[{i}]", item, told, kept)
            else:
                self._keep(tag, name, value, told, kept)
        for name, attribute in scalars:
            value = _get(node, attribute)
            if value is not None and not isinstance(value, torch.Tensor):
                told.append(Saved(name, "scalar", text=_scalar(value)))
        tag.saved = tuple(kept)
        if any(item.kind in ("tensor", "packed") for item in told):
            tag.size = sum(item.bytes for item in told)
        return tuple(told)

    def _keep(self, tag: Tag, name: str, item: Any, told: list[Saved], kept: list[Any]) -> None:
        if item.unpack_hook is not None:
            told.append(Saved(name, "packed"))
            return
        tensor = item.data
        if tensor is None:
            told.append(Saved(name, "none"))
            return
        entry, store = self.tensors.holder(tensor)
        version = None if tensor.is_inference() else int(tensor._version)
        size = 0 if is_wrapped(tensor) or tensor.is_nested else tensor.numel() * tensor.element_size()
        kept.append((name, entry, store, version))
        if store is not None:
            store.savers[tag.id] = weakref.ref(tag)
        leaf = entry.is_leaf if entry is not None else store is not None and store.has_leaf
        told.append(
            Saved(
                name,
                "tensor",
                None if entry is None else entry.id,
                version,
                shape_of(tensor),
                dtype_text(tensor.dtype),
                0 if leaf else size,
                None if leaf or store is None else store.id,
            )
        )


def _attributes(node: Any) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Names of what a type of node saves: (name, raw attribute) of tensors, (name, attribute) of the rest."""
    names = [n for n in dir(node) if n.startswith(("_raw_saved_", "_saved_"))]
    raw = [n.removeprefix("_raw_saved_") for n in names if n.startswith("_raw_saved_")]
    rest = [n.removeprefix("_saved_") for n in names if n.startswith("_saved_")]
    return [(n, "_raw_saved_" + n) for n in raw], [(n, "_saved_" + n) for n in rest if n not in raw]


def _get(node: Any, attribute: str) -> Any:
    try:
        return getattr(node, attribute)
    except (RuntimeError, AttributeError):
        return None


def _scalar(value: Any) -> str:
    if isinstance(value, int) and value >= 1 << 63:
        value -= 1 << 64  # negative dimensions come back unsigned
    elif isinstance(value, tuple):
        value = tuple(v - (1 << 64) if isinstance(v, int) and v >= 1 << 63 else v for v in value)
    return str(value)[:200]


def _inputs(node: Any) -> tuple[tuple[tuple[int, ...], str], ...]:
    try:
        return tuple(
            [
                (() if m.is_nested_tensor else tuple(map(int, m.shape)), dtype_text(m.dtype))
                for m in node._input_metadata
            ]
        )
    except (RuntimeError, AttributeError, TypeError):
        return ()
