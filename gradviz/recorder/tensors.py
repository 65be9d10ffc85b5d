"""Which tensor is which: small ids for tensor objects and for the memory they share, without holding any of them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch

from gradviz.recorder.snapshot import Snapshots, device_text, dtype_text, is_wrapped, layout_text, missing, shape_of
from gradviz.recorder.source import Site
from gradviz.trace.events import Data, Event, Named, Span, Tensor, Value

_C: Any = torch._C
_address = _C._data_address
_PLAIN_DISPATCH = torch.Tensor.__torch_dispatch__
_unwrapped = _C._functorch.get_unwrapped


class Store:
    """One piece of memory: the tensors seen on it and who wrote to it last."""

    __slots__ = ("address", "blank", "entries", "id", "savers", "site")

    def __init__(self, ident: int, address: int) -> None:
        self.id = ident
        self.address = address
        self.entries: dict[int, Entry] = {}
        self.site: Site | None = None
        self.blank = False
        """Nothing was written to it yet (`torch.empty`): its bytes mean nothing and differ from run to run."""
        self.savers: dict[int, Any] = {}
        """Weak references to the tags of nodes that saved something here."""

    @property
    def has_leaf(self) -> bool:
        """A leaf stands on this memory: the program holds it, whatever nodes save."""
        return any(entry.is_leaf for entry in self.entries.values())


class Entry:
    """What is known of one live tensor object."""

    __slots__ = (
        "bad",
        "grad",
        "grad_known",
        "grad_of",
        "id",
        "is_leaf",
        "names",
        "node",
        "op",
        "output_nr",
        "reached",
        "ref",
        "requires_grad",
        "retains",
        "shape",
        "site",
        "stale",
        "store",
        "version",
        "warned",
    )

    def __init__(self, ident: int, ref: Any) -> None:
        self.id = ident
        self.ref = ref
        self.version: int | None = None
        self.store: Store | None = None
        self.node: int | None = None
        self.output_nr = 0
        self.is_leaf = True
        self.requires_grad = False
        self.retains = False
        self.stale = False
        self.names: set[str] | None = None
        self.grad: Data | None = None
        self.grad_known = False
        self.grad_of: Entry | None = None
        self.op: int | None = None
        self.site: Site | None = None
        self.shape: tuple[int, ...] = ()
        self.bad = 0
        """The worst that its content holds: see `warns.badness`."""
        self.reached = False
        """A pass has brought it a gradient."""
        self.warned = False


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
        entry = self.find(tensor)
        if entry is not None:
            return entry
        ref = _Ref(tensor, self._gone)
        ref.key = id(tensor)
        entry = Entry(self.count, ref)
        self.count += 1
        self.live[ref.key] = entry
        entry.op = op
        entry.site = site
        known_grad = self._grads.pop(ref.key, None)
        if known_grad is not None and known_grad[0]() is tensor:
            entry.grad_of = known_grad[1]
        self._place(entry, tensor)
        if entry.store is not None:
            self._blanks(entry.store, blank, made=op is not None)
        self._tell(entry, tensor, batch, op)
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
        self._place(entry, tensor)
        entry.stale = False
        self._tell(entry, tensor, batch, op)
        self.value(entry, tensor, batch)

    def value(self, entry: Entry, tensor: Any, batch: list[Event]) -> None:
        """Tell a tensor's content."""
        entry.version = _version(tensor)
        if self._snapshots.reads and not tensor.is_meta:
            blank = entry.store is not None and entry.store.blank
            data = missing(tensor, "uninitialised") if blank else self._snapshots.of(tensor)
            entry.bad = 2 if data.nan else 1 if data.inf else 0
            batch.append(Value(entry.id, data, entry.version))

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
        entry = self.find(tensor)
        if entry is not None:
            return entry, entry.store
        address = _storage_address(tensor)
        store = self.stores.get(address) if address else None
        if store is None:
            return None, None
        shape, count, start = shape_of(tensor), tensor.numel(), _address(tensor)
        similar = None
        for other in store.entries.values():
            held = other.ref()
            if held is not None and _address(held) == start and held.numel() == count:
                if other.shape == shape:
                    return other, store
                similar = similar or other
        return similar, store

    def _place(self, entry: Entry, tensor: Any) -> None:
        """Put an entry with the memory it stands on now."""
        address = _storage_address(tensor)
        store = entry.store
        if store is not None and store.address == address:
            return
        if store is not None:
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
        wrapped = is_wrapped(tensor)
        leaf = entry.is_leaf = bool(tensor.is_leaf)
        entry.requires_grad = bool(tensor.requires_grad)
        entry.version = _version(tensor)
        entry.shape = shape_of(tensor)
        entry.node, entry.output_nr = None, 0
        if not leaf:
            node = (
                _unwrapped(tensor).grad_fn
                if wrapped and _C._functorch.is_functorch_wrapped_tensor(tensor)
                else tensor.grad_fn
            )
            if node is not None:
                entry.node = self._walk(node, op, batch)
                entry.output_nr = int(tensor.output_nr)
        elif entry.requires_grad and not entry.grad_known:
            grad = tensor.grad
            entry.grad = None if grad is None else self._snapshots.of(grad)
            entry.grad_known = True
        base = None
        if not wrapped and tensor._is_view() and tensor._base is not None:
            base = self.see(tensor._base, batch).id
        kind = type(tensor)
        batch.append(
            Tensor(
                entry.id,
                entry.shape,
                dtype_text(tensor.dtype),
                device_text(tensor.device),
                layout_text(tensor.layout),
                "Tensor" if kind is torch.Tensor else kind.__name__,
                entry.requires_grad,
                leaf,
                entry.node,
                entry.output_nr,
                entry.op,
                base,
                -1 if entry.store is None else entry.store.id,
                entry.version,
                bool(tensor.is_inference()),
                entry.retains,
            )
        )


def _version(tensor: Any) -> int | None:
    return None if tensor.is_inference() else int(tensor._version)


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
