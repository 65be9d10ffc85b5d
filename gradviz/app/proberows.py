"""The rows of the inspector about finite differences and the Jacobian of a leaf."""

from __future__ import annotations

import numpy as np

from gradviz.app.rows import Head, Note, Numbers, Pair, Row
from gradviz.explain import Words, tensor_label
from gradviz.explain.difference import Difference, Lens, Plan
from gradviz.trace import Trace
from gradviz.trace.events import Data
from gradviz.trace.values import number

DIFFERENCE, LENS = "do:probe.difference", "do:probe.jacobian"
"""Where a click on the rows leads: an action."""
DIGITS = 6


def probe_rows(
    trace: Trace,
    tensor: int,
    found: Difference | Lens | None,
    language: str,
    *,
    busy: bool = False,
    can: bool = False,
    trouble: str | None = None,
) -> list[Row]:
    """What was measured of a leaf's gradient, and what can be; nothing where nothing can and nothing was."""
    words = Words(language)
    mine = found if found is not None and found.plan.tensor == tensor else None
    if not can and mine is None:
        return []
    rows: list[Row] = [Head(words("ui.probe.title"))]
    if busy:
        rows.append(Note(words("ui.probe.busy"), "text_dim"))
    elif trouble is not None:
        rows.append(Note(words(f"ui.probe.{trouble}"), "error"))
    elif isinstance(mine, Difference):
        rows += _difference(trace, mine, words)
    elif isinstance(mine, Lens):
        rows += _lens(trace, mine, words)
    if can and not busy:
        rows += [Note(words("ui.probe.do_difference"), "forward", go=DIFFERENCE)]
        rows += [Note(words("ui.probe.do_jacobian"), "forward", go=LENS)]
    return rows


def _name(trace: Trace, plan: Plan) -> str:
    index = f"[{', '.join(map(str, plan.element))}]" if plan.element else ""
    return f"{tensor_label(trace, plan.tensor)}.grad{index}"


def _difference(trace: Trace, found: Difference, words: Words) -> list[Row]:
    plan, tell = found.plan, {"number": found.plan.within + 1}
    rows: list[Row] = [Pair(_name(trace, plan), words("ui.probe.of_pass", **tell), number(plan.gradient, DIGITS))]
    texts = {
        "h": number(plan.step),
        "name": tensor_label(trace, plan.tensor),
        "left": number(found.left, DIGITS),
        "right": number(found.right, DIGITS),
        "gap": number(abs(found.slope - plan.gradient), DIGITS),
        "tolerance": number(found.tolerance),
        "now": number(found.objective, DIGITS),
        "then": number(plan.objective if plan.objective is not None else float("nan"), DIGITS),
        "detail": found.detail or "–",
    }
    if found.kind in ("agrees", "differs", "kink"):
        rows.append(Pair(words("ui.probe.slope"), f"h = {number(plan.step)}", number(found.slope, DIGITS)))
    return [*rows, Note(words(f"ui.probe.{found.kind}", **texts), "text" if found.kind == "agrees" else "error")]


def _lens(trace: Trace, found: Lens, words: Words) -> list[Row]:
    plan, told = found.plan, trace.tensor(found.plan.tensor)
    shape = told.shape if told is not None else (len(found.product),)
    name = tensor_label(trace, plan.tensor)
    rows: list[Row] = [Note(words("ui.probe.lens", name=name, rows=len(found.rows), columns=len(found.product)))]
    for k, (weight, row) in enumerate(zip(found.v, found.rows, strict=True)):
        hot = ", ".join("1" if i == k else "0" for i in range(len(found.v)))
        rows += [Pair(f"v = [{hot}]", "", f"× {number(weight)}", "text_dim"), Numbers(_data(row, shape), faint=True)]
    rows.append(Head(words("ui.probe.product"), words("ui.probe.of_pass", number=plan.within + 1)))
    return [*rows, Numbers(_data(found.product, shape)), Note(words("ui.probe.never"), "text_faint")]


def _data(values: tuple[float, ...], shape: tuple[int, ...]) -> Data:
    array = np.asarray(values, "<f8")
    low, high = float(array.min(initial=0.0)), float(array.max(initial=0.0))
    return Data(shape, "float64", raw=array.tobytes(), low=low, high=high)
