"""The leaf that a question is about."""

from __future__ import annotations

from dataclasses import replace

from gradviz.player.subject import leaf_of
from gradviz.player.view import ViewState
from tests.explain.case_programs import trace_of


def test_selected_or_changed_by_the_step() -> None:
    trace = trace_of("A3")
    x = trace.named("x")
    last = ViewState(step=trace.steps, steps=trace.steps)
    assert leaf_of(trace, last) == x, "the step adds to it"
    assert leaf_of(trace, replace(last, step=trace.steps - 1)) is None
    assert leaf_of(trace, replace(last, step=1, selection=f"leaf:{x}@op:1")) == x
    assert leaf_of(trace, replace(last, selection=f"tensor:{trace.named('loss')}")) is None
    assert leaf_of(trace, replace(last, selection="node:1")) is None
    assert leaf_of(trace, replace(last, selection=f"tensor:{x}", step=0)) is None, "it does not exist yet"
