"""The layout process, talked to as the window does."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from gradviz.graph import build, lay_out, messages
from gradviz.graph.messages import Assembly, Placed, Request, encode, frame, parts
from gradviz.trace import encode as encode_trace
from tests.graph.test_build import recorded
from tests.graph.test_folds import blocks
from tests.graph.test_folds import recorded as run

ROOT = Path(__file__).parents[2]
Worker = subprocess.Popen[bytes]


@pytest.fixture
def worker() -> Iterator[Worker]:
    command = [sys.executable, "-m", "gradviz.graph.worker"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
    yield process
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None and not pipe.closed:
            pipe.close()
    process.wait(10)


def send(worker: Worker, letter: bytes, content: bytes) -> None:
    assert worker.stdin is not None
    worker.stdin.write(frame(letter, content))
    worker.stdin.flush()


def ask(worker: Worker, number: int, mode: str = "both", *, keep: bool = False, unfolded: tuple[str, ...] = ()) -> None:
    send(worker, messages.REQUEST, encode(Request(number, mode, (), unfolded, keep)))


def answer(worker: Worker) -> tuple[int, Placed, list[float]]:
    """The next answer, and the shares of progress before it."""
    assert worker.stdout is not None
    assembly, shares = Assembly(), list[float]()
    while head := worker.stdout.read(messages.HEAD):
        content = worker.stdout.read(int.from_bytes(head[:4], "big"))
        letter = head[4:5]
        if letter == messages.PROGRESS:
            shares.append(msgspec.msgpack.decode(content, type=tuple[int, float])[1])
        elif letter == messages.ANSWER:
            return msgspec.msgpack.decode(content, type=int), assembly.placed(), shares
        else:
            assembly.take(letter, content)
    raise AssertionError("it ended")


def test_it_answers_as_the_window_would_itself(worker: Worker) -> None:
    trace = run(blocks)
    data = encode_trace(trace.events)  # type: ignore[arg-type]
    for k in range(0, len(data), 5000):
        send(worker, messages.RECORDING, data[k : k + 5000])
    ask(worker, 1)
    number, placed, shares = answer(worker)
    assert number == 1
    assert placed.graph == build(trace)
    np.testing.assert_array_equal(placed.layout.boxes, lay_out(build(trace)).boxes)
    assert shares == sorted(shares) and all(0 < share < 1 for share in shares)
    ask(worker, 2, "autograd")
    assert answer(worker)[1].graph == build(trace, "autograd")


def test_what_stood_before_keeps_its_place(worker: Worker) -> None:
    graph = build(recorded("one_layer"))
    layout = lay_out(graph)
    moved = layout.boxes + np.asarray([0.0, 70.0, 0.0, 0.0])
    for part in parts(graph, replace(layout, boxes=moved)):
        assert worker.stdin is not None
        worker.stdin.write(part)
    send(worker, messages.BEFORE, b"")
    send(worker, messages.RECORDING, encode_trace(recorded("one_layer").events))  # type: ignore[arg-type]
    ask(worker, 1, keep=True)
    np.testing.assert_array_equal(answer(worker)[1].layout.boxes, moved)


def test_only_the_newest_request_is_answered(worker: Worker) -> None:
    send(worker, messages.RECORDING, encode_trace(run(blocks).events))  # type: ignore[arg-type]
    for number in range(1, 30):
        ask(worker, number, ("both", "autograd")[number % 2])
    seen: list[int] = []
    while not seen or seen[-1] != 29:
        seen.append(answer(worker)[0])
    assert len(seen) < 5
    ask(worker, 30)
    send(worker, messages.CANCEL, b"")
    ask(worker, 31)
    assert answer(worker)[0] in (30, 31)


def test_it_ends_with_its_stdin_whatever_it_is_doing(worker: Worker) -> None:
    send(worker, messages.RECORDING, encode_trace(run(blocks).events))  # type: ignore[arg-type]
    ask(worker, 1)
    assert worker.stdin is not None
    worker.stdin.close()
    began = time.monotonic()
    worker.wait(10)
    assert time.monotonic() - began < 10


def test_damaged_bytes_do_not_end_it(worker: Worker) -> None:
    data = encode_trace(recorded("one_layer").events)  # type: ignore[arg-type]
    send(worker, messages.RECORDING, data)
    send(worker, messages.RECORDING, b"no frame at all")
    ask(worker, 1)
    assert answer(worker)[1].graph == build(recorded("one_layer"))
