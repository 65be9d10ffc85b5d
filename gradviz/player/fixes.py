"""What can be tried after a fault, as a change of the program's text and of the lines that were sent after it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from gradviz.player.lines import forward_source
from gradviz.trace import Trace
from gradviz.trace.events import Fault, Span


class Fix(Protocol):
    """What a fault's card offers. `edits` are (line, old text, new text) in the program."""

    @property
    def kind(self) -> str: ...

    @property
    def edits(self) -> tuple[tuple[int, str, str], ...]: ...


@dataclass(frozen=True, slots=True)
class Mended:
    """A program's text and the lines to send after it."""

    text: str
    actions: tuple[str, ...]


def repair(fix: Fix, trace: Trace, fault: int, text: str, actions: tuple[str, ...]) -> Mended | None:
    """The program and lines with a fix in them; None where nothing could be changed."""
    mended = Mended(text, actions)
    change = _KINDS.get(fix.kind)
    done = change(mended, trace, trace.faults[fault]) if change else None
    if (done is None or done == mended) and _cell_at(trace, int(trace.fault_step.view[fault])) == 0:
        done = _edited(mended, fix.edits)
    return None if done == mended else done


def _edited(mended: Mended, edits: tuple[tuple[int, str, str], ...]) -> Mended:
    lines = mended.text.split("\n")
    for line, old, new in edits:
        if 1 <= line <= len(lines) and old in lines[line - 1]:
            lines[line - 1] = lines[line - 1].replace(old, new, 1)
    return replace(mended, text="\n".join(lines))


# ---- where things stand


def _cell_at(trace: Trace, step: int) -> int:
    """Position of the cell that a step belongs to: 0 is the program, k the k-th line that was sent."""
    return max(0, int(np.searchsorted(trace.cell_step.view, step, "right")) - 1)


def _at(mended: Mended, trace: Trace, step: int, span: Span | None, change: Callable[[str, int], str]) -> Mended:
    """Change the text or the sent line where something happened; `change` gets a text and a line in it."""
    cell = _cell_at(trace, step)
    if span is None or span[1] < 1:
        return mended
    if cell == 0:
        return replace(mended, text=change(mended.text, span[1])) if trace.cell_of(span[0]) == 0 else mended
    if cell > len(mended.actions):
        return mended
    actions = list(mended.actions)
    actions[cell - 1] = change(actions[cell - 1], span[1])
    return replace(mended, actions=tuple(actions))


# ---- the kinds


def _retain_graph(mended: Mended, trace: Trace, fault: Fault) -> Mended | None:
    """The pass that freed what this one needed keeps it."""
    node = fault.node
    runs = [] if node is None else [i for i, n in enumerate(trace.run_node.view) if n == node]
    earlier = [int(trace.run_pass.view[i]) for i in runs if trace.run_step.view[i] < trace.fault_step.view[fault.id]]
    freeing = [p for p in earlier if p < len(trace.passes) and not trace.passes[p].retain_graph]
    for ident in freeing:
        call = trace.passes[ident]
        step = int(trace.pass_step.view[ident])
        mended = _at(mended, trace, step, call.span, lambda text, line: with_argument(text, line, "retain_graph=True"))
    return mended


def _gradient_ones(mended: Mended, trace: Trace, fault: Fault) -> Mended | None:
    step = int(trace.fault_step.view[fault.id])
    return _at(mended, trace, step, fault.span, with_ones)


def _forward_again(mended: Mended, trace: Trace, fault: Fault) -> Mended | None:
    """The forward part once more before the call that failed: a new graph for it."""
    source = forward_source(trace, trace.header.source)
    cell = _cell_at(trace, int(trace.fault_step.view[fault.id]))
    if source is None:
        return None
    if cell:
        return replace(mended, actions=(*mended.actions[: cell - 1], source, *mended.actions[cell - 1 :]))
    if fault.span is None or trace.cell_of(fault.span[0]) != 0:
        return None
    lines = mended.text.split("\n")
    failing = lines[fault.span[1] - 1]
    indent = failing[: len(failing) - len(failing.lstrip())]
    lines[fault.span[1] - 1 : fault.span[1] - 1] = [indent + line for line in source.split("\n")]
    return replace(mended, text="\n".join(lines))


_KINDS: dict[str, Callable[[Mended, Trace, Fault], Mended | None]] = {
    "retain_graph": _retain_graph,
    "gradient_ones": _gradient_ones,
    "forward_again": _forward_again,
}


# ---- changing a call


def with_argument(text: str, line: int, argument: str) -> str:
    """The text with one more keyword argument in the backward call on a line; unchanged where there is no such call
    or it has that keyword."""
    call = _backward_call(text, line)
    name = argument.partition("=")[0]
    if call is None:
        return text
    given = next((k for k in call.keywords if k.arg == name), None)
    if given is not None:
        return spliced(text, given.value, given.value, argument.partition("=")[2])
    closing = _offset(text, call.end_lineno, call.end_col_offset) - 1
    inside = text[:closing].rstrip()
    between = "" if inside.endswith("(") else " " if inside.endswith(",") else ", "
    return f"{inside}{between}{argument}{text[closing:]}"


def with_ones(text: str, line: int) -> str:
    """The text with a gradient of ones in the backward call on a line that has no gradient argument."""
    call = _backward_call(text, line)
    if call is None or call.args or any(k.arg == "gradient" for k in call.keywords):
        return text
    assert isinstance(call.func, ast.Attribute)
    root = ast.unparse(call.func.value)
    opening = _offset(text, call.func.end_lineno, call.func.end_col_offset)
    opening = text.index("(", opening) + 1
    comma = ", " if call.keywords else ""
    return f"{text[:opening]}torch.ones_like({root}){comma}{text[opening:]}"


def _backward_call(text: str, line: int) -> ast.Call | None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in ast.walk(tree):
        named = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward"
        if named and isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno):
            return node
    return None


def spliced(text: str, first: ast.expr | ast.stmt, last: ast.expr | ast.stmt, new: str) -> str:
    """The text with something else in place of two parts of it and of all that stands between them."""
    start = _offset(text, first.lineno, first.col_offset)
    end = _offset(text, last.end_lineno, last.end_col_offset)
    return text[:start] + new + text[end:]


def _offset(text: str, line: int | None, column: int | None) -> int:
    """Position in the text of a place that `ast` gives: columns there count bytes of UTF-8."""
    lines = text.split("\n")[: line or 1]
    before = sum(len(part) + 1 for part in lines[:-1])
    return before + len(lines[-1].encode("utf-8")[: column or 0].decode("utf-8", "ignore"))
