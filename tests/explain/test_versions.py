"""The versions are those of PyTorch's counter, each with the line that wrote it; silent writes are told."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import numpy as np
import torch

from gradviz.explain.labels import saved_data
from gradviz.explain.rules import numbers
from gradviz.explain.versions import Version, keepers, versions
from gradviz.trace import Trace, to_numpy
from tests.cases.helpers import node, recorded
from tests.explain.case_programs import trace_of

ALL = 1000


def history(trace: Trace, name: str, most: int = ALL) -> list[Version]:
    tensor = trace.named(name)
    assert tensor is not None
    return versions(trace, tensor, trace.steps, most)[0]


def writes() -> list[tuple[int, list[float]]]:
    """Counter and content of y after each of its changes."""
    seen = []

    def see() -> None:
        seen.append((y._version, y.detach().tolist()))

    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = w * 2
    see()
    y.add_(1)
    see()
    v = y[:2]
    v.mul_(3)
    see()
    y.data.zero_()
    see()
    d = y.detach()
    d.add_(5)
    see()
    return seen


def test_each_version_is_pytorch_s_and_names_what_wrote_it() -> None:
    plain = writes()
    trace, _ = recorded(writes)
    told = history(trace, "y")
    assert [(v.number, to_numpy(v.data).tolist()) for v in told if v.data] == plain
    assert [v.kind for v in told] == ["made", "write", "write", "silent", "write"]
    assert [v.source for v in told] == ["w * 2", "y.add_(1)", "v.mul_(3)", "y.data.zero_()", "d.add_(5)"]
    assert [v.through for v in told][:3] == [None, None, "v"]
    assert told[-1].through == "d"
    assert [v.step for v in told] == sorted({v.step for v in told})


def moved() -> list[int]:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    w.data = torch.zeros(2)
    with torch.no_grad():
        w.add_(3)
    del loss
    return [w._version]


def test_other_memory_is_told_and_is_not_what_was_saved() -> None:
    trace, counters = recorded(moved)
    told = history(trace, "w")
    assert [v.kind for v in told] == ["made", "moved", "write"]
    assert told[1].number == told[0].number
    assert told[2].number == counters[0]
    mul = node(trace, "MulBackward0")
    saved = next(s for s in mul.saved if s.tensor is not None)
    data = saved_data(trace, mul.id, saved, trace.steps)
    assert data is not None
    assert to_numpy(data).tolist() == [1.0, 2.0]


def silent() -> list[float]:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    w.data.mul_(10)
    loss.backward()
    assert w.grad is not None
    return w.grad.tolist()


def test_a_rule_has_the_numbers_that_a_silent_write_left() -> None:
    """PyTorch multiplies with what the memory holds, not with what it held when it was saved."""
    trace, grad = recorded(silent)
    mul = node(trace, "MulBackward0")
    run = trace.at(trace.steps).run(mul.id)
    assert run is not None
    halves = [to_numpy(data) for data in run.gout if data is not None]
    assert np.sum(halves, axis=0).tolist() == grad
    lines = numbers(trace, trace.steps, mul.id)
    assert all(line.endswith("[1, 1] · [10, 20] = [10, 20]") for line in lines)


def test_only_the_last_versions_are_looked_up() -> None:
    trace, _ = recorded(writes)
    tensor = trace.named("y")
    assert tensor is not None
    found, before = versions(trace, tensor, trace.steps, 2)
    assert [v.kind for v in found] == ["silent", "write"]
    assert before == 3
    assert versions(trace, tensor, 0, 2) == ([], 0)


def test_who_keeps_a_tensor_from_when_to_when() -> None:
    trace = trace_of("A1")
    x = trace.named("x")
    assert x is not None
    mul = node(trace, "MulBackward0")
    freed = int(trace.freed_step.view[trace.freed_node.view == mul.id][0])
    held, over = (keepers(trace, x, step, ALL)[0] for step in (freed - 1, freed))
    assert [(k.node, k.since, k.until) for k in held] == [(mul.id, int(trace.node_step.view[mul.id]), None)] * 2
    assert [k.until for k in over] == [freed, freed]
    assert keepers(trace, x, 0, ALL) == ([], 0)
    assert keepers(trace, x, freed, 1) == (over[1:], 1)


def test_a_stale_version_is_told_while_it_is_kept() -> None:
    trace = trace_of("A9")
    fault = trace.faults[-1]
    assert fault.tensor is not None
    (kept,) = [k for k in keepers(trace, fault.tensor, trace.steps, ALL)[0] if k.node == fault.node]
    assert (kept.version, kept.now) == (fault.facts["saved_version"], fault.facts["version"])
    assert kept.is_stale
    changed = next(v for v in versions(trace, fault.tensor, trace.steps, ALL)[0] if v.kind == "write")
    (before,) = [k for k in keepers(trace, fault.tensor, changed.step - 1, ALL)[0] if k.node == fault.node]
    assert not before.is_stale
