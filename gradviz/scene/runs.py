"""Sums over what nodes received, kept for every run, so that a fold of thousands is summed in one sweep."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gradviz.trace import Trace
from gradviz.trace.events import NodeRan


class Runs:
    """For each run in the trace: the squared norm of the gradients that came in, and whether a NaN came with them."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._square: list[float] = []
        self._nan: list[bool] = []
        self._arrays: tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]] = (np.zeros(0), np.zeros(0, np.bool_))

    def _grow(self) -> None:
        index = self.trace.run_index.view
        if len(self._square) == len(index):
            return
        for position in range(len(self._square), len(index)):
            event = self.trace.events[int(index[position])]
            received = [d for d in event.gin if d is not None] if isinstance(event, NodeRan) else []
            norms = [d.norm * d.norm for d in received if d.norm is not None]
            self._square.append(sum(norms) if norms else math.nan)
            self._nan.append(any(d.nan for d in received))
        self._arrays = np.asarray(self._square), np.asarray(self._nan, np.bool_)

    def of(self, runs: npt.NDArray[np.int64]) -> tuple[bool, float | None]:
        """Of these runs: was there a NaN, and the norm of all that came in; None where nothing is known."""
        self._grow()
        runs = runs[runs >= 0]
        square, nan = self._arrays
        known = square[runs]
        known = known[~np.isnan(known)]
        return bool(nan[runs].any()), math.sqrt(float(known.sum())) if known.size else None
