"""`Data` as numpy arrays and as text. A type that numpy lacks (bfloat16, the float8 family) comes out as float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gradviz.trace.events import Data

Array = npt.NDArray[Any]

_NATIVE = {
    "float64": "<f8",
    "float32": "<f4",
    "float16": "<f2",
    "complex128": "<c16",
    "complex64": "<c8",
    "int64": "<i8",
    "int32": "<i4",
    "int16": "<i2",
    "int8": "i1",
    "uint8": "u1",
    "uint16": "<u2",
    "uint32": "<u4",
    "uint64": "<u8",
    "bool": "?",
}


def _bfloat16(raw: bytes) -> Array:
    return (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)


def _minifloat(exponent_bits: int, bias: int, *, finite_only: bool) -> Callable[[bytes], Array]:
    """A reader of 8-bit floats; `finite_only` formats use the top exponent for numbers and S.1111.111 for NaN."""
    mantissa_bits = 7 - exponent_bits
    table = np.empty(256, np.float32)
    for code in range(256):
        sign = -1.0 if code & 0x80 else 1.0
        exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1)
        mantissa = code & ((1 << mantissa_bits) - 1)
        top = exponent == (1 << exponent_bits) - 1
        if top and finite_only and mantissa == (1 << mantissa_bits) - 1:
            table[code] = np.nan
        elif top and not finite_only:
            table[code] = np.nan if mantissa else sign * np.inf
        elif exponent:
            table[code] = sign * 2.0 ** (exponent - bias) * (1 + mantissa / (1 << mantissa_bits))
        else:
            table[code] = sign * 2.0 ** (1 - bias) * mantissa / (1 << mantissa_bits)

    def read(raw: bytes) -> Array:
        decoded: Array = table[np.frombuffer(raw, "u1")]
        return decoded

    return read


_OTHER: dict[str, Callable[[bytes], Array]] = {
    "bfloat16": _bfloat16,
    "float8_e4m3fn": _minifloat(4, 7, finite_only=True),
    "float8_e5m2": _minifloat(5, 15, finite_only=False),
}


class NotCaptured(LookupError):
    """The tensor had a value there, and the recording does not hold it."""


def to_numpy(data: Data) -> Array:
    """The exact content, with `data.shape`; sparse COO comes out dense.

    Raises:
        NotCaptured: the recording has no exact content, or it does not fit its shape.
    """
    if data.parts:
        return _dense(data)
    if data.raw is None:
        raise NotCaptured(f"value of shape {data.shape} was not captured: {data.missing or 'unknown reason'}")
    try:
        if data.dtype in _OTHER:
            return _OTHER[data.dtype](data.raw).reshape(data.shape)
        return np.frombuffer(data.raw, _NATIVE[data.dtype]).reshape(data.shape)
    except (KeyError, ValueError) as error:
        raise NotCaptured(f"value of type {data.dtype} and shape {data.shape} cannot be read") from error


def _dense(data: Data) -> Array:
    if len(data.parts) != 2:
        raise NotCaptured(f"value of layout {data.layout} cannot be read")
    indices, values = (to_numpy(part) for part in data.parts)
    count = int(np.prod(data.shape, dtype=np.float64))
    if count > 1 << 24:
        raise NotCaptured(f"a sparse value of shape {data.shape} is too large to be written out")
    try:
        dense = np.zeros(data.shape, values.dtype)
        np.add.at(dense, tuple(indices), values)
    except (IndexError, ValueError) as error:
        raise NotCaptured("the indices of a sparse value do not fit its shape") from error
    return dense


def thumbnail(data: Data) -> Array | None:
    """A (rows, columns) float32 picture of the content: its own elements where they are kept, else block means."""
    if data.thumb is not None and data.thumb_shape is not None:
        rows, columns = data.thumb_shape
        if rows * columns * 4 == len(data.thumb):
            return np.frombuffer(data.thumb, "<f4").reshape(rows, columns)
        return None
    try:
        array = to_numpy(data)
    except NotCaptured:
        return None
    if np.iscomplexobj(array):
        array = np.abs(array)
    return array.astype(np.float32).reshape(*_rows_columns(data.shape))


def _rows_columns(shape: tuple[int, ...]) -> tuple[int, int]:
    if len(shape) == 0:
        return 1, 1
    columns = shape[-1]
    rows = 1
    for size in shape[:-1]:
        rows *= size
    return rows, columns


def number(value: float, digits: int = 4) -> str:
    """As people read it: at most `digits` after the point, no trailing zeros, "nan" and "inf" as words."""
    if value != value:
        return "nan"
    if value in (np.inf, -np.inf):
        return "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e6:
        mantissa, exponent = f"{value:.{max(digits - 2, 1)}e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")


def shape_text(shape: tuple[int, ...]) -> str:
    """`(5, 3)`, `(3,)`, `()`: as PyTorch and Python write it."""
    return str(tuple(shape))


def not_finite(*contents: Data | None) -> bool:
    """One of them holds a NaN or an infinity."""
    return any(data is not None and data.nan + data.inf > 0 for data in contents)
