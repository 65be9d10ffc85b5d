"""Recorded programs against plain ones: results to the bit, generator state, nothing left behind; and what was told."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from tests.recorder.oracle import both
from tests.recorder.programs import PROGRAMS


@pytest.mark.parametrize("values", ["all", "none"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_recording_changes_nothing(program: Callable[[], Any], values: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = both(program, values)
    assert trace.steps > 0
    assert trace.complete


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_planned_order_is_the_order_in_which_the_nodes_ran(program: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = both(program)
    failed = {fault.within for fault in trace.faults}
    for run in trace.passes:
        if run.id not in failed:
            assert trace.order(run.id) == list(run.planned)
