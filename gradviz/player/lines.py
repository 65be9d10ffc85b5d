"""The lines of Python that the buttons send to the live process, worked out from the recording and the program text."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np

from gradviz.player.forms import Seed, seed_text, spelled
from gradviz.trace import Trace
from gradviz.trace.events import Backward, Fault, Tensor

_FLOAT = re.compile(r"""float\((["'])(nan|inf)\1\)""")
NEWEST = 500, 5000
"""So many tensors, and operations that use them, are looked at for a default root."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf tensor that can be reached by name in the program."""

    tensor: int
    name: str
    shape: tuple[int, ...]
    has_grad: bool


@dataclass(frozen=True, slots=True)
class Root:
    """A tensor that a backward pass can begin at."""

    tensor: int
    name: str
    shape: tuple[int, ...]
    scalar: bool


def leaves(trace: Trace) -> list[Leaf]:
    """Leaves that require grad and have a name, as things stand at the end of the recording, in order of birth."""
    frame = trace.at(trace.steps)
    found = []
    for ident in sorted(tensor for tensor, wants in trace.named_leaves.items() if wants):
        known, name = trace.tensor(ident), reachable(trace, ident)
        if known and name:
            found.append(Leaf(ident, name, known.shape, frame.grad_data(ident) is not None))
    return found


def reachable(trace: Trace, tensor: int) -> str | None:
    """An expression that means this tensor at the end of the recording: `w`, `model[0].weight`."""
    names = trace.names_of.get(tensor, [])
    for name in names:
        inside = any(other.endswith(f".{name}") for other in names)  # "fc.weight" of a "model.fc.weight"
        if not inside and trace.named(name) == tensor and (written := expression(name)):
            return written
    return None


def expression(name: str) -> str | None:
    """A name as Python writes it: "model.0.weight" is `model[0].weight`. None for what is no name there."""
    first, *parts = name.split(".")
    if not first.isidentifier() or keyword.iskeyword(first):
        return None
    text = first
    for part in parts:
        if part.isdigit():
            text += f"[{part}]"
        elif part.isidentifier() and not keyword.iskeyword(part):
            text += f".{part}"
        else:
            return None
    return text


def default_root(trace: Trace) -> Root | None:
    """The root of the last backward call; if there was none or it has no name now, the newest named tensor with a
    grad_fn that nothing was computed from; then the newest named one with a grad_fn."""
    for event in reversed(trace.passes):
        for tensor in event.tensors if event.parent is None else ():
            if root := _root(trace, tensor):
                return root
    used = _used(trace)
    fallback = None
    for tensor in islice(reversed(trace.tensors), NEWEST[0]):
        root = _root(trace, tensor)
        if root and tensor not in used:
            return root
        fallback = fallback or root
    return fallback


def _root(trace: Trace, tensor: int) -> Root | None:
    """The tensor by that id, or what its name means by now, if a pass can begin there."""
    for name in trace.names_of.get(tensor, ()):
        now = trace.named(name)
        written = expression(name)
        known = trace.tensor(now) if now is not None and written else None
        if known and written and now is not None and known.node is not None and not known.is_leaf:
            return Root(now, written, known.shape, _count(known.shape) == 1)
    return None


def _used(trace: Trace) -> set[int]:
    """Tensors from which others with a grad_fn were computed. The newest are enough for a default."""
    return {tensor for op in trace.ops[-NEWEST[1] :] if op.nodes for tensor in op.inputs}


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def backward_line(root: Root, seed: Seed, *, retain_graph: bool, create_graph: bool) -> str:
    """The call, with only the arguments that differ from PyTorch's defaults."""
    arguments = [] if root.scalar else [seed_text(seed, root.name, root.shape)]
    arguments += ["retain_graph=True"] if retain_graph else []
    arguments += ["create_graph=True"] if create_graph else []
    return f"{root.name}.backward({', '.join(arguments)})"


def zero_line(chosen: Iterable[Leaf]) -> str:
    """Zeroes `.grad` in place where there is one."""
    return "; ".join(f"{leaf.name}.grad.zero_()" for leaf in chosen if leaf.has_grad)


def none_line(chosen: Iterable[Leaf]) -> str:
    """Takes `.grad` away where there is one."""
    return "; ".join(f"{leaf.name}.grad = None" for leaf in chosen if leaf.has_grad)


def typed_error(text: str) -> str | None:
    """Why a typed gradient cannot be used: "syntax", "numbers", "ragged"; None where it can. Nothing is run."""
    try:
        value = ast.literal_eval(_FLOAT.sub("1e999", spelled(text.strip())))
        if "#" in text:  # what follows in the line would be a part of the comment
            return "syntax"
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return "syntax"
    try:
        array = np.asarray(value)
    except ValueError:
        return "ragged"
    return None if array.dtype.kind in "iuf" and array.size else "numbers"


def forward_source(trace: Trace, text: str) -> str | None:
    """The part of the program that leads to its first backward call and makes tensors with a grad_fn; simple
    statements on one line. None where the program has no such statements that could be run alone.

    Leaves are left as they are: running `w = torch.randn(…)` again would make another leaf, without its `.grad`.
    """
    chosen = [s for s in _forward_part(text) if _makes_graph(s, trace)]
    if not chosen:
        return None
    simple = all(isinstance(s, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr) for s in chosen)
    return ("; " if simple else "\n").join(ast.unparse(s) for s in chosen)


@lru_cache(maxsize=4)
def _forward_part(text: str) -> tuple[ast.stmt, ...]:
    """Statements of a program before its first backward call; none where it is no program."""
    try:
        return tuple(_before_backward(ast.parse(text).body))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _before_backward(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements before the first backward call, looking into the blocks that hold it."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if not _calls_backward(statement):
            yield statement
            continue
        inner = getattr(statement, "body", None)
        if isinstance(inner, list):
            yield from _before_backward(inner)
        return


def _calls_backward(statement: ast.stmt) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (node.func.attr == "backward" or ast.unparse(node.func).endswith("autograd.grad"))
        for node in ast.walk(statement)
    )


def _makes_graph(statement: ast.stmt, trace: Trace) -> bool:
    if any(
        line in trace.graph_lines for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    ):
        return True
    names = [n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    known = [trace.tensor(t) for name in names if (t := trace.named(name)) is not None]
    return any(isinstance(tensor, Tensor) and tensor.node is not None for tensor in known)


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that somebody did: a backward call of the program, or a line sent to the live process."""

    text: str
    first: int
    """Its first step."""
    last: int
    """Its last step, or the last known one while it runs."""
    origin: str = "program"
    failed: bool = False
    stopped: bool = False
    """Somebody stopped it, or its process ended."""
    number: int | None = None
    """Which action it is, as sentences count the lines that were sent; None for a call of the program."""


def acts(trace: Trace, limit: int = 200) -> list[Act]:
    """The program's backward calls, then the lines that were sent, in order; the last `limit` of them."""
    sent = [_sent(trace, position) for position in range(max(1, len(trace.cells) - limit), len(trace.cells))]
    bounds = trace.cell_step.view
    after_program = int(bounds[1]) if len(bounds) > 1 else trace.steps + 1
    begun = int(np.searchsorted(trace.pass_step.view, after_program, "left"))
    latest = (act for k in range(begun - 1, -1, -1) if (act := _call(trace, trace.passes[k])) is not None)
    return [*islice(latest, limit - len(sent))][::-1] + sent


def _sent(trace: Trace, position: int) -> Act:
    bounds = trace.cell_step.view
    cell, first = trace.cells[position], int(bounds[position])
    last = int(bounds[position + 1]) - 1 if position + 1 < len(bounds) else trace.steps
    file, ended = trace.files.get(cell.file), trace.ended.get(cell.id)
    status = ended.status if ended is not None else ""
    if last < first and status:  # it made no step: it stands where the recording stood
        first = last
    text, stopped = file.text.strip() if file else "", status in ("interrupted", "killed")
    return Act(text, first, max(first, last), cell.origin, status == "error", stopped, position)


def _call(trace: Trace, event: Backward) -> Act | None:
    if event.parent is not None:
        return None
    first = int(trace.pass_step.view[event.id])
    last = trace.pass_end.get(event.id, trace.steps)
    raised = isinstance(trace.event_at(last), Fault)
    return Act(event.text or event.call, first, last, failed=raised)
