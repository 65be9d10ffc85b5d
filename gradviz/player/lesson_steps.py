"""From a selector such as `backward#2/AccumulateGrad(w)` to the step that it means in a recording.

Selectors name events, never positions, so that a lesson keeps its places when a line is added or another PyTorch
leaves other nodes behind. Their grammar is told in docs/lessons.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

from gradviz.trace import Trace
from gradviz.trace.events import Backward, Grad, NodeRan, Op

_PART = re.compile(r"(?P<name>[A-Za-z_]\w*|\*)(?:\((?P<arg>[^()]+)\))?(?:#(?P<count>\d+|last))?")
_LINE = re.compile(r"(?P<before>before )?line (?P<line>\d+)(?:#(?P<count>\d+|last))?")
_CAUSES = {"zero": ("zero",), "none": ("none",), "assign": ("assign",), "edit": ("edit",), "retain": ("retain",)}

Steps = range


class SelectorError(ValueError):
    """The selector means nothing in this recording; the text is a whole sentence."""


def step_of(trace: Trace, selector: str) -> int:
    """The step that a selector means.

    Raises:
        SelectorError: it cannot be read, or nothing in the recording is meant by it.
    """
    text = selector.strip()
    if text == "start":
        return 0
    whole = range(1, trace.steps + 1)
    return _resolve(trace, text, text, whole)


def tensor_named(trace: Trace, name: str, step: int) -> int | None:
    """The tensor that a name means at a step, also where it got that name only later, as `model.weight` does."""
    found = trace.named(name, step)
    if found is not None:
        return found
    later = [t for t, names in trace.names_of.items() if name in names and trace.tensor(t, step) is not None]
    return later[0] if len(later) == 1 else None


def _resolve(trace: Trace, text: str, selector: str, within: Steps) -> int:
    if text == "end":
        return within.stop - 1
    if found := _LINE.fullmatch(text):
        return _line(trace, found, selector, within)
    head, slash, rest = text.partition("/")
    part = _PART.fullmatch(head)
    if part is None or (slash and not rest):
        raise SelectorError(f"“{selector}” is no selector: “{text}” cannot be read.")
    name = part["name"]
    if name == "action":
        inside = _action(trace, part, selector)
        return _resolve(trace, rest, selector, inside) if slash else inside.stop - 1
    if name == "backward":
        return _backward(trace, part, rest, selector, within)
    if name == "forward":
        return _forward(trace, rest, selector, within)
    if slash:
        raise SelectorError(f"“{selector}” is no selector: nothing stands below “{head}”.")
    if name in _SIMPLE:
        return _nth(list(_SIMPLE[name](trace, part["arg"], within)), part["count"], selector, head)
    raise SelectorError(
        f"“{selector}” is no selector: “{name}” is none of start, end, line, forward, backward, action, "
        f"{', '.join(_SIMPLE)}."
    )


def _nth(steps: list[int], count: str | None, selector: str, what: str) -> int:
    """The step of that number, the first where none is given."""
    if not steps:
        raise SelectorError(f"“{selector}” means nothing in this recording: it has no {what.partition('#')[0]}.")
    if count == "last":
        return steps[-1]
    number = int(count or 1)
    if not 1 <= number <= len(steps):
        raise SelectorError(
            f"“{selector}” means nothing in this recording: it has {what.partition('#')[0]} {len(steps)} times only."
        )
    return steps[number - 1]


# ---- lines and actions


def _line(trace: Trace, found: re.Match[str], selector: str, within: Steps) -> int:
    """The last step of one visit of a line, of the program or of one action; with `before`, the step before its
    first."""
    wanted = int(found["line"])
    cell = _cell(trace, within.start) if within.start > 1 else 0
    visits: list[tuple[int, int]] = []
    for step in within:
        span = trace.span(step)
        if span is None or trace.cell_of(span[0]) != cell or not span[1] <= wanted <= max(span[1::2]):
            continue
        if visits and visits[-1][1] == step - 1:
            visits[-1] = (visits[-1][0], step)
        else:
            visits.append((step, step))
    steps = [first - 1 if found["before"] else last for first, last in visits]
    return _nth(steps, found["count"], selector, f"step in line {wanted}")


def _cell(trace: Trace, step: int) -> int:
    """Position of the cell that runs at a step: 0 the program."""
    return int(np.searchsorted(trace.cell_step.view, step, "right")) - 1


def _action(trace: Trace, part: re.Match[str], selector: str) -> Steps:
    """The steps of a line that was sent after the program."""
    bounds = [int(step) for step in trace.cell_step.view[1:]] + [trace.steps + 1]
    number = len(bounds) - 1 if part["count"] == "last" else int(part["count"] or 1)
    if not 1 <= number < len(bounds):
        raise SelectorError(f"“{selector}” means nothing in this recording: it has {len(bounds) - 1} actions.")
    if bounds[number - 1] == bounds[number]:
        raise SelectorError(f"“{selector}” means nothing in this recording: that action made no step.")
    return range(bounds[number - 1], bounds[number])


# ---- backward


def _backward(trace: Trace, part: re.Match[str], rest: str, selector: str, within: Steps) -> int:
    passes = [p for p in trace.passes if p.parent is None and int(trace.pass_step.view[p.id]) in within]
    starts = [int(trace.pass_step.view[p.id]) for p in passes]
    start = _nth(starts, part["count"], selector, "backward")
    if not rest:
        return start
    event = passes[starts.index(start)]
    runs = [
        (int(step), int(node))
        for step, node, ident in zip(trace.run_step.view, trace.run_node.view, trace.run_pass.view, strict=True)
        if ident == event.id
    ]
    if rest == "end":
        return trace.pass_end.get(event.id, trace.steps)
    found = _PART.fullmatch(rest)
    if found is None:
        raise SelectorError(f"“{selector}” is no selector: “{rest}” cannot be read.")
    name, argument = found["name"], found["arg"]
    if name == "*":
        return _nth([step for step, _ in runs], found["count"], selector, "node run in that pass")
    if name == "fault":
        faults = _SIMPLE["fault"](trace, None, range(start, trace.pass_end.get(event.id, trace.steps) + 1))
        return _nth(list(faults), found["count"], selector, "fault in that pass")
    matching = [(step, node) for step, node in runs if trace.nodes[node].name == name and _has(trace, node, argument)]
    if matching or name[:1].isupper():
        what = f"{name} of {argument}" if argument else name
        return _nth([step for step, _ in matching], found["count"], selector, f"{what} in that pass")
    return _of_op(trace, found, runs, selector)


def _of_op(trace: Trace, found: re.Match[str], runs: list[tuple[int, int]], selector: str) -> int:
    """`backward#1/matmul`: where the last of the nodes that this operation left behind has run."""
    name, argument = found["name"], found["arg"]
    ops = [op for op in trace.ops if op.name == name and op.nodes and (not argument or _makes(trace, op, argument))]
    last = []
    for op in ops:
        steps = [step for step, node in runs if node in op.nodes]
        if steps:
            last.append(max(steps))
    return _nth(last, found["count"], selector, f"node of {name} in that pass")


def _has(trace: Trace, node: int, argument: str | None) -> bool:
    """The node is that of a leaf by this name, or of the operation that made a tensor of this name."""
    if argument is None:
        return True
    told = trace.nodes[node]
    if told.leaf is not None:
        return argument in trace.names_of.get(told.leaf, ())
    op = trace.op(told.op)
    return op is not None and _makes(trace, op, argument)


def _makes(trace: Trace, op: Op, name: str) -> bool:
    return any(name in trace.names_of.get(tensor, ()) for tensor in (*op.outputs, *op.writes))


# ---- the rest


def _forward(trace: Trace, rest: str, selector: str, within: Steps) -> int:
    part = _PART.fullmatch(rest)
    if part is None:
        raise SelectorError(f"“{selector}” is no selector: an operation must follow “forward/”.")
    steps = [
        int(step)
        for op, step in zip(trace.ops, trace.op_step.view, strict=True)
        if part["name"] in ("*", op.name)
        and int(step) in within
        and trace.event_at(int(step)) is op
        and (part["arg"] is None or _makes(trace, op, part["arg"]))
    ]
    what = f"{part['name']} that gives {part['arg']}" if part["arg"] else part["name"]
    return _nth(steps, part["count"], selector, what)


def _faults(trace: Trace, argument: str | None, within: Steps) -> Iterator[int]:
    for fault, step in zip(trace.faults, trace.fault_step.view, strict=True):
        if int(step) in within and argument in (None, fault.code):
            yield int(step)


def _writes(trace: Trace, argument: str | None, within: Steps) -> Iterator[int]:
    """Operations that changed what a tensor of this name holds; setting a flag is none."""
    for op, step in zip(trace.ops, trace.op_step.view, strict=True):
        named = {name for tensor in op.writes for name in trace.names_of.get(tensor, ())}
        if int(step) in within and named and op.name != "requires_grad_" and (argument is None or argument in named):
            yield int(step)


def _grad_changes(causes: tuple[str, ...]) -> Callable[[Trace, str | None, Steps], Iterator[int]]:
    """Steps at which the program itself changed a `.grad`."""

    def find(trace: Trace, argument: str | None, within: Steps) -> Iterator[int]:
        seen = -1
        for index, event in enumerate(trace.events):
            if not isinstance(event, Grad) or event.within is not None or event.cause not in causes:
                continue
            if argument is not None and argument not in trace.names_of.get(event.tensor, ()):
                continue
            step = trace.step_of_event(index)
            if step in within and step != seen:
                seen = step
                yield step

    return find


_SIMPLE: dict[str, Callable[[Trace, str | None, Steps], Iterator[int]]] = {
    "fault": _faults,
    "write": _writes,
    **{name: _grad_changes(causes) for name, causes in _CAUSES.items()},
}


def describe(trace: Trace, step: int) -> str:
    """The selector of a step, for teachers who look for one; `end` where none of the others means it."""
    if step == 0:
        return "start"
    base = _base(trace, step)
    for count in range(1, trace.steps + 1) if base else ():
        text = base if count == 1 else f"{base}#{count}"
        try:
            found = step_of(trace, text)
        except SelectorError:
            break
        if found == step:
            return text
    return "end" if step == trace.steps else ""


def _base(trace: Trace, step: int) -> str:
    event = trace.event_at(step)
    if isinstance(event, Op):
        return f"forward/{event.name}"
    if isinstance(event, Backward):
        return "backward"
    if isinstance(event, NodeRan):
        node = trace.nodes[event.node]
        name = trace.name(node.leaf) if node.leaf is not None else None
        outer = sum(1 for p in trace.passes[: event.within + 1] if p.parent is None)
        return f"backward#{outer}/{node.name}" + (f"({name})" if name else "")
    if isinstance(event, Grad):
        return f"{event.cause}({trace.name(event.tensor)})"
    return "fault"
