"""Bytes to arrays, for every dtype that numpy has and some it lacks. PyTorch is the oracle."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gradviz.trace import NotCaptured, number, thumbnail, to_numpy
from gradviz.trace.events import Data


def data_of(tensor: torch.Tensor) -> Data:
    raw = bytes(tensor.contiguous().view(torch.uint8).numpy().tobytes()) if tensor.numel() else b""
    return Data(tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."), raw=raw)


@pytest.mark.parametrize(
    "dtype",
    [torch.float64, torch.float32, torch.float16, torch.int64, torch.int8, torch.uint8, torch.bool, torch.complex64],
)
def test_exact_content(dtype: torch.dtype) -> None:
    tensor = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(dtype)
    assert (to_numpy(data_of(tensor)) == tensor.numpy()).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2])
def test_types_that_numpy_lacks_come_as_float32(dtype: torch.dtype) -> None:
    if dtype == torch.bfloat16:
        tensor = torch.linspace(-3, 3, 50).to(dtype)
    else:
        tensor = torch.arange(256, dtype=torch.uint8).view(dtype)
    np.testing.assert_array_equal(to_numpy(data_of(tensor)), tensor.float().numpy())


def test_a_zero_dimensional_and_an_empty_tensor() -> None:
    assert to_numpy(data_of(torch.tensor([2.5]))).item() == 2.5
    assert to_numpy(Data((0, 3), "float32", raw=b"")).shape == (0, 3)


def test_sparse_comes_out_dense_and_repeated_indices_add() -> None:
    sparse = torch.sparse_coo_tensor(
        torch.tensor([[1, 1, 0], [0, 0, 2]]), torch.tensor([1.0, 2.0, 4.0]), (2, 3), check_invariants=True
    )
    parts = (data_of(sparse._indices()), data_of(sparse._values()))
    dense = to_numpy(Data((2, 3), "float32", layout="sparse_coo", parts=parts))
    np.testing.assert_array_equal(dense, sparse.to_dense().numpy())


@pytest.mark.parametrize(
    "data",
    [
        Data((2,), "float32"),
        Data((2,), "float32", raw=b"123"),
        Data((2,), "spin", raw=bytes(8)),
        Data((1 << 20, 1 << 20), "float32", parts=(Data((2, 0), "int64", raw=b""), Data((0,), "float32", raw=b""))),
        Data((2,), "float32", parts=(Data((1, 1), "int64", raw=b"\xff" * 8), Data((2,), "float32", raw=bytes(8)))),
    ],
)
def test_what_is_not_there_or_does_not_fit_says_so(data: Data) -> None:
    with pytest.raises(NotCaptured):
        to_numpy(data)


def test_thumbnail() -> None:
    assert thumbnail(data_of(torch.arange(24.0).reshape(2, 3, 4))).shape == (6, 4)  # type: ignore[union-attr]
    assert thumbnail(Data((99, 99), "float32", thumb=bytes(16), thumb_shape=(2, 2))).shape == (2, 2)  # type: ignore[union-attr]
    assert thumbnail(Data((99, 99), "float32", thumb=bytes(3), thumb_shape=(2, 2))) is None
    assert thumbnail(Data((99, 99), "float32", missing="budget")) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (0.26612, "0.2661"),
        (1e-7, "1e-7"),
        (1234567.0, "1.23e6"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
    ],
)
def test_numbers_as_people_read_them(value: float, text: str) -> None:
    assert number(value) == text
