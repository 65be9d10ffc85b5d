"""What an operation was called with: the tensors among its arguments, and the rest as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.parameter import is_lazy

Tensor = torch.Tensor
_DEEP = 4
_WIDE = 10_000


def gather(value: Any, found: list[Any], depth: int) -> None:
    """Tensors in nested plain containers, a few levels down and not more than ten thousand; without those of lazy
    modules, which have neither shape nor content before the first forward."""
    if isinstance(value, Tensor):
        if type(value) in PLAIN or not is_lazy(value):
            found.append(value)
    elif depth < _DEEP and len(found) < _WIDE:
        if isinstance(value, tuple | list):
            for item in value:
                gather(item, found, depth + 1)
        elif isinstance(value, dict):
            for item in value.values():
                gather(item, found, depth + 1)


SIMPLE = frozenset(
    (bool, int, float, complex, str, torch.dtype, torch.device, torch.layout, torch.memory_format, type(None), slice)
)
"""Types of arguments that hold no tensor and are written as Python writes them."""
_PLAIN = tuple(SIMPLE)
_SHORT = frozenset((bool, float, type(None)))
PLAIN = frozenset((Tensor, torch.nn.Parameter))
"""Types of tensor that no code of the program's stands behind."""


def arguments(args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Name ("" for a positional one) and text of each argument that is no tensor."""
    found = []
    for arg in args:
        kind = type(arg)
        if kind in _SHORT:
            found.append(("", repr(arg)))
        elif kind not in PLAIN and not _has_tensor(arg):
            found.append(("", _text(arg)))
    if kwargs:
        found += [(name, _text(value)) for name, value in kwargs.items() if not _has_tensor(value)]
    return tuple(found)


def _has_tensor(value: Any) -> bool:
    if isinstance(value, Tensor):
        return True
    return isinstance(value, tuple | list) and len(value) > 0 and isinstance(value[0], Tensor)


def _text(value: Any, depth: int = 0) -> str:
    """Plain values as Python writes them; of anything else the type alone, since its `repr` is the program's code."""
    if isinstance(value, _PLAIN):
        return repr(value)[:200]
    if isinstance(value, tuple | list) and depth < 3:
        inside = ", ".join(_text(item, depth + 1) for item in value[:16])
        more = ", …" if len(value) > 16 else ""
        return f"[{inside}{more}]" if isinstance(value, list) else f"({inside}{more})"
    return f"<{type(value).__name__}>"
