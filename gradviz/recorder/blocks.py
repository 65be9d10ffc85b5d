"""Content of which no bytes are kept: its statistics, by one pass over memory, and a small picture of it."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

_C: Any = torch._C
BLOCK = 1 << 16
"""Elements that are asked for all statistics in turn, so that they are fetched into a core's cache once. Squares of so
many, added up in single precision, keep their sixth digit."""
_ROW = 8192
"""PyTorch's norm loses digits earlier."""
_FEW_THREADS = 2
_SINGLE = (torch.float32, torch.float64)
_SQUARES = {torch.float32: (1e-15, 1e15), torch.float64: (1e-145, 1e145)}
"""Between these, squares and their sums stay far from the ends of the type."""
_THUMB = 32
_SIDE = 128
_SAMPLE = _SIDE * _SIDE

is_dense: Any = torch.ops.aten.is_non_overlapping_and_dense
_vector_norm = torch.linalg.vector_norm
_least, _greatest = np.minimum.reduce, np.maximum.reduce
_dot = torch.dot
"""Not numpy's, whose library for it wakes threads of its own."""


def statistics(tensor: Any) -> tuple[float, float, float, float] | None:
    """Least and greatest element, mean and norm of a strided tensor of floating point numbers on the CPU that has at
    least one element; the norm to six digits. None where an element is not finite."""
    count, times = tensor.numel(), 1
    for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        if size > 1 and not stride:  # the same memory again and again
            times *= size
            tensor = tensor.narrow(dim, 0, 1)
    threads = torch.get_num_threads()
    ask, block = (_asked, BLOCK) if threads <= _FEW_THREADS else (_asked_by_threads, BLOCK * threads)
    low, high, total, norms = math.inf, -math.inf, 0.0, []
    for piece in _pieces(tensor, block):
        least, greatest, part, norm = ask(piece)
        peak = max(-least, greatest)
        if not math.isfinite(peak):  # NaN too: numpy and PyTorch hand it on
            return None
        smallest, largest = _SQUARES[piece.dtype]
        if not smallest < peak < largest and peak:
            part = float(piece.sum(dtype=torch.float64))
            norm = peak * float(_vector_norm(piece.double() / peak))
        low, high, total = min(low, least), max(high, greatest), total + part
        norms.append(norm)
    return low, high, total * times / count, math.hypot(*norms) * math.sqrt(times)


def _pieces(tensor: Any, block: int) -> Iterator[Any]:
    """The elements, as tensors of one dimension that stand in one piece of memory."""
    count = tensor.numel()
    if is_dense(tensor):
        flat = tensor.as_strided((count,), (1,))
        for start in range(0, count, block):
            yield _plain(flat[start : start + block])
    elif count <= block:
        yield _plain(tensor.reshape(-1))
    else:
        strides = tensor.stride()
        outer = max(range(len(strides)), key=lambda d: (tensor.shape[d] > 1, strides[d]))
        for part in tensor.split(max(1, tensor.shape[outer] * block // count), outer):
            yield from _pieces(part, block)


def _plain(piece: Any) -> Any:
    return piece if piece.dtype in _SINGLE else piece.float()


def _asked(piece: Any) -> tuple[float, float, float, float]:
    array = piece.numpy()
    return float(_least(array)), float(_greatest(array)), float(piece.sum()), math.sqrt(_dot(piece, piece))


def _asked_by_threads(piece: Any) -> tuple[float, float, float, float]:
    """The same by PyTorch's functions, which share the work among their threads."""
    low, high = torch.aminmax(piece)
    whole = len(piece) - len(piece) % _ROW
    norm = math.hypot(
        float(_vector_norm(_vector_norm(piece[:whole].view(-1, _ROW), dim=1), dtype=torch.float64)),
        float(_vector_norm(piece[whole:])),
    )
    return float(low), float(high), float(piece.sum()), norm


def thumbnail(tensor: Any, *, finite: bool) -> tuple[bytes, tuple[int, int]]:
    """Block means over the last dimension (columns) and all others (rows); of very large content, of a sample. As
    bytes of float32, and how many rows and columns."""
    count = tensor.numel()
    columns = int(tensor.shape[-1]) if tensor.dim() else 1
    rows = max(count // columns, 1)
    if count <= _SAMPLE:
        picture = tensor.reshape(rows, columns)
    else:
        down, right = max(1, rows // _SIDE), max(1, columns // _SIDE)
        if tensor.dim() <= 2 or tensor.is_contiguous():
            picture = tensor.reshape(rows, columns)[::down, ::right]
        else:  # to reshape it would copy all of it
            places = np.unravel_index(np.arange(0, rows, down), tuple(tensor.shape[:-1]))
            picture = tensor[..., ::right][tuple([torch.from_numpy(place) for place in places])]
    size = min(picture.shape[0], _THUMB), min(picture.shape[1], _THUMB)
    if not finite:  # a product would spread what is not finite over its whole row and column
        means = torch.nn.functional.adaptive_avg_pool2d(picture[None].float(), size).numpy()
    else:
        above, beside = _means(picture.shape[0], size[0]), _means(picture.shape[1], size[1])
        means = torch.mm(torch.mm(above, picture.float().contiguous()), beside.t()).numpy()
    return means.astype("<f4").tobytes(), size


@functools.cache
def _means(count: int, parts: int) -> Any:
    """The matrix that takes the means of `parts` pieces of `count` numbers, cut as adaptive pooling cuts them."""
    matrix = torch.zeros(parts, count)
    for i in range(parts):
        start, stop = i * count // parts, -(-(i + 1) * count // parts)
        matrix[i, start:stop] = 1 / (stop - start)
    return matrix
