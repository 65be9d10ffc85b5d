"""Rows about versions and lifetimes: each leads to its step or node, in both languages without an open field."""

from __future__ import annotations

import pytest

from gradviz.app.historyrows import keeper_rows, saved_rows, version_rows
from gradviz.app.rows import Entry, Pair, spoken
from gradviz.explain.versions import versions
from tests.cases.helpers import recorded
from tests.explain.case_programs import trace_of
from tests.explain.test_versions import moved, writes


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_version_is_a_row_that_leads_to_its_step(language: str) -> None:
    for program, name in ((writes, "y"), (moved, "w")):
        trace, _ = recorded(program)
        tensor = trace.named(name)
        assert tensor is not None
        rows = version_rows(trace.at(trace.steps), tensor, language)
        entries = [row for row in rows if isinstance(row, Entry) and not row.heading]
        told = versions(trace, tensor, trace.steps, 100)[0]
        assert [row.go for row in entries] == [version.step for version in told]
        flagged = [version.kind in ("silent", "moved") for version in told]
        assert [row.ink == "error" for row in entries] == flagged
        assert "{" not in spoken(rows)


def test_a_tensor_that_was_never_written_to_has_no_history() -> None:
    trace = trace_of("A1")
    x = trace.named("x")
    assert x is not None
    assert version_rows(trace.at(trace.steps), x, "en") == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_saved_version_that_is_gone_is_told_at_the_node_and_at_the_tensor(language: str) -> None:
    trace = trace_of("A9")
    fault = trace.faults[-1]
    assert fault.tensor is not None
    assert fault.node is not None
    frame = trace.at(trace.steps)
    for rows in (saved_rows(frame, fault.node, language), keeper_rows(frame, fault.tensor, language)):
        assert any(isinstance(row, Pair) and row.ink == "error" for row in rows)
        assert "{" not in spoken(rows)
        assert all(str(fault.facts[key]) in spoken(rows) for key in ("saved_version", "version"))


def test_what_a_node_kept_is_struck_when_it_is_freed() -> None:
    trace = trace_of("A1")
    (mul,) = [n for n in trace.nodes if n.name == "MulBackward0"]
    freed = int(trace.freed_step.view[trace.freed_node.view == mul.id][0])
    for step, struck in ((freed - 1, False), (freed, True)):
        pairs = [row for row in saved_rows(trace.at(step), mul.id, "en") if isinstance(row, Pair)]
        assert pairs
        assert all(row.struck == struck for row in pairs if row.go)
