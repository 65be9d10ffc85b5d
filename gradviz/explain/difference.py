"""A gradient beside the central finite difference of the same element, and the Jacobian that autograd never builds.

Copies of the program run with the element moved up, down and not at all, as far as the pass that made the gradient
(`gradviz.recorder.probing`). What is compared: (L(x + h) - L(x - h)) / 2h, L the sum of v times the root, with the
number that the pass added. h is the cube root of the type's epsilon times max(1, |x|), where rounding and curvature
balance (Press et al., Numerical Recipes, 5.7).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gradviz.trace import NotCaptured, Trace, to_numpy
from gradviz.trace.events import Grad

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
Reason = Literal["no_gradient", "dtype", "not_captured", "not_finite"]
Kind = Literal["agrees", "differs", "kink", "random", "branch", "failed"]
SLACK = 16
"""Roundings of the loss that are allowed for: a forward pass makes many."""
CURVED = 200
"""What the third derivative may add, in units of h squared: curves are bent at other scales than their x."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured: an element of a leaf, in one pass."""

    within: int
    tensor: int
    after: int
    element: tuple[int, ...]
    place: int
    """The element's place in C order."""
    value: float
    gradient: float
    step: float
    """h."""
    epsilon: float
    objective: float | None
    """L as it was recorded; None where the recording does not hold the root."""
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """What came out. `kind` "random": the copy that was not touched gave another L than the recording."""

    kind: Kind
    plan: Plan
    slope: float = math.nan
    left: float = math.nan
    right: float = math.nan
    tolerance: float = math.nan
    objective: float = math.nan
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Lens:
    """v, the rows of J for one-hot v, and v times J; shapes of root and leaf."""

    plan: Plan
    v: tuple[float, ...]
    rows: tuple[tuple[float, ...], ...]

    @property
    def product(self) -> tuple[float, ...]:
        """v times J: what autograd computes without J."""
        return tuple(float(x) for x in np.asarray(self.v) @ np.asarray(self.rows))


def plan_of(trace: Trace, tensor: int, element: tuple[int, ...] | None, step: int) -> Plan | Reason:
    """The measurement of an element of a leaf's `.grad`: of the pass that added to it last, up to a step. Without an
    element, of that of the largest gradient. A reason where there is nothing to compare."""
    event = _last_added(trace, tensor, step)
    told = trace.tensor(tensor, step)
    if event is None or event.added is None or event.within is None or told is None:
        return "no_gradient"
    if told.dtype not in EPSILON or told.layout != "strided":
        return "dtype"
    began = int(trace.pass_step.view[event.within])
    value, root = trace.at(began).value_data(tensor), _objective(trace, event.within)
    try:
        added = to_numpy(event.added)
        values = None if value is None else to_numpy(value)
    except NotCaptured:
        return "not_captured"
    if values is None or not added.size:
        return "not_captured"
    if element is None:
        element = tuple(
            int(i)
            for i in np.unravel_index(int(np.argmax(np.where(np.isfinite(added), np.abs(added), -1.0))), added.shape)
        )
    if not math.isfinite(float(added[element])):
        return "not_finite"
    place = int(np.ravel_multi_index(element, added.shape)) if element else 0
    x, epsilon = float(values[element]), EPSILON[told.dtype]
    h = epsilon ** (1 / 3) * max(1.0, abs(x))
    after = max((op.id for op in trace.ops if tensor in op.writes and trace.op_step.view[op.id] <= began), default=-1)
    return Plan(event.within, tensor, after, element, place, x, float(added[element]), h, epsilon, root,
                _nodes(trace, event.within))  # fmt: skip


def _last_added(trace: Trace, tensor: int, step: int) -> Grad | None:
    history = trace.grads.get(tensor)
    found = None
    for at, index in zip(history.steps, history.indexes, strict=True) if history else ():
        event = trace.events[index]
        if at <= step and isinstance(event, Grad) and event.cause == "accumulate":
            found = event
    return found


def _objective(trace: Trace, within: int) -> float | None:
    """The sum of v times the roots of a pass, in double precision."""
    began = trace.passes[within]
    frame, total = trace.at(int(trace.pass_step.view[within])), 0.0
    if len(began.tensors) != len(began.seeds):
        return None
    for root, seed in zip(began.tensors, began.seeds, strict=True):
        data = frame.value_data(root)
        if data is None or seed is None:
            return None
        try:
            total += float((to_numpy(data).astype(np.float64) * to_numpy(seed).astype(np.float64)).sum())
        except NotCaptured:
            return None
    return total


def _nodes(trace: Trace, within: int) -> tuple[str, ...]:
    """Names of all nodes that the roots of a pass reach, sorted."""
    seen, queue = set(trace.passes[within].roots), list(trace.passes[within].roots)
    for node in queue:
        for target, _ in trace.nodes[node].edges:
            if target is not None and target < len(trace.nodes) and target not in seen:
                seen.add(target)
                queue.append(target)
    return tuple(sorted(trace.nodes[n].name for n in seen))


def requests(plan: Plan, reports: Sequence[str]) -> list[str]:
    """What to ask three copies: untouched, moved up, moved down. Their answers go to the files `reports`."""
    moves = (0.0, plan.step, -plan.step)
    asked = {"within": plan.within, "tensor": plan.tensor, "after": plan.after, "element": plan.place}
    return [json.dumps(asked | {"delta": d, "report": r}) for d, r in zip(moves, reports, strict=True)]


def lens_request(plan: Plan, report: str) -> str:
    """What to ask a copy for the Jacobian."""
    return json.dumps({"within": plan.within, "tensor": plan.tensor, "after": plan.after, "lens": True,
                       "report": report})  # fmt: skip


def judge(plan: Plan, answers: Sequence[dict[str, Any] | None]) -> Difference:
    """Compare, once the three copies have answered; None or an "error" in an answer: that copy failed."""
    wrong = next((a for a in answers if a is None or "error" in a or "objective" not in a), {})
    if len(answers) != 3 or wrong is None or wrong:
        return Difference("failed", plan, detail=str((wrong or {}).get("error", "")))
    base, up, down = (a for a in answers if a is not None)
    middle = float(base["objective"])
    if plan.objective is not None and not _same(middle, plan.objective):
        return Difference("random", plan, objective=middle)
    if up["nudged"] is None or down["nudged"] is None:
        return Difference("failed", plan)
    if not base["nodes"] == up["nodes"] == down["nodes"]:
        return Difference("branch", plan, objective=middle)
    above, below = (float(a["nudged"][1]) - float(a["nudged"][0]) for a in (up, down))
    right, left = (float(up["objective"]) - middle) / above, (float(down["objective"]) - middle) / below
    slope = (float(up["objective"]) - float(down["objective"])) / (above - below)
    noise = SLACK * plan.epsilon * max(abs(middle), abs(float(up["objective"]))) / plan.step
    tolerance = noise + CURVED * plan.epsilon ** (2 / 3) * max(abs(slope), abs(plan.gradient))
    kind: Kind = "agrees" if abs(slope - plan.gradient) <= tolerance else "differs"
    if abs(right - left) > 2 * noise + 0.5 * max(abs(right), abs(left)):
        kind = "kink"
    return Difference(kind, plan, slope, left, right, tolerance, middle)


def _same(first: float, second: float) -> bool:
    return first == second or (math.isnan(first) and math.isnan(second))


def lens_of(plan: Plan, answer: dict[str, Any] | None) -> Lens | None:
    """The Jacobian in a copy's answer; None where it is too large to be shown, or the copy failed."""
    if answer is None or not answer.get("jacobian"):
        return None
    return Lens(plan, tuple(answer["v"]), tuple(tuple(row) for row in answer["jacobian"]))
