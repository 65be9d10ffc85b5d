"""Tensor content to `Data`: a copy taken at once, so that nothing is held. Statistics always, bytes up to a limit."""

from __future__ import annotations

import contextlib
import math
import weakref
from typing import Any

import numpy as np
import torch
from msgspec.structs import replace

from gradviz.trace.events import Data

_C: Any = torch._C
_dispatch_modes = _C._len_torch_dispatch_stack
_transforms_active = _C._are_functorch_transforms_active
_is_wrapped = _C._functorch.is_functorch_wrapped_tensor
_is_batched = _C._functorch.is_legacy_batchedtensor
_PLAIN_DISPATCH = torch.Tensor.__torch_dispatch__

BYTES_LIMIT = 3 * 1024 * 1024
"""Largest content kept of one tensor; one event may carry two of them and stay far below the format's limit."""
_FEW = 32
_THUMB = 32
_INTEGERS = 1 << 18
_SIDE = 128
_SAMPLE = _SIDE * _SIDE

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
_least, _greatest, _sum = np.minimum.reduce, np.maximum.reduce, np.add.reduce
_BITS = {1: torch.uint8, 2: torch.int16}
_DTYPE_TEXT: dict[Any, str] = {}
_DEVICE_TEXT: dict[Any, str] = {}
_LAYOUT_TEXT: dict[Any, str] = {torch.strided: "strided"}


def dtype_text(dtype: torch.dtype) -> str:
    """ "float32", without the module."""
    text = _DTYPE_TEXT.get(dtype)
    if text is None:
        text = _DTYPE_TEXT[dtype] = str(dtype).rpartition(".")[2]
    return text


def device_text(device: torch.device) -> str:
    """ "cpu", "cuda:0"."""
    text = _DEVICE_TEXT.get(device)
    if text is None:
        text = _DEVICE_TEXT[device] = str(device)
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
        self._known: dict[int, tuple[Any, int, Data]] = {}
        self.left_out = 0

    def gradient(self, tensor: Any) -> Data | None:
        """As `of`, remembered while the tensor lives: what one node returns is what the next receives."""
        if tensor is None:
            return None
        key = id(tensor)
        known = self._known.get(key)
        version = -1 if tensor.is_inference() else tensor._version
        if known is not None and known[0]() is tensor and known[1] == version:
            return known[2]
        data = self.of(tensor)
        table = self._known

        def forget(ref: Any) -> None:
            hit = table.get(key)
            if hit is not None and hit[0] is ref:
                del table[key]

        table[key] = weakref.ref(tensor, forget), version, data
        return data

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


def fit(items: tuple[Data | None, ...], room: int = 2 * BYTES_LIMIT) -> tuple[Data | None, ...]:
    """The same, without the bytes of those for which one event has no room."""
    total = sum(len(item.raw) for item in items if item is not None and item.raw is not None)
    if total <= room:
        return items
    kept: list[Data | None] = []
    for item in items:
        if item is not None and item.raw is not None:
            room -= len(item.raw)
            if room < 0:
                item = replace(item, raw=None, missing="budget")
        kept.append(item)
    return tuple(kept)


def missing(tensor: Any, why: str) -> Data:
    """What is known of a tensor without its content."""
    shape = shape_of(tensor)
    return Data(shape, dtype_text(tensor.dtype), device_text(tensor.device), layout_text(tensor.layout), missing=why)


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
    low, high, total = _least(flat), _greatest(flat), _sum(flat)
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
    if dtype not in (torch.float32, torch.float64):
        tensor = tensor.float()
    thumb, shape = _thumbnail(tensor, count)
    norm = float(torch.linalg.vector_norm(tensor))
    if not math.isfinite(norm):
        return replace(_statistics(tensor.numpy(), empty), thumb=thumb, thumb_shape=shape)
    low, high = torch.aminmax(tensor)
    return Data(
        empty.shape,
        empty.dtype,
        device,
        "strided",
        None,
        "budget",
        0,
        0,
        float(low),
        float(high),
        float(tensor.mean()),
        norm,
        thumb,
        shape,
    )


def _integers(tensor: Any, data: Data) -> Data:
    if tensor.dtype.is_complex:
        return _statistics(tensor.numpy(), data)
    low, high = torch.aminmax(tensor if tensor.dtype is not torch.bool else tensor.view(torch.uint8))
    return replace(data, low=float(low), high=float(high))


def _thumbnail(tensor: Any, count: int) -> tuple[bytes, tuple[int, int]]:
    """Block means over the last dimension (columns) and all others (rows); of very large content, of a sample."""
    columns = int(tensor.shape[-1]) if tensor.dim() else 1
    rows = max(count // columns, 1)
    picture = tensor.reshape(rows, columns)
    if count > _SAMPLE:
        picture = picture[:: max(1, rows // _SIDE), :: max(1, columns // _SIDE)]
    size = min(picture.shape[0], _THUMB), min(picture.shape[1], _THUMB)
    means = torch.nn.functional.adaptive_avg_pool2d(picture[None].float(), size)
    return means.numpy().astype("<f4").tobytes(), size
