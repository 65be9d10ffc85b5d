"""Breakpoints: where the playhead stops, and that they stay with their lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.player.breaks import Stops, is_hit, lines, moved, toggled
from gradviz.trace import Trace
from gradviz.trace.events import NodeRan, Op

TEXT = """import torch
w = torch.ones(3, requires_grad=True)
for k in range(3):
    y = w * k + 1
    y.sum().backward()
"""


@pytest.fixture
def trace(record_text: Callable[[str], Trace]) -> Trace:
    return record_text(TEXT)


def walked(trace: Trace, breaks: frozenset[str]) -> list[int]:
    stops, found, back = Stops(trace, breaks), [0], [trace.steps + 1]
    while (following := stops.next(found[-1])) is not None:
        found.append(following)
    while (before := stops.previous(back[-1])) is not None:
        back.append(before)
    assert found[1:] == back[:0:-1] == [step for step in range(trace.steps + 1) if is_hit(trace, step, breaks)]
    return found[1:]


def test_a_line_stops_once_each_time_the_program_comes_there(trace: Trace) -> None:
    for line, name in ((4, "mul"), (5, "sum")):
        stops = walked(trace, frozenset({f"line:{line}"}))
        events = [trace.event_at(step) for step in stops]
        assert [event.name for event in events if isinstance(event, Op)] == [name] * 3
    assert walked(trace, frozenset({"line:1", "line:99"})) == []


def test_a_node_stops_when_it_is_born_and_when_it_runs(trace: Trace) -> None:
    node = next(node for node in trace.nodes if node.name == "MulBackward0")
    born, ran = walked(trace, frozenset({f"node:{node.id}"}))
    first, second = trace.event_at(born), trace.event_at(ran)
    assert isinstance(first, Op) and node.id in first.nodes
    assert isinstance(second, NodeRan) and second.node == node.id
    assert walked(trace, frozenset({f"op:{node.op}"})) == [born]
    assert not is_hit(trace, 0, frozenset({f"op:{node.op}"})) and not is_hit(trace, born, frozenset())


def test_stops_are_found_as_the_recording_grows(trace: Trace) -> None:
    growing = Trace()
    stops = Stops(growing, frozenset({"line:4"}))
    for event in trace.events:
        growing.append(event)
        stops.next(0)
    assert stops.previous(10**6) == walked(trace, frozenset({"line:4"}))[-1]


def test_toggling_twice_changes_nothing() -> None:
    once = toggled(frozenset(), "line:3")
    assert lines(once) == {3} and toggled(once, "line:3") == frozenset()


texts = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=8)


@given(texts, texts, texts, st.sets(st.integers(1, 16)))
def test_breakpoints_go_with_their_lines(head: list[str], new: list[str], tail: list[str], marked: set[int]) -> None:
    before, after = ["=", *head, "x", *tail, "="], ["=", *head, *(f"new {line}" for line in new), *tail, "="]
    breaks = frozenset({f"line:{line}" for line in marked if line <= len(before)} | {"node:1"})
    result = moved(breaks, "\n".join(before), "\n".join(after))
    assert "node:1" in result
    for line in lines(breaks):
        if line <= len(head) + 1:
            assert f"line:{line}" in result
        elif line > len(head) + 2:
            assert f"line:{line + len(after) - len(before)}" in result
    assert len(result) <= len(breaks) and all(1 <= line <= len(after) for line in lines(result))
