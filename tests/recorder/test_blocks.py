"""Statistics of large content are those of all its elements in double precision, whatever its layout."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from gradviz.recorder import blocks
from gradviz.recorder.blocks import BLOCK, statistics, thumbnail

GENERATOR = torch.Generator().manual_seed(0)
WIDE = torch.randn(300, 3 * BLOCK // 200, generator=GENERATOR)
CONTENTS = {
    "dense": WIDE,
    "transposed": WIDE.t(),
    "permuted": WIDE.view(10, 30, -1).permute(2, 0, 1),
    "columns": WIDE.chunk(3, -1)[1],
    "every third": WIDE.view(-1)[1::3],
    "expanded": WIDE[:1].expand(500, -1),
    "one number": torch.tensor(-3.0).expand(70_000),
    "all alike": torch.full((BLOCK,), 1.1),
    "none below zero": WIDE.exp(),
    "double": WIDE.double(),
    "bfloat16": WIDE.bfloat16(),
    "tiny": WIDE * 1e-25,
    "tiny doubles": WIDE.double() * 1e-200,
    "huge": WIDE * 1e30,
    "zeros": torch.zeros(5000),
    "small": torch.arange(7.0),
}


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("name", CONTENTS)
def test_statistics(name: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    tensor = CONTENTS[name]
    exact = tensor.double().numpy()
    told = statistics(tensor)
    assert told is not None
    low, high, mean, norm = told
    peak = np.abs(exact).max()
    assert (low, high) == (exact.min(), exact.max())
    assert mean == pytest.approx(exact.mean(), rel=1e-6, abs=1e-6 * peak)
    assert norm == pytest.approx(np.linalg.norm(exact / (peak or 1)) * peak, rel=1e-6)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_statistics_where_an_element_is_not_finite(
    value: float, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    tensor = torch.randn(2 * BLOCK + 9)
    tensor[-3] = value
    assert statistics(tensor) is None
    assert statistics(tensor.to(torch.float16)) is None


@pytest.mark.parametrize("shape", [(100, 150), (7, 5), (70,), (), (3, 40, 33), (300, 400), (2, 70, 5, 60)])
def test_a_thumbnail_has_the_means_of_blocks(shape: tuple[int, ...]) -> None:
    tensor = torch.randn(shape)
    picture = tensor.reshape(-1, shape[-1]) if shape else tensor.reshape(1, 1)
    if tensor.numel() > blocks._SAMPLE:
        rows, columns = picture.shape
        picture = picture[:: max(1, rows // blocks._SIDE), :: max(1, columns // blocks._SIDE)]
    size = min(32, picture.shape[0]), min(32, picture.shape[1])
    pooled = torch.nn.functional.adaptive_avg_pool2d(picture[None], size)[0]
    for finite in (True, False):
        raw, told = thumbnail(tensor, finite=finite)
        assert told == size
        assert np.frombuffer(raw, "<f4").reshape(size) == pytest.approx(pooled.numpy(), abs=1e-6)


def test_the_thumbnail_of_a_permuted_tensor_is_that_of_its_copy() -> None:
    permuted = torch.randn(90, 40, 50).permute(1, 2, 0)
    assert thumbnail(permuted, finite=True) == thumbnail(permuted.contiguous(), finite=True)


def test_a_thumbnail_keeps_what_is_not_finite_in_its_place() -> None:
    tensor = torch.ones(64, 64)
    tensor[9, 33] = math.nan
    raw, size = thumbnail(tensor, finite=False)
    found = np.isnan(np.frombuffer(raw, "<f4").reshape(size))
    assert np.argwhere(found).tolist() == [[4, 16]]
