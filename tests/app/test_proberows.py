"""What the inspector shows of a finite difference and of a Jacobian."""

from __future__ import annotations

import numpy as np
import pytest

from gradviz.app.proberows import DIFFERENCE, LENS, probe_rows
from gradviz.app.rows import Note, Numbers, Pair, spoken
from gradviz.explain.difference import Difference, Kind, Lens, Plan, plan_of
from gradviz.trace import Trace, to_numpy
from tests.explain.case_programs import trace_of


def _plan() -> tuple[Trace, Plan]:
    trace = trace_of("A23")
    tensor = trace.named("x")
    assert tensor is not None
    plan = plan_of(trace, tensor, (1,), trace.steps)
    assert isinstance(plan, Plan)
    return trace, plan


def test_nothing_where_nothing_can_be_measured() -> None:
    trace, plan = _plan()
    assert probe_rows(trace, plan.tensor, None, "en") == []
    rows = probe_rows(trace, plan.tensor, None, "en", can=True)
    assert [row.go for row in rows if isinstance(row, Note)] == [DIFFERENCE, LENS]


@pytest.mark.parametrize("kind", ["agrees", "differs", "kink", "random", "branch", "failed"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_outcome_is_a_whole_sentence(kind: Kind, language: str) -> None:
    trace, plan = _plan()
    found = Difference(kind, plan, 19.99, 19.98, 20.01, 0.1, 222.0, "detail")
    rows = probe_rows(trace, plan.tensor, found, language)
    text = spoken(rows)
    assert "{" not in text and "ui.probe" not in text
    assert isinstance(rows[1], Pair) and rows[1].label == "x.grad[1]" and rows[1].right == "20"
    assert ("19.99" in text) == (kind in ("agrees", "differs", "kink"))


def test_another_leaf_does_not_show_it() -> None:
    trace, plan = _plan()
    assert probe_rows(trace, plan.tensor + 1, Difference("agrees", plan), "en") == []


def test_the_rows_of_the_jacobian_are_pale_and_the_product_is_not() -> None:
    trace, plan = _plan()
    rows = ((2.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 2.0))
    numbers = [
        r for r in probe_rows(trace, plan.tensor, Lens(plan, (1, 10, 100), rows), "en") if isinstance(r, Numbers)
    ]
    assert [n.faint for n in numbers] == [True, True, True, False]
    assert all(n.data is not None for n in numbers)
    grad = trace.at(trace.steps).grad("x")
    assert grad is not None and numbers[-1].data is not None and np.array_equal(to_numpy(numbers[-1].data), grad)
