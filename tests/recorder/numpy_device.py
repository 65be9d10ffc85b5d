"""A device made of numpy: PyTorch takes it for an accelerator and runs its backward nodes in a device thread.

Import before the process's first backward: the engine counts devices once.
"""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend("npy")
_C: Any = torch._C


class Array(torch.Tensor):
    """A float32 tensor whose content is a numpy array."""

    raw: Any

    @staticmethod
    def __new__(cls, shape: Any, raw: Any = None) -> Any:
        tensor = _C._acc.create_empty_tensor(shape, torch.float32)
        tensor.__class__ = cls
        return tensor

    def __init__(self, shape: Any, raw: Any = None) -> None:
        self.raw = raw

    def __repr__(self) -> str:  # type: ignore[override]
        return f"Array({self.raw})"


def _of(array: Any) -> Array:
    array = np.asarray(array, np.float32)
    return Array(array.shape, array)


def _raw(value: Any) -> Any:
    if isinstance(value, Array):
        return value.raw
    return value.numpy() if isinstance(value, torch.Tensor) else np.float32(value)


def _kernel(name: str) -> Callable[[Any], Any]:
    return torch.library.impl(f"aten::{name}", "privateuseone")


@_kernel("add.Tensor")
def _add(a: Any, b: Any, alpha: float = 1) -> Any:
    return _of(_raw(a) + _raw(b) * np.float32(alpha))


@_kernel("mul.Tensor")
def _mul(a: Any, b: Any) -> Any:
    return _of(_raw(a) * _raw(b))


@_kernel("sin")
def _sin(a: Any) -> Any:
    return _of(np.sin(_raw(a)))


@_kernel("cos")
def _cos(a: Any) -> Any:
    return _of(np.cos(_raw(a)))


@_kernel("sum")
def _sum(a: Any, dtype: Any = None) -> Any:
    return _of(_raw(a).sum())


@_kernel("detach")
def _detach(a: Any) -> Any:
    return _of(_raw(a))


@_kernel("clone")
def _clone(a: Any, memory_format: Any = None) -> Any:
    return _of(_raw(a).copy())


@_kernel("ones_like")
def _ones_like(a: Any, **_options: Any) -> Any:
    return _of(np.ones_like(_raw(a)))


@_kernel("expand")
def _expand(a: Any, shape: Any, implicit: bool = False) -> Any:
    return _of(np.broadcast_to(_raw(a), shape))


@_kernel("empty.memory_format")
def _empty(shape: Any, **_options: Any) -> Any:
    return _of(np.empty(shape, np.float32))


@_kernel("empty_strided")
def _empty_strided(shape: Any, stride: Any, **_options: Any) -> Any:
    return _of(np.empty(shape, np.float32))


@_kernel("new_empty_strided")
def _new_empty_strided(a: Any, shape: Any, stride: Any, **_options: Any) -> Any:
    return _of(np.empty(shape, np.float32))


@_kernel("add_.Tensor")
def _add_in_place(a: Any, b: Any, alpha: float = 1) -> Any:
    a.raw = a.raw + _raw(b)
    return a


@_kernel("copy_")
def _copy(a: Any, b: Any, non_blocking: bool = False) -> Any:
    if isinstance(a, Array):
        a.raw = np.array(_raw(b), np.float32).reshape(a.raw.shape)
    else:
        a.numpy()[...] = _raw(b)
    return a


@_kernel("_copy_from")
def _copy_from(a: Any, b: Any, non_blocking: bool = False) -> Any:
    if isinstance(b, Array):
        b.raw = np.array(_raw(a.detach()), np.float32)
    else:
        b.copy_(torch.from_numpy(np.ascontiguousarray(a.raw)))
    return b
