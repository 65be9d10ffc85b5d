"""A step as JSON."""

from __future__ import annotations

import json

from gradviz.export.json_ import to_json
from tests.scene.one_layer import recording


def test_what_held_then() -> None:
    trace = recording()
    early, late = json.loads(to_json(trace, 0)), json.loads(to_json(trace, trace.steps))
    assert set(early["at"]["status"]) == {"not born"}
    assert "not born" not in late["at"]["status"]
    assert early["at"]["values"].keys() <= late["at"]["values"].keys()
    assert len(late["at"]["status"]) == len(late["nodes"])
    grads = {leaf["name"]: leaf["grad"] for leaf in late["leaves"]}
    assert grads["b"] == trace.at(trace.steps).grad("b").tolist()  # type: ignore[union-attr]
    assert all(leaf["grad"] is None for leaf in early["leaves"])
