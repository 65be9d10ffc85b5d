"""A step of a recording as JSON: what `gradviz info --json` gives, and what held at that step."""

from __future__ import annotations

import json
from typing import Any

from gradviz.export.info import describe, nested_list
from gradviz.trace import Trace


def to_json(trace: Trace, step: int) -> str:
    """One JSON object: the recording's description with `leaves` as they were at `step`, and `at`: the step, its kind,
    each node's status, each named tensor's value (null where not captured) and the bytes held for backward."""
    frame = trace.at(step)
    values: dict[str, Any] = {}
    for name in trace.names:
        tensor = trace.named(name, frame.step)
        data = frame.value_data(tensor) if tensor is not None else None
        if data is not None:
            values[name] = nested_list(data)
    at = {
        "step": frame.step,
        "kind": trace.kind(frame.step),
        "status": [frame.status(node.id) for node in trace.nodes],
        "values": values,
        "held_bytes": frame.held_bytes,
    }
    return json.dumps(describe(trace, frame.step) | {"at": at}, ensure_ascii=False) + "\n"
