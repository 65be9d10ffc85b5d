"""How long an answer takes on a recording of 10,000 nodes: every question, narration, rule, ledger and ready queue.

Run with `python -m tests.bench.bench_explain`. The bar is 50 ms for each, what is worked out at the first question
included; the least of three counts, each on a copy of the recording of its own.
"""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import torch

from gradviz.explain import QUESTIONS, ledger, narrate, numbers, rule, why
from gradviz.explain.difference import plan_of
from gradviz.explain.readyqueue import ready_queue
from gradviz.player.lit import places_of
from gradviz.recorder import record
from gradviz.trace import Trace

BAR_MS = 50.0
NODES = 10_000
SAMPLES = 24
"""Targets of each kind that are asked about, spread over the recording."""


def recording() -> Trace:
    """A deep net of shared weights with a detached branch, a NaN at its end, two passes and an optimizer step."""
    with record(values="auto") as made:
        w, v = (torch.full((4,), 0.5, requires_grad=True) for _ in range(2))
        optimizer = torch.optim.SGD([w, v], lr=0.1)
        for _ in range(2):
            x = torch.ones(4)
            for k in range(NODES * 3 // 16):
                x = torch.tanh(x * w + v) if k % 7 else (x * w + v.detach()) * 1.0
            loss = (x - x.detach()).pow(2).sum().sqrt()
            optimizer.zero_grad()
            loss.backward(retain_graph=True)
            optimizer.step()
    trace: Trace = made.trace
    return trace


def spread(count: int) -> Iterator[int]:
    """Up to `SAMPLES` numbers below a count, the first and the last among them."""
    yield from dict.fromkeys(round(k * (count - 1) / (SAMPLES - 1)) for k in range(SAMPLES) if count)


def work(trace: Trace) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is measured: its name, and one call."""
    tables = {"tensor": sorted(trace.tensors), "node": range(len(trace.nodes)), "op": range(len(trace.ops))}
    for kind, idents in tables.items():
        for question in QUESTIONS[kind]:
            for place in spread(len(idents)):
                target = f"{kind}:{idents[place]}"
                yield f"why {question} ({kind})", lambda t=target, q=question: why(trace, trace.steps, t, q)  # type: ignore[misc]
    for step in spread(trace.steps + 1):
        yield "narrate", lambda s=step: narrate(trace, s)  # type: ignore[misc]
        yield "ready queue", lambda s=step: ready_queue(trace, s)  # type: ignore[misc]
    for node in spread(len(trace.nodes)):
        yield "rule", lambda n=node: (rule(trace, n), numbers(trace, trace.steps, n))  # type: ignore[misc]
    for tensor in [t for t in tables["tensor"] if t in trace.grads]:
        yield "ledger", lambda t=tensor: ledger(trace, t)  # type: ignore[misc]
        yield "finite difference", lambda t=tensor: plan_of(trace, t, None, trace.steps)  # type: ignore[misc]
        yield "hover", lambda t=tensor: places_of(trace, f"tensor:{t}", 0)  # type: ignore[misc]


def measured(trace: Trace) -> Iterator[tuple[str, float]]:
    """Name and milliseconds of each call."""
    for name, call in work(trace):
        begun = time.perf_counter()
        call()
        yield name, 1000 * (time.perf_counter() - begun)


def main() -> int:
    """Print the slowest of each kind; 1 where one is above the bar."""
    trace = recording()
    print(f"{len(trace.nodes):,} nodes, {trace.steps:,} steps")
    runs = [list(measured(Trace(trace.events))) for _ in range(3)]
    worst: dict[str, float] = {}
    for several in zip(*runs, strict=True):
        name = several[0][0]
        worst[name] = max(worst.get(name, 0.0), min(took for _, took in several))
    for name, took in sorted(worst.items(), key=lambda item: -item[1]):
        print(f"{took:8.2f} ms  {name}{'   above the bar' if took > BAR_MS else ''}")
    return int(max(worst.values()) > BAR_MS)


if __name__ == "__main__":
    sys.exit(main())
