"""Numbers as colours: diverging, centred at 0, each tensor on the scale of its own largest finite magnitude."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gradviz.scene.shapes import Cells
from gradviz.scene.theme import Theme, rgb
from gradviz.trace.events import Data, Tensor
from gradviz.trace.values import thumbnail

Floats = npt.NDArray[np.float64]
LEVELS = 24


def magnitude(data: Data | None) -> float:
    """Largest finite magnitude; 0 where there is none."""
    if data is None:
        return 0.0
    if data.low is not None and data.high is not None:
        return max(abs(data.low), abs(data.high))
    picture = thumbnail(data)
    if picture is None or not (finite := np.abs(picture[np.isfinite(picture)])).size:
        return 0.0
    return float(finite.max())


def grid_of(data: Data | Tensor, limit: int = 8) -> tuple[int, int]:
    """Rows and columns in which a tensor is shown with at most `limit` of each."""
    columns = data.shape[-1] if data.shape else 1
    rows = int(np.prod(data.shape[:-1], dtype=np.int64)) if data.shape else 1
    return max(1, min(rows, limit)), max(1, min(columns, limit))


def cells(
    x: float,
    y: float,
    data: Data | None,
    grid: tuple[int, int],
    theme: Theme,
    *,
    size: float = 13.0,
    gap: float = 1.0,
    scale: float | None = None,
    opacity: float = 1.0,
) -> Cells:
    """Heat cells of a tensor in `grid` rows and columns. None: empty slots. `scale` is the magnitude of full colour,
    by default the tensor's own."""
    rows, columns = grid
    count = rows * columns
    if data is None:
        return Cells(x, y, rows, columns, size, gap, (theme.card,) * count, "o" * count, theme.idle, opacity)
    picture = thumbnail(data)
    if picture is None or not picture.size:
        return Cells(x, y, rows, columns, size, gap, (theme.idle_fill,) * count, "?" * count, theme.idle, opacity)
    values = blocks(picture, rows, columns)
    colors, marks = paint(values, theme, magnitude(data) if scale is None else scale)
    return Cells(x, y, rows, columns, size, gap, colors, marks, theme.text, opacity)


def blocks(picture: npt.NDArray[Any], rows: int, columns: int) -> Floats:
    """The picture brought to that many rows and columns: means of blocks, repeated where it is smaller."""
    values = picture.astype(np.float64)
    if values.shape == (rows, columns):
        return values
    if values.size == rows * columns:
        return values.reshape(rows, columns)
    return _resample(_resample(values, rows, 0), columns, 1)


def _resample(values: Floats, count: int, axis: int) -> Floats:
    have = values.shape[axis]
    if have <= count:
        repeated: Floats = np.take(values, np.arange(count) * have // count, axis)
        return repeated
    starts = np.arange(count) * have // count
    sizes = np.diff(np.append(starts, have))
    with np.errstate(invalid="ignore"):
        total: Floats = np.add.reduceat(values, starts, axis)
    means: Floats = total / (sizes[:, None] if axis == 0 else sizes)
    return means


def paint(values: Floats, theme: Theme, scale: float) -> tuple[tuple[str, ...], str]:
    """Colours and marks of the cells of an array, row by row. Anything but 0 is told from 0."""
    flat = values.ravel()
    finite = np.isfinite(flat)
    share = np.zeros(flat.shape)
    with np.errstate(invalid="ignore"):
        np.divide(np.abs(flat), scale, out=share, where=finite & (scale > 0))
        level = np.where(finite & (flat != 0), 2 + np.round(np.clip(share, 0, 1) ** 0.85 * (LEVELS - 2)), 0)
        level = np.where(flat < 0, -level, level).astype(np.int64)
    level[flat == np.inf], level[flat == -np.inf] = LEVELS, -LEVELS
    ramp = _ramp(theme)
    colors = tuple(ramp[i] for i in (level + LEVELS).tolist())
    marks = np.full(flat.shape, ".")
    marks[flat == 0] = "0"
    marks[np.isnan(flat)], marks[flat == np.inf], marks[flat == -np.inf] = "n", "+", "-"
    return colors, "".join(marks.tolist())


_RAMPS: dict[tuple[str, str, str], tuple[str, ...]] = {}


def _ramp(theme: Theme) -> tuple[str, ...]:
    key = (theme.heat_low, theme.heat_zero, theme.heat_high)
    if key not in _RAMPS:
        low, zero, high = (np.asarray(rgb(c), np.float64) for c in key)
        share = np.arange(-LEVELS, LEVELS + 1)[:, None] / LEVELS
        table = zero + np.where(share < 0, low - zero, high - zero) * np.abs(share)
        _RAMPS[key] = tuple("#{:02X}{:02X}{:02X}".format(*row) for row in np.round(table).astype(int).tolist())
    return _RAMPS[key]
