"""What a picture of one step takes up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gradviz.scene.figure import Figure, extent
from gradviz.trace import open_trace


def test_a_picture_ends_below_the_last_iteration_that_has_begun(recorded: Callable[[str], Path]) -> None:
    figure = Figure(open_trace(recorded("training_loop")), title=False)
    heights = [round(figure.page(step).box[3], -2) for step in range(figure.trace.steps + 1)]
    assert heights[0] == heights[-1] == max(heights), "nothing has begun: the whole place is shown"
    begun = heights[next(step for step, height in enumerate(heights) if height < heights[0]) :]
    assert len(set(begun)) > 2 and sorted(begun) == begun
    for step in range(figure.trace.steps + 1):
        page = figure.page(step)
        low = page.box[1] + page.box[3]
        assert all(extent(shape)[1] < low for shape in page.shapes)
        assert len(page.shapes) <= len(figure.scene(step).shapes())
