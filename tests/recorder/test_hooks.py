"""The recorder's hooks on nodes: among the program's own they change neither order nor numbers, and are gone after."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
import torch

from gradviz.recorder import record
from gradviz.recorder.hooks import After, Before, registering, take_off, to_front
from gradviz.trace import to_numpy
from gradviz.trace.events import NodeRan
from tests.recorder.oracle import both

_MIXIN: Any = torch.autograd.graph.Node


def test_a_key_comes_to_the_front() -> None:
    hooks = OrderedDict.fromkeys((3, 1, 2))
    to_front(hooks, 2)
    assert list(hooks) == [2, 3, 1]


@pytest.mark.parametrize(("kind", "keys"), [(Before, [7, "run"]), (After, [("first", "run"), 7, "run"])])
def test_ours_come_last_and_what_was_returned_is_looked_at_first(kind: Any, keys: list[Any]) -> None:
    class Run:
        raw = staticmethod(print)

        def __repr__(self) -> str:
            return "run"

    run = Run()
    hooks: Any = OrderedDict({7: print})
    given, handle = registering(lambda *_: pytest.fail("ours needs no number"))(hooks, kind(print, run, None))
    assert given is hooks
    assert str(list(hooks)) == str(
        [("first", run) if key == ("first", "run") else run if key == "run" else key for key in keys]
    )
    take_off(run, [handle])
    assert list(hooks) == [7]


def test_the_programs_go_the_usual_way() -> None:
    assert registering(lambda hooks, function: (hooks, function))(None, print) == (None, print)


def test_numbers_of_the_programs_hooks_are_those_of_a_plain_run() -> None:
    def program() -> list[Any]:
        x = torch.ones(3, requires_grad=True)
        y = (x * 2).exp()
        ids = []
        for _ in range(3):
            handle = y.grad_fn.register_hook(lambda *_: None)  # type: ignore[union-attr]
            ids.append(handle.id)
            y.sum().backward(retain_graph=True)
        return [[i - ids[0] for i in ids]]

    both(program)


def test_nothing_stays_on_a_node_whose_hook_the_program_has_put_on() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    node: Any = y.grad_fn
    handle = node.register_hook(lambda grads, _: (grads[0] * 2,))
    with record() as recording:
        y.sum().backward()
    assert list(handle.hooks_dict_ref()) == [handle.id]
    ran = next(e for e in recording.trace.events if isinstance(e, NodeRan) and e.gout_before is not None)
    before, after = ran.gout_before, ran.gout
    assert before is not None
    assert before[0] is not None
    assert after[0] is not None
    assert to_numpy(before[0]).tobytes() == y.detach().numpy().tobytes()
    assert to_numpy(after[0]).tobytes() == (y.detach() * 2).numpy().tobytes()
    assert x.grad is not None
    assert torch.equal(x.grad, y.detach() * 2)
