"""Contents: how many bytes are kept, that they fit into a frame, and statistics that are numpy's."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from gradviz.recorder import record
from gradviz.recorder.snapshot import BYTES_LIMIT, ROOM, Snapshots, fit
from gradviz.trace import Trace, to_numpy
from gradviz.trace.codec import FRAME_LIMIT
from gradviz.trace.events import Data, NodeRan, Value

LARGEST = BYTES_LIMIT // 4
"""Elements of the largest float32 tensor whose bytes are kept."""


def _sums(count: int) -> tuple[Trace, torch.Tensor, torch.Tensor]:
    """x + y, and the pass through it: its node receives one gradient and returns two, each as large as x."""
    generator = torch.Generator().manual_seed(1)
    with record(values="all") as recording:
        x = torch.randn(count, generator=generator, requires_grad=True)
        y = torch.ones(count, requires_grad=True)
        z = x + y
        z.backward(torch.ones_like(z))
    assert recording.problems == []
    return recording.trace, x, z


def test_all_keeps_bytes_up_to_the_limit_and_every_event_fits_its_frame() -> None:
    trace, x, z = _sums(LARGEST)
    frame = trace.at(trace.steps)
    for name, tensor in (("x", x), ("z", z)):
        value = frame.value(name)
        assert value is not None
        assert value.tobytes() == tensor.detach().numpy().tobytes()
    told = [e.data for e in trace.events if isinstance(e, Value) and e.data.shape == (LARGEST,)]
    assert told
    assert all(data.raw is not None and len(data.raw) == BYTES_LIMIT for data in told)
    runs = [e for e in trace.events if isinstance(e, NodeRan)]
    assert len(runs) == 3
    for run in runs:
        datas = [d for d in (*run.gin, *run.gout) if d is not None]
        assert datas[0].raw == torch.ones(LARGEST).numpy().tobytes()
        assert sum(len(d.raw) for d in datas if d.raw is not None) <= ROOM < FRAME_LIMIT
        assert all(d.raw is not None or d.missing == "budget" for d in datas)
        assert all((d.low, d.high, d.mean) == (1, 1, 1) for d in datas)


def test_beyond_the_limit_statistics_are_kept() -> None:
    trace, x, _ = _sums(LARGEST + 1)
    told = [e.data for e in trace.events if isinstance(e, Value) and e.data.shape == (LARGEST + 1,)]
    assert told
    assert all((data.raw, data.missing) == (None, "budget") for data in told)
    assert told[0].low == x.detach().numpy().min()
    assert told[0].high == x.detach().numpy().max()
    assert told[0].norm == pytest.approx(float(x.detach().double().norm()), rel=1e-6)


def test_fit_leaves_out_what_has_no_room_and_keeps_what_comes_after() -> None:
    small, large = Data((2,), "float32", raw=bytes(8)), Data((5,), "float32", raw=bytes(20))
    items = small, None, large, small
    assert fit(items, room=36) == items
    assert fit(items, room=20) == (small, None, Data((5,), "float32", missing="budget"), small)


@pytest.mark.parametrize("permuted", [False, True])
@pytest.mark.parametrize("size", [40_001, 3_000_000])
def test_the_norm_of_many_elements_keeps_its_digits(size: int, permuted: bool) -> None:
    tensor = torch.randn(2, size, generator=torch.Generator().manual_seed(0))
    data = Snapshots("auto", 1024).of(tensor.t() if permuted else tensor)
    assert data.norm == pytest.approx(float(tensor.double().norm()), rel=1e-6)


def test_the_norm_of_an_expanded_tensor() -> None:
    data = Snapshots("auto", 1024).of(torch.tensor(3.0).expand(50_000))
    assert data.norm == pytest.approx(3 * math.sqrt(50_000), rel=1e-5)


def test_numbers_too_large_to_be_squared_warn_of_nothing(recwarn: pytest.WarningsRecorder) -> None:
    snapshots = Snapshots("auto", 1024)
    with np.errstate(all="raise"):
        for dtype in (torch.float32, torch.float64, torch.complex128):
            largest = torch.full((50,), torch.finfo(dtype).max, dtype=dtype)
            for read in (snapshots.gradient, snapshots.of):
                data = read(largest)
                snapshots.measure()
                assert (data.nan, data.inf) == (0, 0)
    assert not recwarn.list


CONTENTS = [
    torch.tensor(2.5),
    torch.tensor([1.0, -2.0, 3.0]),
    torch.arange(12.0).reshape(3, 4).t(),
    torch.linspace(-1, 1, 900, dtype=torch.float64),
    torch.tensor([1e-30, -2e-30]),
    torch.tensor([1e30, 3e38]),
    torch.arange(-5, 7),
    torch.tensor([True, False, True]),
    torch.arange(6, dtype=torch.int32)[::2],
    torch.tensor([1.0, math.nan, math.inf, 4.0]),
    torch.tensor([[1.0, 2.0]], dtype=torch.bfloat16),
    torch.empty(0),
]


@pytest.mark.parametrize("tensor", CONTENTS, ids=lambda t: f"{t.dtype}{list(t.shape)}")
def test_statistics_are_numpys(tensor: torch.Tensor) -> None:
    snapshots = Snapshots("auto", 1024)
    array: Any = tensor.float().numpy() if tensor.dtype is torch.bfloat16 else tensor.numpy()
    finite = array.astype(np.float64)[np.isfinite(array)]
    for read in (snapshots.gradient, snapshots.of):
        data = read(tensor)
        snapshots.measure()
        assert np.array_equal(to_numpy(data), array, equal_nan=True)
        assert (data.nan, data.inf) == (int(np.isnan(array).sum()), int(np.isinf(array).sum()))
        if finite.size:
            assert (data.low, data.high) == (finite.min(), finite.max())
            assert data.mean == pytest.approx(finite.mean(), rel=1e-12)
            assert data.norm == pytest.approx(np.linalg.norm(finite / abs(finite).max()) * abs(finite).max(), rel=1e-12)
