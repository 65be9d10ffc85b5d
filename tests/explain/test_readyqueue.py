"""The ready queue, step by step, against the order and the edges of PyTorch's engine itself."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor

from gradviz.explain.readyqueue import ready_queue
from gradviz.recorder import record
from gradviz.recorder.nodes import KEY
from gradviz.trace import Trace
from gradviz.trace.events import Fault

UNARY = (torch.sin, torch.exp, torch.tanh, lambda t: t * t, lambda t: t.sum() + t, lambda t: t.unbind(0)[0] + t)


def _program(seed: int) -> tuple[list[Tensor], list[Tensor]]:
    """A random graph: its leaves and one or two roots."""
    chance = random.Random(seed)
    leaves = [torch.randn(3, requires_grad=True) for _ in range(chance.randint(1, 4))]
    pool = list(leaves)
    for _ in range(chance.randint(2, 18)):
        if chance.random() < 0.5:
            pool.append(chance.choice(UNARY)(chance.choice(pool)) * 0.1)
        else:
            pool.append(chance.choice(pool) * chance.choice(pool) + chance.choice(pool))
    roots = [chance.choice(pool[len(leaves) :]).sum() for _ in range(chance.randint(1, 2))]
    return leaves, roots


def _walk(roots: list[Tensor]) -> dict[Any, list[Any]]:
    """Every node behind the roots -> the nodes that its edges end in."""
    edges: dict[Any, list[Any]] = {}
    stack = [root.grad_fn for root in roots]
    while stack:
        node = stack.pop()
        if node not in edges:
            edges[node] = [below for below, _ in node.next_functions if below is not None]  # type: ignore[union-attr]
            stack += edges[node]
    return edges


def _recorded(seed: int, *, limited: bool = False) -> tuple[Trace, list[int], dict[int, list[int]], list[int]]:
    """The recording; the order in which PyTorch really ran the nodes; its edges; its roots. Nodes by recorded id."""
    order: list[int] = []
    with record(values="none") as recording:
        leaves, roots = _program(seed)
        edges = _walk(roots)
        handles = [node.register_prehook(lambda *_, node=node: order.append(node.metadata[KEY].id)) for node in edges]
        torch.autograd.backward(roots, inputs=leaves[:1] if limited else None)
        for handle in handles:
            handle.remove()
        ids = {node: node.metadata[KEY].id for node in edges}
        by_id = {ids[node]: [ids[below] for below in belows] for node, belows in edges.items()}
        starts = [ids[root.grad_fn] for root in roots]
        del edges, handles, leaves, roots
    assert recording.problems == []
    return recording.trace, order, by_id, starts


@pytest.mark.parametrize("seed", range(40))
def test_who_is_next_is_who_the_engine_runs_next(seed: int) -> None:
    trace, order, edges, roots = _recorded(seed)
    steps = [int(trace.pass_step.view[0]), *(trace.runs(n)[-1] for n in order)]
    total = Counter(below for belows in edges.values() for below in belows) + Counter(roots)
    for k, step in enumerate(steps):
        queue = ready_queue(trace, step)
        assert queue is not None
        done = order[:k]
        assert (queue.done, queue.total) == (k, len(order))
        assert queue.running == (order[k - 1] if k else None)
        arrived = Counter(below for node in done for below in edges[node]) + Counter(roots)
        left = [n for n in edges if n not in done]
        assert set(queue.ready) == {n for n in left if arrived[n] == total[n]}
        assert queue.ready[:1] == tuple(order[k : k + 1])
        assert {w.node: (w.arrived, w.total) for w in queue.waiting} == {
            n: (arrived[n], total[n]) for n in left if arrived[n] < total[n]
        }
        for waits in queue.waiting:
            assert set(waits.missing) == {n for n in left if waits.node in edges[n]}
    assert ready_queue(trace, steps[0] - 1) is None


@pytest.mark.parametrize("seed", range(40, 52))
def test_a_pass_that_is_limited_to_inputs(seed: int) -> None:
    trace, order, _, _ = _recorded(seed, limited=True)
    for k, node in enumerate(order):
        step = trace.runs(order[k - 1])[-1] if k else int(trace.pass_step.view[0])
        queue = ready_queue(trace, step)
        assert queue is not None and queue.ready[0] == node


def test_an_error_empties_the_queue() -> None:
    with record() as recording:
        x = torch.ones(2, requires_grad=True)
        y = x.exp()
        out = (y + x).sum()
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified"):
            out.backward()
    trace = recording.trace
    step = next(s for s in range(trace.steps + 1) if isinstance(trace.event_at(s), Fault))
    before, after = ready_queue(trace, step - 1), ready_queue(trace, step)
    assert before is not None and after is not None
    assert trace.nodes[before.ready[0]].name == "ExpBackward0"
    assert (after.ready, after.failed) == ((), before.ready[0])


@pytest.mark.slow
def test_a_pass_of_ten_thousand_nodes_answers_at_once() -> None:
    with record(values="none") as recording:
        y = x = torch.ones(1, requires_grad=True)
        for _ in range(10_000):
            y = y + 1
        y.backward()
    del x, y
    trace = recording.trace
    ready_queue(trace, trace.steps - 10)
    begun = time.perf_counter()
    queue = ready_queue(trace, trace.steps // 2 + 2500)
    assert time.perf_counter() - begun < 0.05
    assert queue is not None and len(queue.ready) == 1
