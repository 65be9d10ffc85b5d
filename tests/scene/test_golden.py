"""Pictures of the one-layer example, kept as SVG text. `GRADVIZ_GOLDEN=write pytest tests/scene/test_golden.py` makes
them anew: look at each before it is committed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradviz.export.svg import document
from gradviz.player.view import ViewState
from gradviz.scene.compose import compose
from gradviz.scene.figure import page
from gradviz.scene.theme import load_theme
from tests.scene.one_layer import placed, recording

FOLDER = Path(__file__).parents[1] / "golden"
PICTURES = [
    ("start", "light", 0, {}),
    ("forward", "light", 6, {}),
    ("backward", "light", 10, {}),
    ("travelling", "light", 10, {"alpha": 0.4}),
    ("backward", "dark", 10, {}),
    ("accumulate", "dark", 18, {}),
    ("selected", "projector", 14, {"selection": "node:4"}),
    ("error", "dark", 16, {}),
]


@pytest.mark.parametrize(("name", "theme", "step", "view"), PICTURES)
def test_picture_is_as_it_was(name: str, theme: str, step: int, view: dict[str, object]) -> None:
    trace = recording(1, retain=False, fault=True) if name == "error" else recording(2)
    shown = ViewState(step=step, steps=trace.steps, theme=theme, **view)  # type: ignore[arg-type]
    colors = load_theme(theme)
    svg = document(page(compose(*placed(), trace.at(step), shown, colors), colors))
    path = FOLDER / f"one_layer_{name}_{theme}.svg"
    if os.environ.get("GRADVIZ_GOLDEN") == "write":
        path.write_text(svg, "utf-8")
    assert svg == path.read_text("utf-8")
