"""Break it on purpose: one change of the program for each belief that it disproves. Pure functions."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from gradviz.player.fixes import spliced
from gradviz.player.lines import expression
from gradviz.player.program import Program
from gradviz.trace import Trace
from gradviz.trace.events import Backward, Named, Tensor


@dataclass(frozen=True, slots=True)
class Experiment:
    """A changed program. `shown` is the line that was put in, or that took the place of another."""

    kind: str
    text: str
    line: int
    """Where that line stands in `text`, from 1."""
    shown: str
    was: int | None = None
    """The line of the unbroken program that it took the place of; None where it was put in."""


@dataclass(frozen=True, slots=True)
class Broken:
    """An experiment that is being shown, and what brings the unbroken program back."""

    experiment: Experiment
    program: Program
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Place:
    """A statement that stands alone on its lines."""

    first: int
    last: int
    indent: str


Found = tuple[str, int, str, int | None]
"""The changed text, the line in it, that line's text, and the old line that it replaces."""


def experiments(trace: Trace, text: str) -> tuple[Experiment, ...]:
    """The experiments that this program has something for; none where the text is not what was recorded, or where
    the program fails by itself."""
    if text != trace.header.source or not text.strip() or any(not fault.caught for fault in trace.faults):
        return ()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    bench = _Bench(trace, text, tree)
    made = ((kind, make(bench)) for kind, make in _KINDS.items())
    return tuple(Experiment(kind, *found) for kind, found in made if found is not None and _parses(found[0]))


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


class _Bench:
    """The program and its recording, with what several experiments look for."""

    def __init__(self, trace: Trace, text: str, tree: ast.Module) -> None:
        self.trace, self.text, self.tree = trace, text, tree
        self.lines = text.split("\n")

    def statements(self) -> Iterator[ast.stmt]:
        """All statements, in the order in which they are written."""
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt)]
        return iter(sorted(found, key=lambda node: (node.lineno, node.col_offset)))

    def place(self, statement: ast.stmt) -> _Place | None:
        """Where a statement stands; None where it shares a line with others."""
        last = statement.end_lineno or statement.lineno
        head = self.lines[statement.lineno - 1].encode()[: statement.col_offset].decode()
        tail = self.lines[last - 1].encode()[statement.end_col_offset or 0 :].decode().strip()
        alone = not head.strip() and (not tail or tail.startswith("#"))
        return _Place(statement.lineno, last, head) if alone else None

    def span(self, node: ast.expr) -> tuple[int, int, int, int]:
        """Where an expression stands, as recordings say it: columns in characters."""
        last = node.end_lineno or node.lineno
        start = self.lines[node.lineno - 1].encode()[: node.col_offset].decode()
        end = self.lines[last - 1].encode()[: node.end_col_offset or 0].decode()
        return node.lineno, len(start), last, len(end)

    def inserted(self, before: int, indent: str, line: str) -> Found:
        """The text with a line put in before a line."""
        lines = [*self.lines[: before - 1], indent + line, *self.lines[before - 1 :]]
        return "\n".join(lines), before, line, None

    @cached_property
    def backward(self) -> tuple[ast.stmt, _Place, Backward] | None:
        """The first statement that is a backward call and was recorded as one."""
        for statement in self.statements():
            if not isinstance(statement, ast.Expr) or not _is_call(statement.value, "backward"):
                continue
            place = self.place(statement)
            call = next((p for p in self.trace.passes if self._on(p, statement)), None)
            if place is not None and call is not None:
                return statement, place, call
        return None

    def _on(self, call: Backward, statement: ast.stmt) -> bool:
        span = call.span
        here = span is not None and statement.lineno <= span[1] <= (statement.end_lineno or statement.lineno)
        return here and span is not None and self.trace.cell_of(span[0]) == 0 and call.parent is None

    def name(self, tensor: int, step: int | None = None) -> str | None:
        """How the program can write a tensor at a step; at the end by default."""
        names = self.trace.names_of.get(tensor, [])
        for name in names:
            inside = any(other.endswith(f".{name}") for other in names)  # "bias" of a "model.bias"
            if not inside and self._newest(name, step) == tensor and (written := expression(name)):
                return written
        return None

    def _newest(self, name: str, step: int | None) -> int | None:
        """The tensor of that name at a step: a name may be noted later than it was bound."""
        trace = self.trace
        history = trace.names.get(name)
        if history is None:
            return None
        last = trace.steps if step is None else step
        place = bisect_right(history.steps, last)
        while place < len(history.indexes) and self._born(history.indexes[place]) <= last:
            place += 1
        event = trace.events[history.indexes[place - 1]] if place else None
        return event.tensor if isinstance(event, Named) else None

    def _born(self, index: int) -> int:
        """The step at which the tensor was born that an event names."""
        event = self.trace.events[index]
        known = self.trace.tensors.get(event.tensor) if isinstance(event, Named) else None
        return known.steps[0] if known is not None else self.trace.steps

    @cached_property
    def saved(self) -> tuple[str | None, str | None]:
        """What nodes of that pass keep from before its statement: the name of a tensor that is no leaf, results before
        what the program made, and that of a leaf which requires grad."""
        if self.backward is None:
            return None, None
        _, place, call = self.backward
        made = leaf = None
        for told, name in self._kept(call, place):
            if told.node is not None:
                return name, leaf
            if told.is_leaf and told.requires_grad:
                leaf = leaf or name
            else:
                made = made or name
        return made, leaf

    def _kept(self, call: Backward, place: _Place) -> Iterator[tuple[Tensor, str]]:
        step = int(self.trace.pass_step.view[call.id])
        for node in call.planned:
            for saved in self.trace.nodes[node].saved if self._earlier(node, place) else ():
                told = self.trace.tensor(saved.tensor, step) if saved.tensor is not None else None
                name = self.name(saved.tensor, step) if told is not None and saved.tensor is not None else None
                if told is not None and name is not None and told.dtype.startswith(("float", "bfloat")):
                    yield told, name

    def _earlier(self, node: int, place: _Place) -> bool:
        """A node was left behind by another statement."""
        told = self.trace.nodes[node] if node < len(self.trace.nodes) else None
        if told is None or told.op is None or told.op >= len(self.trace.ops):
            return False
        span = self.trace.ops[told.op].span
        return span is not None and not (place.first <= span[1] <= place.last and self.trace.cell_of(span[0]) == 0)


def _is_call(node: ast.expr, method: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method


# ---- the experiments


def _no_zero(bench: _Bench) -> Found | None:
    """The first line that zeroes gradients does nothing."""
    for statement in bench.statements():
        if bench.place(statement) is not None and _zeroes(statement):
            text = spliced(bench.text, statement, statement, "pass")
            return text, statement.lineno, "pass", statement.lineno
    return None


def _zeroes(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        call = statement.value
        if _is_call(call, "zero_grad"):
            return True
        over = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
        return _is_call(call, "zero_") and isinstance(over, ast.Attribute) and over.attr == "grad"
    if isinstance(statement, ast.Assign):
        none = isinstance(statement.value, ast.Constant) and statement.value.value is None
        return none and any(isinstance(t, ast.Attribute) and t.attr == "grad" for t in statement.targets)
    return False


def _twice(bench: _Bench) -> Found | None:
    """The first backward call is made once more at once."""
    found = bench.backward
    if found is None:
        return None
    statement, place, _ = found
    again = ast.get_source_segment(bench.text, statement) or ""
    return bench.inserted(place.last + 1, place.indent, again) if "\n" not in again else None


def _before_backward(bench: _Bench, line: Callable[[str], str], *, leaf: Callable[[str], str] | None) -> Found | None:
    """A line about a saved tensor before the backward call; about a leaf where nothing else is saved."""
    if bench.backward is None:
        return None
    place, (made, kept) = bench.backward[1], bench.saved
    if made is not None:
        return bench.inserted(place.first, place.indent, line(made))
    return bench.inserted(place.first, place.indent, leaf(kept)) if kept is not None and leaf is not None else None


def _in_place(bench: _Bench) -> Found | None:
    """A saved tensor is changed in place between forward and backward."""
    return _before_backward(bench, lambda n: f"{n}.add_(1)", leaf=lambda n: f"{n}.detach().add_(1)")


def _data(bench: _Bench) -> Found | None:
    """The same through .data, which no version counter sees."""
    return _before_backward(bench, lambda n: f"{n}.data.add_(1)", leaf=lambda n: f"{n}.data.add_(1)")


def _freeze(bench: _Bench) -> Found | None:
    """A leaf is frozen when the graph is already there."""
    found = bench.backward
    if found is None:
        return None
    _, place, call = found
    leaves = [bench.trace.nodes[n].leaf for n in call.planned if n < len(bench.trace.nodes)]
    named = [name for leaf in leaves if leaf is not None and (name := bench.name(leaf))]
    return bench.inserted(place.first, place.indent, f"{named[0]}.requires_grad_(False)") if named else None


def _rebind(bench: _Bench) -> Found | None:
    """The update of a leaf makes a new tensor instead; where there is no update, the name moves on at once."""
    trace = bench.trace
    reached = {node.leaf for node in trace.nodes if node.leaf is not None}
    leaves = {n for leaf in reached if _is_leaf(trace, leaf) for n in trace.names_of.get(leaf, ())}
    for statement in bench.statements():
        target = statement.target if isinstance(statement, ast.AugAssign) else None
        sign = isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Sub)
        if isinstance(target, ast.Name) and sign and target.id in leaves and isinstance(statement, ast.AugAssign):
            line = f"{target.id} = {target.id} - {ast.unparse(statement.value)}"
            return spliced(bench.text, statement, statement, line), statement.lineno, line, statement.lineno
    for statement in bench.statements():
        place = bench.place(statement)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        name = targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else None
        if name in leaves and place is not None and not place.indent:
            return bench.inserted(place.last + 1, place.indent, f"{name} = {name} * 1")
    return None


def _is_leaf(trace: Trace, tensor: int) -> bool:
    told = trace.tensor(tensor)
    return told is not None and told.is_leaf and told.requires_grad and tensor not in trace.grad_tensors


def _eval(bench: _Bench) -> Found | None:
    """Models are put into eval mode where no_grad stood."""
    for statement in bench.statements():
        if not isinstance(statement, ast.With) or len(statement.items) != 1:
            continue
        scope = statement.items[0].context_expr
        if not _is_call(scope, "no_grad") or statement.items[0].optional_vars is not None:
            continue
        models, place = _models(bench, statement), bench.place(statement)
        if models and place is not None:
            opened = spliced(bench.text, scope, scope, "torch.enable_grad()")
            lines = opened.split("\n")
            line = "; ".join(f"{model}.eval()" for model in models)
            lines.insert(place.first - 1, place.indent + line)
            return "\n".join(lines), place.first, line, None
    return None


def _models(bench: _Bench, block: ast.With) -> list[str]:
    """The modules that are called inside a block, as the program writes them."""
    spans = [scope.span for scope in bench.trace.scopes.values() if scope.cls and scope.span]
    called = {span[1:] for span in spans if bench.trace.cell_of(span[0]) == 0}
    found = {
        ast.unparse(node.func)
        for node in ast.walk(block)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute) and bench.span(node) in called
    }
    return sorted(found)


_KINDS: dict[str, Callable[[_Bench], Found | None]] = {
    "no_zero": _no_zero,
    "twice": _twice,
    "in_place": _in_place,
    "data": _data,
    "freeze": _freeze,
    "rebind": _rebind,
    "eval": _eval,
}
KINDS: tuple[str, ...] = tuple(_KINDS)
