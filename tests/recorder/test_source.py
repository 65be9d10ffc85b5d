"""Names are those that the program's statements bind, told when they do."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import dis
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from gradviz.recorder import record, source
from gradviz.recorder.source import Site, bound
from gradviz.trace.events import Named, Op, Scope


def _told(program: Callable[[], Any], *wanted: str) -> list[tuple[str, int, int]]:
    """(name, which operation has run last, which of its outputs) of each of the wanted names that was bound."""
    with record(values="none") as recording:
        program()
    assert recording.problems == []
    found, count = [], -1
    outputs: dict[int, tuple[int, int]] = {}
    for event in recording.trace.events:
        if isinstance(event, Op):
            count += 1
            outputs.update({t: (count, i) for i, t in enumerate(event.outputs)})
        elif isinstance(event, Named) and event.name in wanted and event.tensor in outputs:
            op, number = outputs[event.tensor]
            assert op == count, "told once the statement was done, before the next operation"
            found.append((event.name, op, number))
    return found


def test_a_state_bound_again_in_a_loop_is_told_each_time() -> None:
    cell = nn.LSTMCell(2, 3)
    x = torch.ones(1, 2)
    start = torch.zeros(1, 3), torch.zeros(1, 3)

    def program() -> None:
        h, c = start
        for _ in range(3):
            h, c = cell(x, (h, c))

    assert _told(program, "h", "c") == [(name, op, i) for op in range(3) for i, name in enumerate("hc")]


def test_a_state_inside_a_module_and_one_that_is_taken_apart_twice() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.lstm = nn.LSTMCell(2, 3), nn.LSTM(2, 3)

        def forward(self, x: Tensor) -> Tensor:
            h, c = self.cell(x)
            h, self.state = self.cell(x, (h, c))
            out, (last, memory) = self.lstm(x[None])
            result: Tensor = out + last + memory
            return result

    net = Net()
    told = _told(lambda: net(torch.ones(1, 2)), "h", "c", "self.state", "out", "last", "memory")
    ops = sorted({op for _, op, _ in told})
    assert [(name, ops.index(op)) for name, op, _ in told] == [
        ("h", 0), ("c", 0), ("h", 1), ("self.state", 1), ("out", 2), ("last", 2), ("memory", 2),
    ]  # fmt: skip


def test_a_name_that_means_the_tensor_already_is_not_told_again() -> None:
    layer = nn.Linear(2, 2)

    def program() -> None:
        y = layer(torch.ones(2))
        y.sum()

    assert [name for name, _, _ in _told(program, "y")] == ["y"]


def test_what_a_library_does_with_the_value_of_a_module_binds_nothing() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2))

    def program() -> None:
        y = net(torch.ones(2))
        y.sum()

    with record(values="none") as recording:
        program()
    trace = recording.trace
    assert sum(isinstance(e, Scope) and e.enter for e in trace.events) == 4
    linear = [op for op in trace.ops if op.name == "linear"]
    assert [e.tensor for e in trace.events if isinstance(e, Named) and e.name == "y"] == [linear[-1].outputs[0]]


def test_a_list_of_one_tensor_is_not_that_tensor() -> None:
    def program() -> None:
        parts = torch.ones(3).split(3)
        (only,) = torch.ones(3).split(3)
        parts[0].add(only)

    assert [name for name, _, _ in _told(program, "parts", "only")] == ["only"]


def test_only_what_has_the_form_of_the_names_is_bound() -> None:
    x, y, z = torch.ones(3).unbind()
    site = Site((0, 1, 0, 1, 1), "", ("a", ("b", None)), False, True)
    assert bound(site, (x, [y, z])) == [("a", x), ("b", y)]
    assert bound(site, (x, y)) == [("a", x)]
    assert bound(site, (x, y, z)) == []
    assert bound(site, None) == []
    site = Site((0, 1, 0, 1, 1), "", ("a", "b"), False, False)
    assert bound(site, x) == [("a", x), ("b", x)]
    assert bound(site, {"a": x}) == []


class _Instruction(NamedTuple):
    opname: str
    arg: int
    argval: Any
    offset: int


@pytest.mark.parametrize(
    ("second", "names"), [(("STORE_FAST_STORE_FAST", ("h", "c")), ("h", "c")), (("STORE_FAST", "h"), ("h", None))]
)
def test_two_stores_in_one_instruction(
    second: tuple[str, Any], names: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Python 3.13 writes them."""
    listed = [
        _Instruction("CALL", 0, 0, 0),
        _Instruction("UNPACK_SEQUENCE", 2, 2, 2),
        _Instruction(second[0], 1, second[1], 4),
    ]
    monkeypatch.setattr(dis, "get_instructions", lambda code: listed)
    steps = source._steps((lambda: None).__code__)
    assert source._targets(steps, 1) == (names, False, True)


def test_a_store_and_a_load_in_one_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [_Instruction("CALL", 0, 0, 0), _Instruction("STORE_FAST_LOAD_FAST", 1, ("y", "z"), 2)]
    monkeypatch.setattr(dis, "get_instructions", lambda code: listed)
    steps = source._steps((lambda: None).__code__)
    assert [(step.opname, step.argval) for step in steps[1:]] == [("STORE_FAST", "y"), ("LOAD_FAST", "z")]
    assert source._targets(steps, 1) == (("y",), False, False)
