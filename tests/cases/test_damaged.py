"""What is left of a damaged recording is walked as a person would: no step, graph, sentence or export fails."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from gradviz.explain import narrate, why
from gradviz.export.graphml import to_graphml
from gradviz.export.info import describe, summary
from gradviz.export.json_ import to_json
from gradviz.export.svg import to_svg
from gradviz.graph.build import build
from gradviz.graph.layout import lay_out
from gradviz.player.lines import default_root, leaves
from gradviz.player.query import find
from gradviz.trace import NotCaptured, Trace, TraceError, open_trace
from tests.trace.damage import sweep

MOST = 200
"""Steps that are visited one by one; of a longer recording both ends and the middle."""


def drive(trace: Trace) -> None:
    last = trace.steps
    steps = range(last + 1) if last < MOST else [0, 1, last // 2, last - 1, last]
    for step in steps:
        visit(trace, step)
    for mode in ("both", "forward", "autograd"):
        lay_out(build(trace, mode))
    json.dumps(describe(trace))
    assert summary(trace)
    json.loads(to_json(trace, last))
    for step in {last, last // 2}:
        ET.fromstring(to_svg(trace, step))
        ET.fromstring(to_graphml(trace, step))
    default_root(trace)
    leaves(trace)
    find(trace.at(last), "add")
    for kind, count in (("node", len(trace.nodes)), ("tensor", len(trace.tensors)), ("op", len(trace.ops))):
        for ident in range(min(count, 20)):
            assert why(trace, last, f"{kind}:{ident}")


def visit(trace: Trace, step: int) -> None:
    frame = trace.at(step)
    assert len(frame.statuses) == len(trace.nodes)
    assert frame.held_bytes >= 0
    trace.events_of(step), trace.kind(step), trace.span(step), trace.origin(step), trace.pass_at(step)
    for language in ("en", "zh"):
        assert narrate(trace, step, language).title
    for tensor in list(trace.tensors)[:30]:
        trace.tensor(tensor, step)
        for ask in (frame.value, frame.grad):
            try:
                ask(tensor)
            except NotCaptured:
                continue


def check(count: int, seed: int, path: Path) -> None:
    walked = 0
    for name, data in sweep(count, seed):
        path.write_bytes(data)
        try:
            trace = open_trace(path)
        except TraceError:
            continue
        try:
            drive(trace)
        except Exception as error:
            raise AssertionError(f"{name}: {trace} {trace.damage}") from error
        walked += trace.damage is not None
    assert walked > count / 4


def test_what_is_left_of_damaged_files_can_be_walked(tmp_path: Path) -> None:
    check(40, 5, tmp_path / "damaged.gradviz")


@pytest.mark.slow
def test_what_is_left_of_many_damaged_files_can_be_walked(tmp_path: Path) -> None:
    check(1500, 6, tmp_path / "damaged.gradviz")
