"""Beside each line: what its names hold by a step, and how far the gradient has come, as that step's frame has it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gradviz.player.margin import Margin
from gradviz.trace import Trace

TEXT = """import torch
w = torch.ones(3, requires_grad=True)
y = (w * w
     + w)
loss = y.sum()
loss.backward()
w = w * 2
"""


@pytest.fixture
def trace(record_text: Callable[[str], Trace]) -> Trace:
    return record_text(TEXT)


def test_names_stand_at_the_line_that_gave_them_their_tensor(trace: Trace) -> None:
    margin = Margin()
    assert margin.names(trace, 0) == {}
    last = margin.names(trace, trace.steps)
    assert {line: [name for name, _ in held] for line, held in last.items()} == {4: ["y"], 5: ["loss"], 7: ["w"]}
    before = margin.names(trace, trace.steps - 1)
    assert [name for name, _ in before[2]] == ["w"] and before[2][0][1] != last[7][0][1]


def test_signs_follow_the_frame_at_every_step(trace: Trace) -> None:
    margin, seen = Margin(), {line: list[str]() for line in (3, 5, 7)}
    for step in range(trace.steps + 1):
        frame = trace.at(step)
        flows = margin.flows(frame)
        for line, flow in flows.items():
            mine = [
                frame.status(node.id)
                for node in trace.nodes
                if node.op is not None and (span := trace.ops[node.op].span) and span[1] == line
            ]
            alive = [status for status in mine if status in ("pending", "running", "done", "freed")]
            assert flow.nodes == len(alive) and flow.freed == alive.count("freed")
            assert (flow.sign == "running") == ("running" in alive)
            if flow.sign == "waiting":
                assert set(alive) == {"pending"}
            if line in seen and seen[line][-1:] != [flow.sign]:
                seen[line].append(flow.sign)
    assert seen[5][:2] == ["waiting", "running"] and seen[3][0] == "waiting"
    assert seen[3][-1] == "freed", "w * w had saved w"
    assert seen[7] == ["waiting"]


def test_it_grows_with_the_recording_and_starts_over_with_another(trace: Trace) -> None:
    margin, growing = Margin(), Trace()
    for event in trace.events:
        growing.append(event)
        margin.flows(growing.at(growing.steps))
    assert margin.flows(growing.at(growing.steps)) == Margin().flows(trace.at(trace.steps))
    assert margin.flows(Trace().at(0)) == {}
