"""Crossings and time of our layout beside Graphviz `dot`, on the same autograd graphs with their leaves split.

Run as `python -m tests.bench.bench_crossings [RNN steps]` (500 by default, for which dot takes minutes). The bar: at
most twice dot's crossings and ten. Crossings are counted in the same way for both: every wire is read at each row it
passes, and inversions between neighbouring rows are summed. CPU seconds, of dot's process and of ours.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import torch

import gradviz
from gradviz.graph import Card, Graph, Wire, lay_out
from gradviz.graph.layers import inversions
from gradviz.trace import Trace
from tests.scene.models import gpt12

DPI = 72.0


def rnn(steps: int) -> None:
    """A GRU by hand (Cho et al., 2014) with six shared leaves."""
    wz, uz, wr, ur, wn, un = (torch.ones(2, 2, requires_grad=True) for _ in range(6))
    h = torch.zeros(1, 2)
    for x in torch.ones(steps, 1, 2):
        z = torch.sigmoid(x @ wz + h @ uz)
        r = torch.sigmoid(x @ wr + h @ ur)
        h = (1 - z) * torch.tanh(x @ wn + (r * h) @ un) + z * h
    h.sum().backward()


def split(trace: Trace) -> Graph:
    """The `next_functions` graph with a leaf of its own for every reader."""
    cards, wires = [], list[Wire]()
    for node in trace.nodes:
        cards.append(Card(f"node:{node.id}", "node", node.name, width=120.0, height=36.0))
    for node in trace.nodes:
        for number, (receiver, _) in enumerate(node.edges):
            if receiver is None:
                continue
            source = receiver
            if trace.nodes[receiver].leaf is not None:
                source = len(cards)
                cards.append(Card(f"leaf:{receiver}@{node.id}.{number}", "leaf", "", width=90.0, height=30.0))
            wires.append(Wire(source, node.id, None, False, ((node.id, number),), False, 18, 18, 18, 18))
    used = sorted({w.source for w in wires} | {w.target for w in wires})
    place = {old: new for new, old in enumerate(used)}
    moved = [Wire(place[w.source], place[w.target], None, False, w.edges, False, 18, 18, 18, 18) for w in wires]
    return Graph(tuple(cards[i] for i in used), tuple(moved))


def dot(graph: Graph, limit: float) -> tuple[int, float] | None:
    """Crossings of dot's drawing and its CPU seconds; None where it takes longer than `limit` seconds."""
    lines = ["digraph {", "nodesep=0.33; ranksep=0.66; node [shape=box, fixedsize=true]"]
    for i, card in enumerate(graph.cards):
        lines.append(f"{i} [width={card.width / DPI}, height={card.height / DPI}]")
    lines += [f"{w.source} -> {w.target}" for w in graph.wires]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        ran = subprocess.run(
            ["dot", "-Tplain"],
            input="\n".join([*lines, "}"]),
            capture_output=True,
            text=True,
            check=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rows: set[float] = set()
    routes = []
    for line in ran.stdout.splitlines():
        kind, *rest = line.split()
        if kind == "node":
            rows.add(round(float(rest[2]), 2))
        elif kind == "edge":
            count = int(rest[2])
            routes.append(np.asarray(rest[3 : 3 + 2 * count], float).reshape(-1, 2))
    return crossings(routes, sorted(rows)), after.ru_utime - before.ru_utime


def sampled(points: np.ndarray) -> np.ndarray:
    """Points along a chain of cubic curves."""
    t = np.linspace(0, 1, 12)[:, None]
    pieces = [
        (1 - t) ** 3 * points[k] + 3 * (1 - t) ** 2 * t * points[k + 1] + 3 * (1 - t) * t**2 * points[k + 2]
        + t**3 * points[k + 3]
        for k in range(0, len(points) - 3, 3)
    ]  # fmt: skip
    return np.concatenate(pieces)


def crossings(routes: list[np.ndarray], rows: list[float]) -> int:
    """Inversions between neighbouring rows."""
    gaps: list[list[tuple[float, float]]] = [[] for _ in rows]
    half = min(b - a for a, b in pairwise(rows)) / 2 if len(rows) > 1 else 1.0
    for route in routes:
        path = sampled(route)
        path = path[np.argsort(path[:, 1], kind="stable")]
        low, high = path[0, 1] - half, path[-1, 1] + half
        passed = rows[bisect_left(rows, low) : bisect_right(rows, high)]
        x = np.interp(passed, path[:, 1], path[:, 0])
        first = bisect_left(rows, low)
        for k, (a, b) in enumerate(pairwise(x.tolist())):
            gaps[first + k].append((round(a, 3), round(b, 3)))
    total = 0
    for found in gaps:
        order = sorted(found)
        places = {x: k for k, x in enumerate(sorted({b for _, b in order}))}
        total += inversions([places[b] for _, b in order])
    return total


def programs(steps: int) -> Iterator[tuple[str, Callable[[], None]]]:
    yield "GPT, 12 blocks", gpt12
    yield f"RNN, {steps} steps", lambda: rnn(steps)


def main(steps: int, limit: float) -> int:
    """Print a line for each graph; 1 where a bar is missed."""
    if shutil.which("dot") is None:
        print("dot is not installed")
        return 0
    missed = 0
    for name, program in programs(steps):
        with gradviz.record(values="none") as recording:
            program()
        graph = split(recording.trace)
        began = time.process_time()
        ours = lay_out(graph)
        took = time.process_time() - began
        theirs = dot(graph, limit)
        told = f"{name:18s} {len(graph.cards):6d} nodes   ours {ours.crossings:6d} crossings {took:7.3f} s"
        if ours.stub.any():
            told += f" ({int(ours.stub.sum())} wires as stubs)"
        if theirs is None:
            print(f"{told}   dot: more than {limit:.0f} s", flush=True)
            continue
        count, seconds = theirs
        missed += ours.crossings > 2 * count + 10
        print(f"{told}   dot {count:6d} crossings {seconds:7.3f} s   x{seconds / max(took, 1e-6):.0f}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 500, float(sys.argv[2]) if len(sys.argv) > 2 else 600.0))
