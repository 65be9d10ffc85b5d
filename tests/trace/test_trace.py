"""Steps and frames: vectorised answers equal a plain replay, whatever the order of the questions."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from gradviz.trace import NotCaptured, Trace, TraceError
from gradviz.trace.events import (
    Backward,
    BackwardEnded,
    Cell,
    Data,
    Ended,
    Event,
    Fault,
    Freed,
    Gone,
    Grad,
    Header,
    Named,
    Node,
    NodeRan,
    NodeStarted,
    Op,
    Output,
    Saved,
    Scope,
    Tensor,
    Value,
)


def data(*numbers: float) -> Data:
    return Data((len(numbers),), "float32", raw=np.array(numbers, "<f4").tobytes())


def two_passes() -> list[Event]:
    """w (leaf) -> mul -> add; backward twice, the second stops at mul whose buffers are gone."""
    keeps = Saved("self", "tensor", tensor=0, storage=0, bytes=8)
    return [
        Header(),
        Cell(0, 0),
        Op(0, "ones", outputs=(0,)),
        Tensor(0, (2,), requires_grad=True),
        Value(0, data(1, 1)),
        Named(0, "w"),
        Op(1, "mul", inputs=(0,), outputs=(1,), nodes=(1,)),
        Node(0, "AccumulateGrad", leaf=0),
        Node(1, "MulBackward0", edges=((0, 0), (None, 0)), op=1, saved=(keeps,)),
        Value(1, data(2, 2)),
        Op(2, "add", inputs=(1,), outputs=(2,), nodes=(2,)),
        Node(2, "AddBackward0", edges=((1, 0),), op=2, saved=(keeps,)),
        Backward(0, roots=(2,), planned=(2, 1, 0)),
        NodeRan(0, 2),
        Freed(2, 0, 8),
        NodeRan(0, 1),
        Freed(1, 0, 8),
        NodeRan(0, 0),
        Grad(0, "accumulate", after=data(2, 2), added=data(2, 2), within=0, node=0),
        BackwardEnded(0),
        Output("once\n"),
        Backward(1, roots=(2,), planned=(2, 1, 0)),
        NodeStarted(1, 2),
        Fault(0, "RuntimeError", "second time", "freed_graph", node=2, within=1),
        BackwardEnded(1, error=True),
        Ended(0, "error"),
    ]


def test_steps_are_what_the_design_says() -> None:
    trace = Trace(two_passes())
    kinds = [trace.kind(k) for k in range(trace.steps + 1)]
    assert kinds == ["start", "op", "op", "op", "seed", "node", "node", "accumulate", "seed", "fault"]
    assert [type(e) for e in trace.events_of(1)] == [Cell, Op, Tensor, Value, Named]
    assert trace.order(0) == [2, 1, 0]
    assert trace.order(1) == []


def test_status_of_every_node_at_every_step() -> None:
    trace = Trace(two_passes())
    rows = [[trace.at(k).status(n) for n in range(3)] for k in range(trace.steps + 1)]
    assert rows == [
        ["not born", "not born", "not born"],
        ["not born", "not born", "not born"],
        ["pending", "pending", "not born"],
        ["pending", "pending", "pending"],
        ["pending", "pending", "pending"],
        ["pending", "pending", "running"],
        ["pending", "running", "freed"],
        ["running", "freed", "freed"],
        ["pending", "freed", "freed"],
        ["pending", "freed", "failed"],
    ]


def test_shared_storage_counts_once_and_falls_with_its_last_holder() -> None:
    trace = Trace(two_passes())
    assert trace.held_bytes().tolist() == [0, 0, 8, 8, 8, 8, 0, 0, 0, 0]


def test_values_and_gradients_by_name_and_id() -> None:
    frame = Trace(two_passes()).at(7)
    assert frame.value("w").tolist() == [1, 1]  # type: ignore[union-attr]
    assert frame.grad("w").tolist() == [2, 2]  # type: ignore[union-attr]
    assert frame.trace.at(6).grad("w") is None
    assert frame.grad(1) is None
    assert frame.trace.at(2).value(1).tolist() == [2, 2]  # type: ignore[union-attr]
    assert frame.trace.at(1).value(1) is None
    with pytest.raises(KeyError):
        frame.value("nobody")
    with pytest.raises(KeyError):
        frame.trace.at(0).value("w")


def test_output_comes_with_its_step() -> None:
    trace = Trace(two_passes())
    assert [trace.at(k).output for k in (6, 7, 9)] == ["", "once\n", "once\n"]


def test_what_was_not_captured_raises_and_is_not_none() -> None:
    trace = Trace([Header(), Op(0, "ones", outputs=(0,)), Value(0, Data((9,), "float32", missing="budget")), Ended(0)])
    with pytest.raises(NotCaptured, match="budget"):
        trace.at(1).value(0)


def test_all_grad_writes_of_one_line_are_one_step() -> None:
    def write(tensor: int, line: int) -> Grad:
        return Grad(tensor, "zero", before=data(1), after=data(0), span=(0, line, 0, line, 9))

    trace = Trace(
        [Header(), Cell(0, 0), write(0, 3), Op(0, "zero_", writes=(5,), quiet=True), write(1, 3), write(0, 4)]
    )
    assert trace.steps == 2
    trace.extend([Op(1, "ones", outputs=(6,)), write(0, 4), Cell(1, 0), write(0, 4)])
    assert trace.steps == 5


def test_reads_and_failed_ops_make_no_step() -> None:
    trace = Trace([Header(), Op(0, "item", inputs=(0,)), Op(1, "add", outputs=(1,), error=True)])
    assert trace.steps == 0


def test_operations_inside_another_are_those_of_its_thread() -> None:
    ops = [Op(0, "a"), Op(1, "b"), Op(2, "inner", first=1), Op(3, "c", thread=1), Op(4, "d"), Op(5, "outer", first=1)]
    assert Trace([Header(), *ops]).outer_op == {1: 2, 2: 5, 4: 5}
    for wrong in (0, 1, -1):
        with pytest.raises(TraceError, match="did not run before it"):
            Trace([Header(), Op(0, "a", first=wrong)])


def test_began_and_entered_belong_to_the_step_after() -> None:
    trace = Trace([Header(), Scope(0, True, "fc"), Op(0, "mm", outputs=(0,)), Scope(0, False, "fc")])
    assert [type(e) for e in trace.events_of(1)] == [Scope, Op, Scope]


def test_a_gone_graph_is_gone() -> None:
    trace = Trace([*two_passes()[:20], Gone((1, 2)), Op(3, "ones", outputs=(3,))])
    assert trace.at(7).status(1) == "gone"
    assert trace.at(6).status(1) == "running"


def test_a_contradiction_is_named() -> None:
    with pytest.raises(TraceError, match="never born"):
        Trace([Header(), Backward(0), NodeRan(0, 3)])


class Replay:
    """The same questions answered the slow way: by walking the events up to the step."""

    def __init__(self, trace: Trace, step: int) -> None:
        self.grads: dict[int, Data | None] = {}
        self.values: dict[int, Data] = {}
        self.status: dict[int, str] = {}
        for index, event in enumerate(trace.events):
            if trace.step_of_event(index) <= step:
                self._see(event, current=trace.step_of_event(index) == step)

    def _see(self, event: object, *, current: bool) -> None:
        match event:
            case Grad():
                self.grads[event.tensor] = event.after
            case Value():
                self.values[event.tensor] = event.data
            case Node():
                self.status[event.id] = "pending"
            case NodeRan():
                self.status[event.node] = "running" if current else "done"
            case Backward():
                for node in event.planned:
                    if self.status[node] == "done":
                        self.status[node] = "pending"


def random_events(chance: random.Random) -> Iterator[Event]:
    yield Header()
    nodes = ops = 0
    for number in range(chance.randint(1, 6)):
        for _ in range(chance.randint(1, 6)):
            yield Op(ops, "op", outputs=(ops,))
            yield Node(nodes, "OpBackward0", edges=((nodes - 1, 0),) if nodes else ())
            yield Value(chance.randrange(ops + 1), data(chance.random()))
            nodes, ops = nodes + 1, ops + 1
        plan = chance.sample(range(nodes), chance.randint(1, nodes))
        yield Backward(number, planned=tuple(plan))
        for node in plan:
            yield NodeRan(number, node)
            if chance.random() < 0.5:
                yield Grad(chance.randrange(4), "accumulate", after=data(chance.random()), within=number)
        yield BackwardEnded(number)
        if chance.random() < 0.5:
            yield Grad(chance.randrange(4), "none", span=(0, chance.randrange(3), 0, 0, 0))


@pytest.mark.parametrize("seed", range(25))
def test_any_step_from_either_side_equals_a_replay(seed: int) -> None:
    chance = random.Random(seed)
    trace = Trace(random_events(chance))
    steps = list(range(trace.steps + 1))
    for step in [*steps, *reversed(steps), *chance.sample(steps, len(steps))]:
        frame, slow = trace.at(step), Replay(trace, step)
        born = {n: frame.status(n) for n in range(len(trace.nodes)) if frame.status(n) != "not born"}
        assert born == slow.status
        assert {t: frame.value_data(t) for t in slow.values} == slow.values
        assert {t: frame.grad_data(t) for t in slow.grads} == slow.grads


def test_growing_by_pieces_gives_the_same_trace() -> None:
    made = list(random_events(random.Random(7)))
    whole, piecewise = Trace(made), Trace()
    for event in made:
        piecewise.append(event)
        piecewise.at(piecewise.steps).statuses  # noqa: B018 asking in between must not matter
    for step in range(whole.steps + 1):
        assert (whole.at(step).statuses == piecewise.at(step).statuses).all()
