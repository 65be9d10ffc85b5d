"""The ready queue in the inspector names the nodes of PyTorch's engine."""

from __future__ import annotations

import pytest

from gradviz.app.queuerows import queue_rows
from gradviz.app.rows import Head, Pair
from gradviz.explain.readyqueue import ready_queue
from tests.explain.case_programs import trace_of


@pytest.mark.parametrize("language", ["en", "zh"])
def test_rows_follow_the_queue(language: str) -> None:
    trace = trace_of("A76")
    began = int(trace.pass_step.view[0])
    assert queue_rows(trace.at(began - 1), language) == []
    for step in range(began, trace.steps + 1):
        queue = ready_queue(trace, step)
        assert queue is not None
        rows = queue_rows(trace.at(step), language)
        assert isinstance(rows[0], Head)
        linked = [row.go for row in rows if isinstance(row, Pair)]
        running = [queue.running] if queue.running is not None else []
        wanted = [*running, *queue.ready[:6], *(w.node for w in queue.waiting[:6])]
        assert linked == [f"node:{n}" for n in wanted]


def test_a_dropped_queue_says_so() -> None:
    trace = trace_of("A9")
    assert "dropped" not in str(queue_rows(trace.at(trace.steps - 1), "en"))
    assert "drops the queue" in str(queue_rows(trace.at(trace.steps), "en"))
