"""First views of real programs, recorded by PyTorch in this test without their numbers, kept as SVG text.

`GRADVIZ_GOLDEN=write pytest tests/scene/test_golden_models.py` makes them anew: look at each before it is committed.
The names of nodes are those of one PyTorch, whose version stands in the folder.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest
import torch

import gradviz
from gradviz.export.svg import document
from gradviz.graph import build, lay_out
from gradviz.player.view import ViewState
from gradviz.scene.compose import compose
from gradviz.scene.figure import page
from gradviz.scene.theme import load_theme
from gradviz.trace import Trace
from tests.scene.models import MODELS

FOLDER = Path(__file__).parents[1] / "golden" / "models"
TORCH = FOLDER / "torch.txt"
WRITE = os.environ.get("GRADVIZ_GOLDEN") == "write"
HERE = torch.__version__.partition("+")[0]
MOST = 60
"""Cards of a first view."""


@cache
def recorded(name: str) -> Trace:
    torch.manual_seed(0)
    with gradviz.record(values="none") as recording:
        MODELS[name]()
    trace: Trace = recording.trace
    return trace


def picture(trace: Trace, theme: str, share: float) -> str:
    graph = build(trace)
    step = round(share * trace.steps)
    view = ViewState(step=step, steps=trace.steps, theme=theme)
    colors = load_theme(theme)
    return document(page(compose(graph, lay_out(graph), trace.at(step), view, colors), colors))


PICTURES = [(name, "light", 0.8) for name in MODELS]
PICTURES += [(name, "dark", 1.0) for name in ("gpt12", "lstm200", "gan", "training")]


@pytest.mark.parametrize(("name", "theme", "share"), PICTURES)
def test_picture_is_as_it_was(name: str, theme: str, share: float) -> None:
    svg = picture(recorded(name), theme, share)
    path = FOLDER / f"{name}_{theme}.svg"
    if WRITE:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(svg, "utf-8")
        TORCH.write_text(HERE + "\n", "utf-8")
    if TORCH.read_text("utf-8").strip() != HERE:
        pytest.skip("the pictures are of another PyTorch")
    assert svg == path.read_text("utf-8")


@pytest.mark.parametrize("name", MODELS)
def test_a_first_view_is_no_longer_than_a_page(name: str) -> None:
    graph = build(recorded(name))
    layout = lay_out(graph)
    _, _, width, height = layout.bounds
    assert len(graph.cards) <= 3 + MOST
    assert width < 4000
    assert height < 2000
    assert width / max(height, 160.0) < 9
