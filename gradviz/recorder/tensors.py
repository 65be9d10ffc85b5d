"""Which tensor is which: small ids for tensor objects and for the memory they share, without holding any of them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from msgspec import Struct

from gradviz.recorder.arguments import PLAIN
from gradviz.recorder.snapshot import (
    DEVICES,
    DTYPES,
    Snapshots,
    device_text,
    dtype_text,
    is_wrapped,
    layout_text,
    missing,
    shape_of,
)
from gradviz.recorder.source import Site
from gradviz.trace.events import Data, Event, Named, Span, Tensor, Value

_C: Any = torch._C
_address = _C._data_address
_PLAIN_DISPATCH = torch.Tensor.__torch_dispatch__
_is_wrapped = _C._functorch.is_functorch_wrapped_tensor
_is_batched = _C._functorch.is_legacy_batchedtensor
_unwrapped = _C._functorch.get_unwrapped


class Store(Struct, gc=False, eq=False):
    """One piece of memory: the tensors seen on it and who wrote to it last."""

    id: int
    address: int
    entries: dict[int, Entry] = {}
    site: Site | None = None
    blank: bool = False
    """Nothing was written to it yet (`torch.empty`): its bytes mean nothing and differ from run to run."""
    savers: set[int] = set()
    """Ids of the nodes that saved something here and have not let it go."""

    @property
    def has_leaf(self) -> bool:
        """A leaf stands on this memory: the program holds it, whatever nodes save."""
        return any(entry.is_leaf for entry in self.entries.values())


class Entry(Struct, gc=False, eq=False):
    """What is known of one live tensor object. No two entries refer to each other once their tensors are gone, so the
    collector need not look at them."""

    id: int
    ref: Any
    op: int | None = None
    site: Site | None = None
    version: int | None = None
    store: Store | None = None
    node: int | None = None
    output_nr: int = 0
    is_leaf: bool = True
    requires_grad: bool = False
    retains: bool = False
    stale: bool = False
    names: set[str] | None = None
    grad: Data | None = None
    grad_known: bool = False
    grad_of: Entry | None = None
    shape: tuple[int, ...] = ()
    bad: int = 0
    """The worst that its content holds: see `warns.badness`."""
    reached: bool = False
    """A pass has brought it a gradient."""
    warned: bool = False
    wrapped: bool = False
    """A functorch level stands around it."""
    start: int = 0
    """Where its bytes begin; 0: not known."""
    dense: bool = False
    """Of a plain type, on a CPU: its bytes may be read straight from memory."""


class _Ref(weakref.ref):  # type: ignore[type-arg]
    __slots__ = ("key",)
    key: int


class Tensors:
    """The table of live tensors. Every method is to be called with torch functions disabled and the journal locked.

    Args:
        snapshots: reads content.
        walk: gives the id of a node, telling of it and all below it that are new: (node, op, events to append to).
    """

    def __init__(self, snapshots: Snapshots, walk: Callable[[Any, int | None, list[Event]], int]) -> None:
        self.live: dict[int, Entry] = {}
        self.stores: dict[int, Store] = {}
        self.count = 0
        self._store_count = 0
        self._snapshots = snapshots
        self._walk = walk
        self._grads: dict[int, tuple[Any, Entry]] = {}
        self._blank: set[int] = set()
        self.bound: dict[str, int] = {}
        """What each name meant last."""
        live, stores = self.live, self.stores

        def gone(ref: _Ref) -> None:
            entry = live.get(ref.key)
            if entry is not None and entry.ref is ref:
                del live[ref.key]
                store = entry.store
                if store is not None:
                    store.entries.pop(entry.id, None)
                    if not store.entries and stores.get(store.address) is store:
                        del stores[store.address]

        self._gone = gone

    def find(self, tensor: Any) -> Entry | None:
        """The entry of a tensor that was seen, else None."""
        entry = self.live.get(id(tensor))
        return entry if entry is not None and entry.ref() is tensor else None

    def see(
        self, tensor: Any, batch: list[Event], op: int | None = None, site: Site | None = None, *, blank: bool = False
    ) -> Entry:
        """The entry of a tensor; tells of it where it is new. `op` made it, `blank` without writing to it."""
        key = id(tensor)
        entry = self.live.get(key)
        if entry is not None and entry.ref() is tensor:
            return entry
        ref = _Ref(tensor, self._gone)
        ref.key = key
        entry = self.live[key] = Entry(self.count, ref, op, site)
        self.count += 1
        if self._grads:
            known_grad = self._grads.pop(key, None)
            if known_grad is not None and known_grad[0]() is tensor:
                entry.grad_of = known_grad[1]
        self._tell(entry, tensor, batch, op)
        store = entry.store
        if store is not None and (blank or self._blank):
            self._blanks(store, blank, made=op is not None)
        self.value(entry, tensor, batch)
        return entry

    def _blanks(self, store: Store, blank: bool, *, made: bool) -> None:
        """Mark memory that nothing was written to. A parameter stands on that of an `empty` tensor which is gone by the
        time it is seen, so the address is remembered, until an operation makes something there or writes to it."""
        if blank:
            store.blank = True
            self._blank.add(store.address)
        elif store.address in self._blank:
            if made and len(store.entries) == 1:
                self._blank.discard(store.address)
            else:
                store.blank = True

    def written(self, entry: Entry, site: Site | None) -> None:
        """Something wrote to a tensor's memory."""
        if entry.store is not None:
            entry.store.site, entry.store.blank = site, False
            self._blank.discard(entry.store.address)

    def again(self, entry: Entry, tensor: Any, batch: list[Event], op: int | None = None) -> None:
        """Tell anew what has changed of a tensor, its content included."""
        entry.stale = False
        self._tell(entry, tensor, batch, op)
        self.value(entry, tensor, batch)

    def value(self, entry: Entry, tensor: Any, batch: list[Event]) -> None:
        """Tell a tensor's content."""
        version = entry.version = None if entry.version is None else tensor._version
        snapshots = self._snapshots
        if not snapshots.reads:
            return
        store = entry.store
        if store is not None and store.blank:
            batch.append(Value(entry.id, missing(tensor, "uninitialised"), version))
            return
        if entry.dense:
            data = snapshots.quick(tensor)
            if data is not None:
                entry.bad = 0
                batch.append(Value(entry.id, data, version))
                return
        if not tensor.is_meta:
            data = snapshots.of(tensor)
            entry.bad = 2 if data.nan else 1 if data.inf else 0
            batch.append(Value(entry.id, data, version))

    def node_again(self, entry: Entry, tensor: Any, batch: list[Event], op: int | None) -> None:
        """A view whose base was written to has been given a new node: tell it."""
        entry.stale = False
        self._tell(entry, tensor, batch, op)

    def name(self, entry: Entry, name: str, span: Span | None, batch: list[Event]) -> None:
        """A name was bound; told each time, since the same name may have meant another tensor in between."""
        if entry.names is None:
            entry.names = set()
        entry.names.add(name)
        self.bound[name] = entry.id
        batch.append(Named(entry.id, name, span))

    def is_grad_of(self, grad: Any, leaf: Entry) -> None:
        """Remember that `grad` is the `.grad` of a tensor."""
        entry = self.find(grad)
        if entry is not None:
            entry.grad_of = leaf
            return
        key, table = id(grad), self._grads

        def forget(ref: Any) -> None:
            hit = table.get(key)
            if hit is not None and hit[0] is ref:
                del table[key]

        self._grads[key] = weakref.ref(grad, forget), leaf

    def aliases(self, entry: Entry) -> Iterator[tuple[Entry, Any]]:
        """The other live tensors on the same memory."""
        if entry.store is not None:
            for other in list(entry.store.entries.values()):
                tensor = other.ref()
                if other is not entry and tensor is not None:
                    yield other, tensor

    def holder(self, tensor: Any) -> tuple[Entry | None, Store | None]:
        """The entry that shows this content: the object, or a live tensor that begins at the same address and has as
        many elements (of the same shape, if there is one)."""
        entry = self.live.get(id(tensor))
        if entry is not None and entry.ref() is tensor:
            return entry, entry.store
        address = _storage_address(tensor)
        store = self.stores.get(address) if address else None
        if store is None:
            return None, None
        shape, count, start = shape_of(tensor), tensor.numel(), _address(tensor)
        similar = None
        for other in store.entries.values():
            held = other.ref() if other.start == start else None
            if held is not None and held.numel() == count:
                if other.shape == shape:
                    return other, store
                similar = similar or other
        return similar, store

    def _place(self, entry: Entry, address: int) -> None:
        """Put an entry with the memory it stands on now; 0: none that is known."""
        store = entry.store
        if store is not None:
            if store.address == address:
                return
            store.entries.pop(entry.id, None)
        entry.store = None
        if address:
            store = self.stores.get(address)
            if store is None:
                store = self.stores[address] = Store(self._store_count, address)
                self._store_count += 1
            store.entries[entry.id] = entry
            entry.store = store

    def _tell(self, entry: Entry, tensor: Any, batch: list[Event], op: int | None) -> None:
        """One `Tensor` event; of nodes that are new, before it."""
        kind = type(tensor)
        wrapped = entry.wrapped = _is_wrapped(tensor) or _is_batched(tensor)
        layout, device, dtype = tensor.layout, tensor.device, tensor.dtype
        device = DEVICES.get(device) or device_text(device)
        dense = kind in PLAIN and layout is torch.strided and not wrapped and not tensor.is_nested and device != "meta"
        inference = tensor.is_inference()
        entry.dense = dense and device == "cpu"
        if dense:
            start, offset = _address(tensor), tensor.storage_offset()
            entry.start = start
            self._place(entry, start - offset * tensor.element_size() if offset and start else start)
            entry.shape = tuple(tensor.shape)
        else:
            entry.start = 0
            self._place(entry, 0 if wrapped else _storage_address(tensor))
            entry.shape = shape_of(tensor)
        leaf = entry.is_leaf = tensor.is_leaf
        entry.requires_grad = tensor.requires_grad
        entry.version = None if inference else tensor._version
        entry.node, entry.output_nr = None, 0
        if not leaf:
            node = _unwrapped(tensor).grad_fn if wrapped and _is_wrapped(tensor) else tensor.grad_fn
            if node is not None:
                entry.node = self._walk(node, op, batch)
                entry.output_nr = tensor.output_nr
        elif entry.requires_grad and not entry.grad_known:
            grad = tensor.grad
            entry.grad = None if grad is None else self._snapshots.of(grad)
            entry.grad_known = True
        base = None
        if not wrapped and tensor._is_view() and tensor._base is not None:
            base = self.see(tensor._base, batch).id
        store = entry.store
        batch.append(
            Tensor(
                entry.id,
                entry.shape,
                DTYPES.get(dtype) or dtype_text(dtype),
                device,
                "strided" if layout is torch.strided else layout_text(layout),
                "Tensor" if kind is torch.Tensor else kind.__name__,
                entry.requires_grad,
                leaf,
                entry.node,
                entry.output_nr,
                entry.op,
                base,
                -1 if store is None else store.id,
                entry.version,
                inference,
                entry.retains,
                None if entry.grad_of is None else entry.grad_of.id,
            )
        )


def _storage_address(tensor: Any) -> int:
    """Where the memory of a dense tensor begins; 0 where that has no meaning. `untyped_storage()` and `data_ptr()` are
    not asked: the first makes the engine accumulate out of place, the second copies what is copied on write."""
    try:
        if (
            tensor.layout is not torch.strided
            or tensor.is_nested
            or is_wrapped(tensor)
            or type(tensor).__torch_dispatch__ is not _PLAIN_DISPATCH
            or tensor.is_meta
        ):
            return 0
        start = int(_address(tensor))
        return start - int(tensor.storage_offset()) * int(tensor.element_size()) if start else 0
    except (RuntimeError, NotImplementedError):
        return 0
