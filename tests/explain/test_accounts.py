"""The ledger of a leaf that was written to very often."""

from __future__ import annotations

from gradviz.explain import ledger
from gradviz.explain.accounts import writes_near
from tests.long_runs import loop


def test_the_writes_nearest_to_a_step_are_a_part_of_all() -> None:
    trace = loop(100)
    whole = ledger(trace, 0)
    assert len(whole) == 100
    for step in (0, whole[3].step, whole[50].step, trace.steps):
        part, before, after = writes_near(trace, 0, step, 10)
        shown = ledger(trace, 0, part=part)
        assert shown == whole[before : before + 10] and before + 10 + after == 100
        assert not step or any(row.step == step for row in shown) or step == trace.steps
    assert writes_near(trace, 0, 5, 200)[1:] == (0, 0) and writes_near(trace, 7, 5, 200)[1:] == (0, 0)
