"""Tensor content to `Data`: a copy taken at once, so that nothing is held. Statistics always, bytes up to a limit.

The bytes of a small dense CPU tensor are copied straight from its memory, and its statistics are worked out later,
those of many tensors in one go: `Snapshots.measure`, which the journal calls before it packs what is pending.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from msgspec.structs import force_setattr, replace

from gradviz.recorder.arguments import PLAIN
from gradviz.recorder.blocks import statistics, thumbnail
from gradviz.trace.events import Data

_C: Any = torch._C
_address = _C._data_address
_dispatch_modes = _C._len_torch_dispatch_stack
_transforms_active = _C._are_functorch_transforms_active
_is_wrapped = _C._functorch.is_functorch_wrapped_tensor
_is_batched = _C._functorch.is_legacy_batchedtensor
_PLAIN_DISPATCH = torch.Tensor.__torch_dispatch__

BYTES_LIMIT = 12 << 20
"""Largest content kept of one tensor: an event has to fit into one frame, and no frame holds more than 16 MiB."""
ROOM = 14 << 20
"""For the bytes of all contents that one event carries."""
_FEW = 32
_INTEGERS = 1 << 18

_NUMPY = {
    torch.float64: "<f8",
    torch.float32: "<f4",
    torch.float16: "<f2",
    torch.complex128: "<c16",
    torch.complex64: "<c8",
    torch.int64: "<i8",
    torch.int32: "<i4",
    torch.int16: "<i2",
    torch.int8: "i1",
    torch.uint8: "u1",
    torch.bool: "?",
    torch.uint16: "<u2",
    torch.uint32: "<u4",
    torch.uint64: "<u8",
}
_QUICK: dict[Any, tuple[Any, int, bool, str]] = {
    torch.float32: (np.dtype("<f4"), 4, True, "float32"),
    torch.float64: (np.dtype("<f8"), 8, True, "float64"),
    torch.int64: (np.dtype("<i8"), 8, False, "int64"),
    torch.int32: (np.dtype("<i4"), 4, False, "int32"),
    torch.bool: (np.dtype("?"), 1, False, "bool"),
}
"""Types that are read straight from memory: numpy's type, bytes of an element, whether it can be NaN, its text."""
_MANY = 4096
_copy = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)(
    ("PyBytes_FromStringAndSize", ctypes.pythonapi)
)
_least, _greatest, _add = np.minimum, np.maximum, np.add
_array = np.frombuffer
_square = np.vdot
"""Unlike `dot` it never warns of what is too large: the program's warnings are its own."""
_silent = np.errstate(all="ignore")
_SUMMED = {"float32": "<f4", "float64": "<f8", "complex64": "<c8", "complex128": "<c16"}
_BITS = {1: torch.uint8, 2: torch.int16}
DTYPES: dict[Any, str] = {}
DEVICES: dict[Any, str] = {}
_LAYOUT_TEXT: dict[Any, str] = {torch.strided: "strided"}


def dtype_text(dtype: torch.dtype) -> str:
    """ "float32", without the module."""
    text = DTYPES.get(dtype)
    if text is None:
        text = DTYPES[dtype] = str(dtype).rpartition(".")[2]
    return text


def device_text(device: torch.device) -> str:
    """ "cpu", "cuda:0"."""
    text = DEVICES.get(device)
    if text is None:
        text = DEVICES[device] = str(device)
    return text


def layout_text(layout: torch.layout) -> str:
    """ "strided", "sparse_coo"."""
    text = _LAYOUT_TEXT.get(layout)
    if text is None:
        text = _LAYOUT_TEXT[layout] = str(layout).rpartition(".")[2]
    return text


def is_wrapped(tensor: Any) -> bool:
    """A functorch level stands around this tensor: it has no content of its own."""
    return bool(_is_wrapped(tensor) or _is_batched(tensor))


def shape_of(tensor: Any) -> tuple[int, ...]:
    """The shape as plain integers; () for nested tensors, which have none."""
    return () if tensor.is_nested else tuple(map(int, tensor.shape))


class Snapshots:
    """Makes `Data` of tensors. Call with torch functions disabled.

    Args:
        mode: "auto" keeps the bytes of tensors with at most `limit` elements, "all" those of every tensor up to
            `BYTES_LIMIT`, "none" reads no content at all.
    """

    def __init__(self, mode: str, limit: int) -> None:
        if mode not in ("auto", "all", "none"):
            raise ValueError(f"values must be 'auto', 'all' or 'none', not {mode!r}")
        self.reads = mode != "none"
        self._limit = limit if mode == "auto" else 1 << 62
        self.few = min(64, ROOM // (16 * self._limit + 1)) if self.reads else 1 << 62
        """That many contents fit into one event, whatever they are."""
        self.left_out = 0
        self.unmeasured: list[tuple[Data, Any, int]] = []
        """Contents that have their bytes and not yet their statistics: with numpy's type and the number of elements."""
        self.fresh = 0
        """Bytes kept since `measure` was called last."""

    def gradient(self, tensor: Any) -> Data:
        """As `of`, quicker for most gradients."""
        if type(tensor) in PLAIN and tensor.layout is torch.strided and not tensor.is_nested:
            if not self.reads:
                dtype, device = tensor.dtype, tensor.device
                return Data(
                    tuple(tensor.shape),
                    DTYPES.get(dtype) or dtype_text(dtype),
                    DEVICES.get(device) or device_text(device),
                    "strided",
                    None,
                    "off",
                )
            data = None if _is_wrapped(tensor) or _is_batched(tensor) else self.quick(tensor)
            if data is not None:
                return data
        return self.of(tensor)

    def quick(self, tensor: Any) -> Data | None:
        """Content of a small dense CPU tensor of a plain type; None where this one has to be read in another way, or
        holds what is not finite. Everything is asked anew: what stands behind a tensor may be exchanged at any time."""
        known = _QUICK.get(tensor.dtype)
        count = tensor.numel()
        if known is None or not tensor.is_cpu or count > self._limit or not 0 < count <= _MANY:
            return None
        kind, size, floating, text = known
        start = _address(tensor)
        if start == tensor.storage_offset() * size or tensor.is_neg():
            return None  # memory that was given back (address 0) or is not as it looks
        if tensor.is_contiguous():
            raw = _copy(start, count * size)
        elif _dispatch_modes() or _transforms_active():
            return None
        else:
            raw = tensor.detach().numpy().tobytes()
        if floating:
            array = _array(raw, kind)
            if not math.isfinite(_square(array, array)):
                return None
        data = Data(tuple(tensor.shape), text, "cpu", "strided", raw)
        self.unmeasured.append((data, kind, count))
        self.fresh += len(raw)
        return data

    def measure(self) -> int:
        """Work out the statistics that are still owed; gives the bytes kept since the last time."""
        owed, self.unmeasured = self.unmeasured, []
        fresh, self.fresh = self.fresh, 0
        kinds: dict[Any, list[tuple[Data, int]]] = {}
        for data, kind, count in owed:
            kinds.setdefault(kind, []).append((data, count))
        for kind, items in kinds.items():
            _measure(kind, items)
        return fresh

    def of(self, tensor: Any) -> Data:
        """Content now."""
        if not self.reads:
            return missing(tensor, "off")
        if _transforms_active() or is_wrapped(tensor):
            return missing(tensor, "wrapped")
        if type(tensor).__torch_dispatch__ is not _PLAIN_DISPATCH or tensor.is_nested or tensor.is_quantized:
            return missing(tensor, "wrapped")
        if tensor.is_meta:
            return missing(tensor, "meta")
        try:
            if _dispatch_modes():
                with _C._DisableTorchDispatch():
                    return self._read(tensor)
            return self._read(tensor)
        except (RuntimeError, NotImplementedError, TypeError, ValueError):
            return missing(tensor, "device")

    def _read(self, tensor: Any) -> Data:
        if tensor.layout is not torch.strided:
            return self._sparse(tensor)
        count = tensor.numel()
        plain = tensor.detach()
        if plain.is_conj() or plain.is_neg() or plain._is_zerotensor():
            plain = (
                plain.resolve_conj().resolve_neg() + 0 if plain._is_zerotensor() else plain.resolve_conj().resolve_neg()
            )
        where = plain.device
        keep = count <= self._limit and count * plain.element_size() <= BYTES_LIMIT
        if where.type != "cpu":
            plain = _to_cpu(plain)
        if keep:
            self.fresh += count * plain.element_size()
            return _exact(plain, device_text(where))
        self.left_out += 1
        return _large(plain, device_text(where), count)

    def _sparse(self, tensor: Any) -> Data:
        if tensor.layout is not torch.sparse_coo:
            return missing(tensor, "wrapped")
        plain = tensor.detach()
        parts = (self._read(plain._indices()), self._read(plain._values()))
        values = parts[1]
        return Data(
            shape_of(tensor),
            dtype_text(tensor.dtype),
            device_text(tensor.device),
            "sparse_coo",
            missing=None if all(part.raw is not None for part in parts) else "budget",
            nan=values.nan,
            inf=values.inf,
            low=values.low,
            high=values.high,
            mean=values.mean,
            norm=values.norm,
            parts=parts if all(part.raw is not None for part in parts) else (),
        )


def fit(items: Sequence[Data | None], room: int = ROOM) -> tuple[Data | None, ...]:
    """The same, without the bytes of those for which one event has no room."""
    sizes = [len(item.raw) for item in items if item is not None and item.raw is not None]
    if sum(sizes) <= room:
        return tuple(items)
    kept: list[Data | None] = []
    for item in items:
        if item is not None and item.raw is not None:
            size = len(item.raw)
            if size > room:
                item = replace(item, raw=None, missing="budget")
            else:
                room -= size
        kept.append(item)
    return tuple(kept)


def differs(before: Data, after: Data) -> bool:
    """A hook changed a gradient: its content is another. A cast or a sum to another shape is the engine's work."""
    if (before.shape, before.dtype, before.layout) != (after.shape, after.dtype, after.layout):
        return False
    if before.raw is not None and after.raw is not None:
        return before.raw != after.raw
    return before.norm != after.norm or before.parts != after.parts


@_silent
def total(items: Sequence[Any]) -> Data | None:
    """The sum that the engine makes of several contributions, in the order of their arrival; None where it cannot be
    told, since the bytes of one are not kept."""
    first = items[0].data if items[0] is not None else None
    if first is None or first.dtype not in _SUMMED:
        return None
    sums: Any = None
    for item in items:
        if item is None or item.data.raw is None or (item.data.shape, item.data.dtype) != (first.shape, first.dtype):
            return None
        array = np.frombuffer(item.data.raw, _SUMMED[first.dtype])
        sums = array if sums is None else sums + array
    return _statistics(sums, Data(first.shape, first.dtype, first.device, raw=sums.tobytes()))


def missing(tensor: Any, why: str) -> Data:
    """What is known of a tensor without its content."""
    shape = shape_of(tensor)
    return Data(shape, dtype_text(tensor.dtype), device_text(tensor.device), layout_text(tensor.layout), missing=why)


@_silent
def _measure(kind: Any, items: list[tuple[Data, int]]) -> None:
    """Give contents of one type their statistics, by one pass over all of them together."""
    counts = np.array([count for _, count in items])
    flat = np.frombuffer(b"".join([data.raw or b"" for data, _ in items]), kind).astype(np.float64)
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    columns = (
        _least.reduceat(flat, starts).tolist(),
        _greatest.reduceat(flat, starts).tolist(),
        (_add.reduceat(flat, starts) / counts).tolist(),
        np.sqrt(_add.reduceat(flat * flat, starts)).tolist(),
    )
    for (data, _), low, high, mean, norm in zip(items, *columns, strict=True):
        if not norm and (low or high):  # their squares are too small for a number
            norm = math.hypot(*np.frombuffer(data.raw or b"", kind).tolist())
        force_setattr(data, "low", low)
        force_setattr(data, "high", high)
        force_setattr(data, "mean", mean)
        force_setattr(data, "norm", norm)


def _to_cpu(tensor: Any) -> Any:
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is not None and accelerator.type == tensor.device.type:
        with contextlib.suppress(RuntimeError):  # a backend without streams has nothing to wait for
            torch.accelerator.synchronize(tensor.device)
    return tensor.to("cpu")


def _exact(tensor: Any, device: str) -> Data:
    dtype = tensor.dtype
    code = _NUMPY.get(dtype)
    if code is None:
        raw = tensor.contiguous().view(_BITS[tensor.element_size()]).numpy().tobytes()
        array = tensor.float().numpy()
    else:
        array = tensor.numpy()
        raw = array.tobytes()
    shape = tuple(tensor.shape)
    count = array.size
    if not count:
        return Data(shape, dtype_text(dtype), device, raw=raw)
    if count <= _FEW and array.dtype.kind != "c":
        numbers: list[float] = array.ravel().tolist()
        norm = math.hypot(*numbers)
        if math.isfinite(norm):
            low, high = min(numbers), max(numbers)
            return Data(
                shape,
                dtype_text(dtype),
                device,
                "strided",
                raw,
                None,
                0,
                0,
                float(low),
                float(high),
                sum(numbers) / count,
                norm,
            )
    return _statistics(array, Data(shape, dtype_text(dtype), device, raw=raw))


@_silent
def _statistics(array: Any, data: Data) -> Data:
    """`data` with the statistics of a numpy array: over the finite elements, in double precision."""
    flat = array.ravel()
    if flat.dtype.kind == "c":
        return _complex_statistics(flat, data)
    flat = flat.astype(np.float64)
    square = float(flat.dot(flat))
    nan = inf = 0
    if not math.isfinite(square):
        finite = np.isfinite(flat)
        nan = int(np.isnan(flat).sum())
        inf = len(flat) - int(finite.sum()) - nan
        flat = flat[finite]
        square = float(flat.dot(flat))
    count = len(flat)
    if not count:
        return replace(data, nan=nan, inf=inf)
    low, high, total = _least.reduce(flat), _greatest.reduce(flat), _add.reduce(flat)
    return Data(
        data.shape,
        data.dtype,
        data.device,
        data.layout,
        data.raw,
        data.missing,
        nan,
        inf,
        float(low),
        float(high),
        float(total) / count,
        math.sqrt(square),
    )


@_silent
def _complex_statistics(flat: Any, data: Data) -> Data:
    finite = np.isfinite(flat)
    nan = int(np.isnan(flat).sum())
    sizes = np.abs(flat[finite]).astype(np.float64)
    inf = len(flat) - len(sizes) - nan
    return replace(data, nan=nan, inf=inf, norm=float(np.sqrt(sizes @ sizes)))


def _large(tensor: Any, device: str, count: int) -> Data:
    dtype = tensor.dtype
    empty = Data(tuple(tensor.shape), dtype_text(dtype), device, missing="budget")
    if not dtype.is_floating_point:
        return (
            _statistics(tensor.numpy(), empty) if dtype in _NUMPY and count <= _INTEGERS else _integers(tensor, empty)
        )
    told = statistics(tensor)
    thumb, shape = thumbnail(tensor, finite=told is not None)
    if told is None:
        numbers = tensor if dtype in _NUMPY else tensor.float()
        return replace(_statistics(numbers.numpy(), empty), thumb=thumb, thumb_shape=shape)
    low, high, mean, norm = told
    return Data(empty.shape, empty.dtype, device, "strided", None, "budget", 0, 0, low, high, mean, norm, thumb, shape)


def _integers(tensor: Any, data: Data) -> Data:
    if tensor.dtype.is_complex:
        return _statistics(tensor.numpy(), data)
    low, high = torch.aminmax(tensor if tensor.dtype is not torch.bool else tensor.view(torch.uint8))
    return replace(data, low=float(low), high=float(high))
