"""What is on its way between two nodes is read once, and read anew wherever the program may have written to it."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from gradviz.recorder import record, snapshot
from gradviz.recorder.running import Begun, is_taken
from gradviz.trace import to_numpy
from gradviz.trace.events import Grad, NodeRan, NodeStarted

LARGE = 5_000
"""Elements: more than are kept, so that each reading makes statistics of its own."""


def _readings(monkeypatch: pytest.MonkeyPatch, program: Callable[[], object]) -> tuple[Any, int]:
    """The recording of a program, and how many large contents were read during its last pass."""
    count = 0
    real: Any = snapshot._large

    def large(*args: Any) -> Any:
        nonlocal count
        count += 1
        return real(*args)

    monkeypatch.setattr(snapshot, "_large", large)
    with record() as recording:
        loss: Any = program()
        count = 0
        loss.backward()
    return recording.trace, count


def test_a_gradient_passed_on_and_taken_by_a_leaf_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = torch.ones(LARGE, requires_grad=True), torch.ones(LARGE)
    trace, count = _readings(monkeypatch, lambda: ((x + y) * 2).sum())
    assert count == 2  # what sum returns and what * returns: + passes it on, and the leaf takes it
    assert x.grad is not None
    norm = pytest.approx(float(x.grad.norm()))
    runs = {trace.nodes[e.node].name: e for e in trace.events if isinstance(e, NodeRan)}
    assert len(runs) == 4
    told = [runs["AddBackward0"].gin[0], runs["AddBackward0"].gout[0], runs["AccumulateGrad"].gin[0]]
    assert [d.norm for d in told if d is not None] == [norm] * 3
    assert [e.after.norm for e in trace.events if isinstance(e, Grad) and e.after is not None] == [norm]


def test_a_gradient_returned_for_both_inputs_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = (torch.ones(LARGE, requires_grad=True) for _ in range(2))
    trace, count = _readings(monkeypatch, lambda: ((x * 2) + (y * 3)).sum())
    assert count == 3  # what sum returns, and what each * returns
    add = next(e for e in trace.events if isinstance(e, NodeRan) and trace.nodes[e.node].name == "AddBackward0")
    assert add.gout[0] is not None
    assert add.gout[0].mean == 1
    assert add.gout == (add.gin[0], add.gin[0])
    assert [float(t.grad[0]) for t in (x, y) if t.grad is not None] == [2, 3]
    assert [e.after.mean for e in trace.events if isinstance(e, Grad) and e.after is not None] == [3, 2]


def test_a_gradient_added_to_another_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.ones(LARGE, requires_grad=True)
    x.grad = torch.full((LARGE,), 2.0)
    trace, _ = _readings(monkeypatch, lambda: (x * 3).sum())
    last = [e for e in trace.events if isinstance(e, Grad) and e.cause == "accumulate"][-1]
    assert last.after is not None
    assert last.after.mean == float(x.grad.mean()) == 5


def _in_place(grad: Any) -> None:
    grad.mul_(10)


def _behind(grad: Any) -> None:
    grad.data.mul_(10)


@pytest.mark.parametrize("write", [_in_place, _behind])
@pytest.mark.parametrize("size", [3, LARGE])
def test_a_grad_that_a_hook_on_its_node_wrote_to_is_read_anew(write: Callable[[Any], None], size: int) -> None:
    x = torch.ones(size, requires_grad=True)
    node: Any = x.view_as(x).grad_fn.next_functions[0][0]  # type: ignore[union-attr]
    node.register_hook(lambda *_: write(x.grad))
    with record(values="all") as recording:
        (x * 3).sum().backward()
    assert x.grad is not None
    assert float(x.grad[0]) == 30
    last = [e for e in recording.trace.events if isinstance(e, Grad)][-1]
    assert last.after is not None
    assert to_numpy(last.after).tobytes() == x.grad.numpy().tobytes()


def test_what_a_pre_hook_wrote_to_is_not_taken_for_what_was_given() -> None:
    x = torch.ones(4, requires_grad=True)
    y = x * 1
    node: Any = y.grad_fn
    with record(values="all") as recording:
        z = y + x
        node.register_prehook(lambda grads: (grads[0] * 10,))
        z.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [11.0] * 4
    ran = next(e for e in recording.trace.events if isinstance(e, NodeRan) and e.gin_before is not None)
    before, after = ran.gin_before, ran.gin
    assert before is not None
    assert before[0] is not None
    assert after[0] is not None
    assert to_numpy(before[0]).tolist() == [1] * 4
    assert to_numpy(after[0]).tolist() == [10] * 4


def test_taken_is_what_stands_on_the_same_memory_unwritten() -> None:
    given = torch.ones(3)
    begun = Begun(NodeStarted(0, 0), version=given._version)
    grad = given.detach()
    assert is_taken(begun, grad, given)
    assert not is_taken(begun, grad.clone(), given)
    assert not is_taken(begun, given[:2], given)
    grad.mul_(2)
    assert not is_taken(begun, grad, given)
    assert not is_taken(Begun(NodeStarted(0, 0)), given.detach(), given)
