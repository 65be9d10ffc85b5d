"""Be the engine: a person picks the node that runs next and gives its result. Pure values and functions.

The rule is that of PyTorch's engine: a node is ready when every node of the pass that sends it a gradient has run. Any
ready node is legal. Among several the engine takes the one with the highest sequence number; AccumulateGrad carries
the largest there is. Gradients are read from the recorded pass: they do not depend on the order.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gradviz.trace import Frame, NotCaptured, Trace, to_numpy
from gradviz.trace.codec import AnyItem
from gradviz.trace.events import Data, Event, Grad, NodeRan
from gradviz.trace.frame import DONE, FREED, RUNNING

Array = npt.NDArray[Any]
SMALL = 6
"""Results of more elements are asked for one element only."""
RELATIVE, ABSOLUTE = 1e-3, 1e-4
"""What counts as close: shown numbers have four digits after the point."""
Grade = Literal["exact", "close", "off", "shape", "unreadable"]
Refusal = Literal["", "done", "outside", "waits"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a typed result compares with PyTorch's: `difference` is the largest one of any element."""

    grade: Grade
    difference: float = 0.0


@dataclass(frozen=True, slots=True)
class Game:
    """Where somebody who plays the engine stands. `refusal` and `missing` are about the node `tried`."""

    within: int
    """The pass that is played."""
    done: tuple[int, ...] = ()
    picked: int | None = None
    tried: int | None = None
    refusal: Refusal = ""
    missing: tuple[int, ...] = ()
    verdict: Verdict | None = None
    typed: str = ""
    right: int = 0
    """Results given exactly or closely at the first try."""
    answered: int = 0
    refused: int = 0
    other: int | None = None
    """The ready node that PyTorch's engine would have taken instead of the one picked last."""
    raised: int | None = None
    """The node at which PyTorch's pass raised: the game ends there."""


@dataclass(frozen=True, slots=True)
class Task:
    """The result that is asked for: what the picked node sends along an edge, or what a leaf's `.grad` is then."""

    node: int
    target: int | None
    """Node that receives it; None for a leaf."""
    leaf: int | None
    data: Data
    place: tuple[int, ...] | None
    """The element that is asked for; None: all of it."""


# ---- the rule


def plan_of(trace: Trace, within: int) -> tuple[int, ...]:
    """Nodes that a pass was going to run."""
    return tuple(n for n in trace.passes[within].planned if n < len(trace.nodes))


def senders(trace: Trace, within: int, node: int) -> tuple[int, ...]:
    """Nodes of a pass that send a gradient to a node."""
    return tuple(n for n in plan_of(trace, within) if any(t == node for t, _ in trace.nodes[n].edges))


def missing(trace: Trace, game: Game, node: int) -> tuple[int, ...]:
    """Nodes that have to run before a node may."""
    return tuple(n for n in senders(trace, game.within, node) if n not in game.done)


def ready(trace: Trace, game: Game) -> tuple[int, ...]:
    """Nodes that may run now; first the one that PyTorch's engine takes."""
    free = [n for n in plan_of(trace, game.within) if n not in game.done and not missing(trace, game, n)]
    return tuple(sorted(free, key=lambda n: -_sequence(trace, n)))


def _sequence(trace: Trace, node: int) -> float:
    number = trace.nodes[node].sequence
    return np.inf if number is None else float(number)


def playable(trace: Trace) -> list[int]:
    """Passes that can be played: those that run inside no other and of which the plan is known."""
    return [int(p) for p in trace.outer_pass.view]


def pass_for(trace: Trace, step: int) -> int | None:
    """The pass that a step lies in, else the next one, else the last one; None where there is none."""
    found = trace.outer_pass.view
    place = int(np.searchsorted(trace.outer_end.view, step, "left"))
    return int(found[min(place, len(found) - 1)]) if len(found) else None


def is_over(trace: Trace, game: Game) -> bool:
    """All nodes have run, or the pass has raised."""
    return game.raised is not None or len(game.done) == len(plan_of(trace, game.within))


# ---- moves


def pick(trace: Trace, game: Game, node: int) -> Game:
    """Try to run a node: it is picked, or refused with what is missing."""
    if is_over(trace, game):
        return game
    plan, lacking = plan_of(trace, game.within), missing(trace, game, node)
    refusal: Refusal = "outside" if node not in plan else "done" if node in game.done else "waits" if lacking else ""
    if refusal:
        refused = game.refused + (refusal == "waits")
        return replace(
            game, picked=None, tried=node, refusal=refusal, missing=lacking, verdict=None, typed="", refused=refused
        )
    first = ready(trace, game)[0]
    other = None if _sequence(trace, first) == _sequence(trace, node) else first
    game = replace(game, picked=node, tried=node, refusal="", missing=(), verdict=None, typed="", other=other)
    if run_of(trace, game.within, node) is None:
        return replace(game, picked=None, raised=node)
    return game if task(trace, game) else finish(trace, game)


def answer(trace: Trace, game: Game, text: str) -> Game:
    """Judge what was typed as the result of the picked node; where it is right the node has run."""
    asked = task(trace, game)
    if asked is None:
        return game
    verdict = judge(text, asked)
    first = game.verdict is None
    if verdict.grade == "unreadable":
        return replace(game, verdict=verdict if first else game.verdict, typed=text)
    hit = verdict.grade in ("exact", "close")
    game = replace(
        game, verdict=verdict, typed=text, answered=game.answered + first, right=game.right + (first and hit)
    )
    return finish(trace, game) if hit else game


def finish(trace: Trace, game: Game) -> Game:
    """Let the picked node run with PyTorch's result."""
    return game if game.picked is None else replace(game, done=(*game.done, game.picked), picked=None)


def task(trace: Trace, game: Game) -> Task | None:
    """The result that the picked node is asked for; None where it sends nothing that the recording holds."""
    run = None if game.picked is None else run_of(trace, game.within, game.picked)
    if run is None or game.picked is None:
        return None
    node = trace.nodes[game.picked]
    if node.leaf is not None:
        written = grad_of(trace, game.within, node.leaf)
        data = written.after if written else None
        return None if data is None or not _holds(data) else Task(node.id, None, node.leaf, data, _place(data))
    for (target, _), data in zip(node.edges, run.gout, strict=False):
        if target is not None and data is not None and _holds(data):
            return Task(node.id, target, None, data, _place(data))
    return None


def run_of(trace: Trace, within: int, node: int) -> NodeRan | None:
    """A node's run in a pass; None where it did not come to that."""
    mine = np.flatnonzero((trace.run_pass.view == within) & (trace.run_node.view == node))
    event = trace.events[int(trace.run_index.view[mine[0]])] if len(mine) else None
    return event if isinstance(event, NodeRan) else None


def grad_of(trace: Trace, within: int, leaf: int) -> Grad | None:
    """What a pass wrote to the `.grad` of a leaf."""
    history = trace.grads.get(leaf)
    for index in history.indexes if history else ():
        event = trace.events[index]
        if isinstance(event, Grad) and event.within == within:
            return event
    return None


def _holds(data: Data) -> bool:
    try:
        return bool(to_numpy(data).dtype.kind in "fiu")
    except NotCaptured:
        return False


def _place(data: Data) -> tuple[int, ...] | None:
    """Of a large result the first element that is not zero."""
    array = to_numpy(data)
    if array.size <= SMALL:
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(array != 0)), array.shape))


# ---- judging numbers


def judge(text: str, asked: Task) -> Verdict:
    """Compare typed numbers with PyTorch's, as its dtype holds them. One number may stand for equal elements."""
    try:
        typed = np.asarray(_number(ast.parse(text.strip(), mode="eval").body), np.float64)
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
        return Verdict("unreadable")
    held = to_numpy(asked.data)
    truth = np.asarray(held[asked.place] if asked.place else held)
    if typed.ndim and typed.shape != truth.shape and typed.shape != truth.squeeze().shape:
        return Verdict("shape")
    typed = np.broadcast_to(typed if not typed.ndim else typed.reshape(truth.shape), truth.shape)
    with np.errstate(all="ignore"):
        if np.array_equal(typed.astype(truth.dtype), truth, equal_nan=truth.dtype.kind == "f"):
            return Verdict("exact")
        apart = np.abs(typed - truth.astype(np.float64))
        difference = float(np.max(np.where(np.isnan(apart), np.inf, apart)))
    close = bool(np.allclose(typed, truth.astype(np.float64), rtol=RELATIVE, atol=ABSOLUTE))
    return Verdict("close" if close else "off", difference)


_OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def _number(node: ast.expr) -> Any:
    """Numbers, lists of them, and + - * / between numbers; nothing else is worked out.

    Raises:
        ValueError: something else stands there.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value)
    if isinstance(node, ast.List | ast.Tuple):
        return [_number(item) for item in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = float(_number(node.operand))
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](float(_number(node.left)), float(_number(node.right)))
    raise ValueError("no number")


# ---- what is shown meanwhile


class PlayedFrame(Frame):
    """The recording at the seed of a pass, with those nodes run that the player has run, in the player's order."""

    def __init__(self, trace: Trace, game: Game) -> None:
        super().__init__(trace, int(trace.pass_step.view[game.within]))
        self.game = game
        self._mine = trace.run_pass.view == game.within
        self._leaves = {leaf for n in game.done if (leaf := trace.nodes[n].leaf) is not None}

    @property
    def event(self) -> AnyItem | None:
        """The run of the node that was done last, else the seed."""
        if self.game.done:
            return run_of(self.trace, self.game.within, self.game.done[-1])
        return super().event

    @property
    def events(self) -> list[AnyItem]:
        """All events of the step at which PyTorch ran that node."""
        if not self.game.done:
            return super().events
        runs = np.flatnonzero(self._mine & (self.trace.run_node.view == self.game.done[-1]))
        return self.trace.events_of(int(self.trace.run_step.view[runs[0]])) if len(runs) else []

    @cached_property
    def last_run(self) -> npt.NDArray[np.int64]:
        """As at the seed, with the runs of the player's nodes."""
        last = Frame(self.trace, self.step).last_run.copy()
        for position in np.flatnonzero(self._mine & np.isin(self.trace.run_node.view, self.game.done)).tolist():
            last[self.trace.run_node.view[position]] = position
        return last

    @cached_property
    def statuses(self) -> npt.NDArray[np.uint8]:
        """The node that was done last runs; what it frees is freed after it."""
        status = np.array(super().statuses)
        end = self.trace.pass_end[self.game.within]
        within = (self.trace.freed_step.view > self.step) & (self.trace.freed_step.view <= end)
        freed = set(self.trace.freed_node.view[within].tolist())
        for node in self.game.done:
            status[node] = FREED if node in freed else DONE
        if self.game.done:
            status[self.game.done[-1]] = RUNNING
        return status

    def _held(self, histories: dict[int, Any], tensor: int) -> Event | None:
        if histories is self.trace.grads and tensor in self._leaves:
            return grad_of(self.trace, self.game.within, tensor)
        return super()._held(histories, tensor)
