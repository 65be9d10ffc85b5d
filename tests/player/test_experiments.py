"""Each experiment is run by PyTorch alone too: what is shown as changed is what it really changes."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gradviz.player.compare import Change, Comparison, compare
from gradviz.player.experiments import KINDS, Experiment, experiments
from gradviz.trace import Trace, open_trace, to_numpy
from gradviz.trace.events import Data, Fault, Grad, NodeRan
from tests.long_runs import loop, work

LOOP = """import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout(0.5))
w = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
x = torch.tensor([1.0, 2.0, 3.0])
with torch.no_grad():
    y = model(x)
for i in range(2):
    h = (w * x).exp()
    loss = (h * h).mean()
    w.grad = None
    loss.backward()
    with torch.no_grad():
        w -= 0.001 * w.grad
"""
Runs = dict[str, tuple[Experiment, Trace]]


def plain(text: str) -> tuple[dict[str, Any], str | None]:
    """Names of a program after plain Python ran it, and the message of the error that ended it."""
    space: dict[str, Any] = {"__name__": "__main__"}
    error = None
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            exec(compile(text, "plain", "exec"), space)
        except Exception as raised:
            error = str(raised)
    return space, error


@pytest.fixture(scope="module")
def unbroken(record_many: Callable[[list[str]], list[Trace]]) -> Trace:
    return record_many([LOOP])[0]


@pytest.fixture(scope="module")
def runs(record_many: Callable[[list[str]], list[Trace]], unbroken: Trace) -> Runs:
    found = experiments(unbroken, LOOP)
    return {e.kind: (e, t) for e, t in zip(found, record_many([e.text for e in found]), strict=True)}


def compared(unbroken: Trace, runs: Runs, kind: str) -> Comparison:
    experiment, broken = runs[kind]
    return compare(unbroken, broken, experiment.line, experiment.was)


def change(found: Comparison, what: str, name: str = "") -> Change:
    return next(c for c in found.changes if c.what == what and c.name == name)


def array(data: object) -> Any:
    assert isinstance(data, Data)
    return to_numpy(data)


def test_all_are_offered_where_the_program_has_the_thing(runs: Runs) -> None:
    assert tuple(runs) == KINDS
    assert all(e.text.split("\n")[e.line - 1].strip() == e.shown for e, _ in runs.values())


@pytest.mark.parametrize("kind", KINDS)
def test_what_changed_is_what_pytorch_changes(unbroken: Trace, runs: Runs, kind: str) -> None:
    found, (experiment, _) = compared(unbroken, runs, kind), runs[kind]
    (before, failed_before), (after, failed) = plain(LOOP), plain(experiment.text)
    assert failed_before is None
    assert (failed is not None) == any(c.what == "fault" for c in found.changes)
    if failed is not None:
        fault = change(found, "fault").new
        assert isinstance(fault, Fault) and fault.message.split("\n")[0] == failed.split("\n")[0]
    shown: dict[tuple[str, str], Change] = {(c.what, c.name): c for c in found.changes}
    for name in ("w", "h", "loss", "y"):
        for what, of in (("value", lambda t: t.detach()), ("grad", lambda t: t.grad if t.is_leaf else None)):
            one, other = (of(space[name]) if name in space else None for space in (before, after))
            same = one is other or (one is not None and other is not None and torch.equal(one, other))
            assert ((what, name) in shown) != same, (kind, what, name)
            if not same:
                told = shown[what, name]
                assert (told.new is None) == (other is None)
                assert other is None or np.array_equal(array(told.new), other.numpy())
                assert one is None or np.array_equal(array(told.old), one.numpy())
        for what in ("requires_grad", "is_leaf"):
            flag = shown.get((what, name))
            flags = (getattr(before[name], what), getattr(after[name], what)) if failed is None else None
            if flag is not None and flags is not None:
                assert (flag.old, flag.new) == flags and flag.old != flag.new, (kind, what, name)
            assert what == "is_leaf" or flags is None or (flag is None) == (flags[0] == flags[1]), (kind, name)


def test_zeroing_left_out_shows_at_the_second_accumulation(unbroken: Trace, runs: Runs) -> None:
    step = compared(unbroken, runs, "no_zero").step
    assert step is not None
    _, broken = runs["no_zero"]
    event, writes = broken.event_at(step), [e for e in broken.events_of(step) if isinstance(e, Grad)]
    assert isinstance(event, NodeRan) and broken.nodes[event.node].leaf is not None
    assert writes[0].before is not None, "it adds to what the first iteration left"


@pytest.mark.parametrize(("kind", "code"), [("twice", "freed_graph"), ("in_place", "version_mismatch")])
def test_the_first_difference_leads_to_the_fault(unbroken: Trace, runs: Runs, kind: str, code: str) -> None:
    found, (_, broken) = compared(unbroken, runs, kind), runs[kind]
    fault = change(found, "fault").new
    assert isinstance(fault, Fault) and fault.code == code
    assert found.step is not None and found.step <= broken.fault_step.view[fault.id]


def test_data_edits_pass_silently(unbroken: Trace, runs: Runs) -> None:
    found = compared(unbroken, runs, "data")
    assert all(c.what != "fault" for c in found.changes) and change(found, "grad", "w").new is not None


def test_eval_keeps_recording(unbroken: Trace, runs: Runs) -> None:
    _, broken = runs["eval"]
    y, was = broken.named("y"), unbroken.named("y")
    assert y is not None and was is not None
    told, before = broken.tensor(y), unbroken.tensor(was)
    assert told is not None and told.requires_grad and before is not None and not before.requires_grad
    found = compared(unbroken, runs, "eval")
    flag = change(found, "requires_grad", "y")
    assert flag.old is False and flag.new is True
    span = broken.span(found.step) if found.step is not None else None
    assert span is not None and span[1] == 8, "where the model is called"


def test_a_name_that_moved_on_is_said_to_be_no_leaf(record_many: Callable[[list[str]], list[Trace]]) -> None:
    text = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()\n"
    whole = record_many([text])[0]
    rebound = next(e for e in experiments(whole, text) if e.kind == "rebind")
    found = compare(whole, record_many([rebound.text])[0], rebound.line, rebound.was)
    flag, before, after = change(found, "is_leaf", "w"), plain(text)[0]["w"], plain(rebound.text)[0]["w"]
    assert (flag.old, flag.new) == (before.is_leaf, after.is_leaf) == (True, False)


def test_all_models_of_a_block_are_put_into_eval_mode(record_many: Callable[[list[str]], list[Trace]]) -> None:
    text = (
        "import torch\nfrom torch import nn\nfirst, last = nn.Linear(2, 2), nn.Linear(2, 1)\n"
        "with torch.no_grad():\n    print('层', last(torch.relu(first(torch.ones(2)))))\n"
    )
    found = [e for e in experiments(record_many([text])[0], text) if e.kind == "eval"]
    assert [e.shown for e in found] == ["first.eval(); last.eval()"], "and print is none"


def test_equal_runs_do_not_differ(unbroken: Trace) -> None:
    assert compare(unbroken, unbroken, 0) == Comparison((), None)


def test_a_long_recording_is_searched_as_fast_as_a_short_one() -> None:
    long, short = loop(2000), loop(20)
    found = [experiments(trace, trace.header.source) for trace in (short, long)]
    assert found[0] == found[1] and len(found[0]) == 6
    spent = [work(lambda t=trace: experiments(t, t.header.source)) for trace in (short, long)]  # type: ignore[misc]
    assert spent[1] < 2 * spent[0]


@pytest.mark.parametrize("text", ["", "x = (", "import torch\nprint(1)\n"])
def test_nothing_is_offered_for_another_program(unbroken: Trace, text: str) -> None:
    assert experiments(unbroken, text) == ()
    assert experiments(Trace(), "") == ()


def test_a_program_that_fails_is_not_broken_further(recorded: Callable[[str], Path]) -> None:
    trace = open_trace(recorded("second_backward"))
    assert trace.faults and experiments(trace, trace.header.source) == ()
