"""Heat cells: centred at 0, exact zero told from small, NaN, infinities and None in looks of their own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.scene import heat
from gradviz.scene.theme import contrast, load_theme
from gradviz.trace.events import Data
from tests.scene.one_layer import data

LIGHT = load_theme("light")


def test_zero_is_the_middle_and_signs_go_apart() -> None:
    cells = heat.cells(0, 0, data([[-2.0, 0.0, 2.0]]), (1, 3), LIGHT)
    assert cells.colors == (LIGHT.heat_low, LIGHT.heat_zero, LIGHT.heat_high)
    assert cells.marks == ".0."


def test_the_smallest_number_is_not_zero() -> None:
    cells = heat.cells(0, 0, data([1e-30, 0.0, 1.0]), (1, 3), LIGHT)
    assert len(set(cells.colors)) == 3


def test_nan_infinities_and_none_are_three_looks() -> None:
    cells = heat.cells(0, 0, data([np.nan, np.inf, -np.inf, 1.0]), (1, 4), LIGHT)
    assert cells.marks == "n+-."
    assert cells.colors[3] == LIGHT.heat_high, "infinities do not set the scale"
    assert heat.cells(0, 0, None, (2, 2), LIGHT).marks == "oooo"


def test_what_was_not_recorded_says_so() -> None:
    cells = heat.cells(0, 0, Data((4,), "float32", missing="off"), (1, 4), LIGHT)
    assert cells.marks == "????"


def test_large_tensors_are_shown_by_block_means_and_keep_their_nan() -> None:
    values = np.zeros((64, 32), np.float32)
    values[:, 16:] = 4.0
    values[63, 31] = np.nan
    cells = heat.cells(0, 0, data(values), (2, 2), LIGHT)
    assert cells.marks == "0.0n"
    assert cells.colors[1] == LIGHT.heat_high


def test_a_common_scale_makes_a_sum_stronger_than_its_parts() -> None:
    part = heat.cells(0, 0, data([1.0]), (1, 1), LIGHT, scale=2.0)
    total = heat.cells(0, 0, data([2.0]), (1, 1), LIGHT, scale=2.0)
    assert contrast(part.colors[0], LIGHT.heat_zero) < contrast(total.colors[0], LIGHT.heat_zero)


@given(
    shape=st.tuples(st.integers(0, 30), st.integers(0, 30)),
    grid=st.tuples(st.integers(1, 9), st.integers(1, 9)),
)
def test_any_tensor_fits_any_grid(shape: tuple[int, int], grid: tuple[int, int]) -> None:
    cells = heat.cells(0, 0, data(np.arange(shape[0] * shape[1]).reshape(shape)), grid, LIGHT)
    assert len(cells.colors) == len(cells.marks) == grid[0] * grid[1]


@pytest.mark.parametrize(("shape", "grid"), [((), (1, 1)), ((5,), (1, 5)), ((3, 100), (3, 8)), ((2, 3, 4), (6, 4))])
def test_grid_of_a_shape(shape: tuple[int, ...], grid: tuple[int, int]) -> None:
    assert heat.grid_of(Data(shape, "float32")) == grid
