"""What can be tried after a fault, as a change of the program's text and of the lines that were sent after it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gradviz.player.lines import forward_source
from gradviz.trace import Trace
from gradviz.trace.events import Fault


@dataclass(frozen=True, slots=True)
class Mended:
    """A program's text and the lines to send after it."""

    text: str
    actions: tuple[str, ...]


def repair(kind: str, trace: Trace, fault: int, text: str, actions: tuple[str, ...]) -> Mended | None:
    """The program and lines with a fix in them; None where nothing could be changed. `kind`: an `explain.FixKind`."""
    mended = Mended(text, actions)
    change = _KINDS.get(kind)
    done = None if change is None else change(mended, trace, trace.faults[fault])
    return None if done == mended else done


# ---- where things stand


def _cell_at(trace: Trace, step: int) -> int:
    """Position of the cell that a step belongs to: 0 is the program, k the k-th line that was sent."""
    return max(0, int(np.searchsorted(trace.cell_step.view, step, "right")) - 1)


def _at(mended: Mended, trace: Trace, span: object, change: Callable[[str, int], str]) -> Mended:
    """Change the text or the sent line in which a span stands; `change` gets a text and a line in it. `span` may be a
    fault's fact, which is a list."""
    if not isinstance(span, tuple | list) or len(span) < 2 or not isinstance(span[1], int) or span[1] < 1:
        return mended
    cell = trace.cell_of(span[0])
    if cell == 0:
        return replace(mended, text=change(mended.text, span[1]))
    if cell is None or cell > len(mended.actions):
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
        span = trace.passes[ident].span
        mended = _at(mended, trace, span, lambda text, line: with_argument(text, line, "retain_graph=True"))
    return mended


def _gradient_ones(mended: Mended, trace: Trace, fault: Fault) -> Mended | None:
    return _at(mended, trace, fault.span, with_ones)


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


def _clone(mended: Mended, trace: Trace, fault: Fault) -> Mended | None:
    """The in-place write that a backward met goes into a copy; a tensor of inference mode is copied before its use."""
    if fault.code == "inference_tensor":
        name = fault.facts.get("name")
        if not isinstance(name, str) or not name.isidentifier():
            return None
        return _at(
            mended, trace, fault.span, lambda text, line: with_line_before(text, line, f"{name} = {name}.clone()")
        )
    return _at(mended, trace, fault.facts.get("changed_at"), with_clone)


def _no_grad(mended: Mended, trace: Trace, fault: Fault) -> Mended | None:
    """The in-place write on a leaf is not for autograd to record."""
    return _at(mended, trace, fault.span, with_no_grad)


def _detach(mended: Mended, trace: Trace, fault: Fault) -> Mended | None:
    """Instead of a changed flag, a tensor that is cut off."""
    return _at(mended, trace, fault.span, with_detach)


_KINDS: dict[str, Callable[[Mended, Trace, Fault], Mended | None]] = {
    "retain_graph": _retain_graph,
    "gradient_ones": _gradient_ones,
    "forward_again": _forward_again,
    "clone": _clone,
    "no_grad": _no_grad,
    "detach": _detach,
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


def with_clone(text: str, line: int) -> str:
    """The text with `y = y.clone()` before the statement that writes into y in place; as it was for any other."""
    target = _written(_statement(text, line))
    return text if target is None else with_line_before(text, line, f"{target} = {target}.clone()")


def with_no_grad(text: str, line: int) -> str:
    """The text with the statement on a line in a `torch.no_grad()` block of its own."""
    statement = _statement(text, line)
    if _written(statement) is None or statement is None:
        return text
    lines, first, last = text.split("\n"), statement.lineno - 1, statement.end_lineno or statement.lineno
    indent = lines[first][: statement.col_offset]
    block = [f"{indent}with torch.no_grad():", *(f"    {part}" for part in lines[first:last])]
    return "\n".join([*lines[:first], *block, *lines[last:]])


def with_detach(text: str, line: int) -> str:
    """The text with `y.requires_grad_(False)` or `y.requires_grad = False` turned into `y = y.detach()`."""
    statement = _statement(text, line)
    call = statement.value if isinstance(statement, ast.Expr) else None
    place = call.func if isinstance(call, ast.Call) else None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        place = statement.targets[0]
    if (
        statement is None
        or not isinstance(place, ast.Attribute)
        or place.attr not in ("requires_grad", "requires_grad_")
    ):
        return text
    name = ast.unparse(place.value)
    start = _offset(text, statement.lineno, statement.col_offset)
    end = _offset(text, statement.end_lineno, statement.end_col_offset)
    return f"{text[:start]}{name} = {name}.detach(){text[end:]}"


def with_line_before(text: str, line: int, new: str) -> str:
    """The text with a new line before the statement on a line, as far in as that is."""
    statement = _statement(text, line)
    if statement is None:
        return text
    lines = text.split("\n")
    at = statement.lineno - 1
    lines.insert(at, lines[at][: statement.col_offset] + new)
    return "\n".join(lines)


def _statement(text: str, line: int) -> ast.stmt | None:
    """The innermost statement on a line, if it is alone on its lines."""
    here = [
        node
        for node in ast.walk(_parsed(text))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    found = max(here, key=lambda node: (node.lineno, node.col_offset), default=None)
    if found is None or hasattr(found, "body"):
        return None
    before = text.split("\n")[found.lineno - 1].encode()[: found.col_offset]
    return None if before.strip() else found


def _written(statement: ast.stmt | None) -> str | None:
    """Name of the tensor that a statement writes into in place: `y.add_(1)`, `y += 1`, `y[0] = 1`."""
    place: ast.expr | None = None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        func = statement.value.func
        if isinstance(func, ast.Attribute) and func.attr.endswith("_") and not func.attr.endswith("__"):
            place = func.value
    elif isinstance(statement, ast.AugAssign):
        place = statement.target
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        place = statement.targets[0] if isinstance(statement.targets[0], ast.Subscript) else None
    while isinstance(place, ast.Subscript):
        place = place.value
    return ast.unparse(place) if isinstance(place, ast.Name | ast.Attribute) else None


def _parsed(text: str) -> ast.Module:
    """The tree of a text; an empty one where it is no Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _backward_call(text: str, line: int) -> ast.Call | None:
    for node in ast.walk(_parsed(text)):
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
