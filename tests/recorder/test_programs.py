"""Recorded programs against plain ones: results to the bit, generator state, nothing left behind; and what was told."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import gradviz
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


def test_a_source_that_cannot_be_parsed_costs_names_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPython 3.11 can raise SystemError where two threads parse at a time."""

    def broken(*_: object, **__: object) -> ast.Module:
        raise SystemError("AST constructor recursion depth mismatch (before=42, after=37)")

    with monkeypatch.context() as patch, gradviz.record() as session:
        patch.setattr(ast, "parse", broken)
        x, y = torch.ones(2, requires_grad=True) * 2, torch.ones(2)
        (x * y).sum().backward()
    assert len(session.trace.passes) == 1
    assert session.trace.faults == []
