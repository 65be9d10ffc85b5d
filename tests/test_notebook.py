"""A recording in a notebook: self-contained, all steps in it, and through `Trace` itself."""

from __future__ import annotations

import json
import re

import gradviz
from gradviz.notebook import MOST_PICTURES, bundle, shown_steps
from tests.scene.one_layer import recording


def test_all_steps_are_in_the_page_and_nothing_is_fetched() -> None:
    trace = recording()
    page = bundle(trace)["text/html"]
    found = re.search(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data = json.loads(found.group(1))
    assert data["steps"] == list(range(trace.steps + 1))
    assert all(picture.startswith("<svg") for picture in data["pictures"])
    assert "src=" not in page and "href" not in page


def test_long_recordings_are_thinned_evenly() -> None:
    steps = shown_steps(10_000)
    assert steps[0] == 0 and steps[-1] == 10_000
    assert len(steps) == MOST_PICTURES


def test_a_trace_displays_itself() -> None:
    assert gradviz.Trace is type(recording())
    shown = recording()._repr_mimebundle_()
    assert "<svg" in shown["text/html"]
    assert shown["text/plain"].startswith("<Trace of")
