"""What a lesson's words say of the run: `{grad w}` becomes what `.grad` of `w` holds there, so that nobody types it.

The templates are told in docs/lessons.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradviz.player.lesson_steps import SelectorError, step_of, tensor_named
from gradviz.trace import Frame, NotCaptured, Trace, number, shape_text, to_numpy
from gradviz.trace.events import Data, Fault, Grad, Node, NodeRan, Op, Tensor

MOST = 32
"""Elements that a sentence can hold."""
_TEMPLATE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
_ASKED = re.compile(r"(?P<what>\w+)(?: (?P<name>[^\[\]@]+?))?(?P<index>\[[-\d, ]+\])?(?: ?@ ?(?P<at>.+))?")
_CODE = re.compile(r"^```.*?^```|`[^`]*`", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"(?<![A-Za-z0-9_.])\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![A-Za-z0-9_]|-[A-Za-z])")
_ITEM = re.compile(r"^\s*\d+\. ", re.MULTILINE)


class TemplateError(ValueError):
    """A template asks for what the run does not give; the text is a whole sentence."""


def fill(trace: Trace, step: int, text: str) -> str:
    """The text with every template answered by the recording at that step. `{{` and `}}` stand for single braces.

    Raises:
        TemplateError: a template cannot be read, or the recording has no answer.
    """
    return replaced(text, lambda template: answered(trace, step, template))


def replaced(text: str, answer: Callable[[str], str]) -> str:
    """The text with the answer to each template in its place, and single braces for double ones."""
    return _TEMPLATE.sub(lambda found: found[0][0] if found[1] is None else answer(found[1]), text)


def templates(text: str) -> Iterator[tuple[int, str]]:
    """Position and inside of every template."""
    for found in _TEMPLATE.finditer(text):
        if found[1] is not None:
            yield found.start(), found[1]


def answered(trace: Trace, step: int, template: str) -> str:
    """What stands for one template, given without its braces.

    Raises:
        TemplateError: it cannot be read, or the recording has no answer.
    """
    asked = _ASKED.fullmatch(template.strip())
    if asked is None or asked["what"] not in _ANSWERS:
        raise TemplateError(f"“{{{template}}}” is no template: it begins with one of {', '.join(sorted(_ANSWERS))}.")
    try:
        at = step if asked["at"] is None else step_of(trace, asked["at"])
        return _ANSWERS[asked["what"]](trace.at(at), asked["name"] or "", asked["index"] or "")
    except (SelectorError, NotCaptured) as error:
        raise TemplateError(f"“{{{template}}}”: {error}") from error
    except TemplateError as error:
        raise TemplateError(f"“{{{template}}}”: {error}") from error


def typed_numbers(text: str) -> Iterator[tuple[int, str]]:
    """Position and text of each number that stands in the words themselves, code and templates left out."""
    blank = _CODE.sub(_spaces, text)
    for pattern in (_TEMPLATE, _ITEM):
        blank = pattern.sub(_spaces, blank)
    for found in _NUMBER.finditer(blank):
        yield found.start(), found[0]


def _spaces(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def given_numbers(frame: Frame) -> set[str]:
    """Every number that the run gives at a step, as sentences write it: elements, sizes, counts."""
    trace = frame.trace
    given = {str(trace.steps), str(len(trace.passes)), _count_nodes(frame, "", "")}
    for name in trace.names:
        tensor = trace.named(name, frame.step)
        told = trace.tensor(tensor, frame.step) if tensor is not None else None
        if tensor is None or told is None:
            continue
        given |= {str(size) for size in told.shape} | {str(len(told.shape))}
        for data in (frame.value_data(tensor), frame.grad_data(tensor)):
            if data is not None and data.raw is not None and int(np.prod(data.shape)) <= 1024:
                given |= {number(abs(float(value))) for value in np.abs(to_numpy(data)).ravel()}
    return given


# ---- answers


def _tensor(frame: Frame, name: str) -> Tensor:
    """The tensor that a name means at this step.

    Raises:
        TemplateError: there is none.
    """
    if not name:
        raise TemplateError("the name of a tensor is missing.")
    ident = tensor_named(frame.trace, name, frame.step)
    told = frame.trace.tensor(ident, frame.step) if ident is not None else None
    if told is None:
        raise TemplateError(f"no tensor is called {name} at step {frame.step}.")
    return told


def _text(data: Data | None, index: str) -> str:
    if data is None:
        return "None"
    array = to_numpy(data)
    if index:
        try:
            array = np.asarray(array[tuple(int(part) for part in index[1:-1].split(","))])
        except (IndexError, ValueError) as error:
            raise TemplateError(f"{index} is no place in a tensor of shape {shape_text(data.shape)}.") from error
    if array.size > MOST:
        raise TemplateError(f"{array.size} numbers are too many for a sentence: ask for one element, as in [0, 1].")
    return _nested(array.tolist())


def _nested(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_nested(item) for item in value) + "]"
    return str(value) if isinstance(value, bool | int | complex) else number(value)


def _grad(frame: Frame, name: str, index: str) -> str:
    return _text(frame.grad_data(_tensor(frame, name).id), index)


def _value(frame: Frame, name: str, index: str) -> str:
    data = frame.value_data(_tensor(frame, name).id)
    if data is None:
        raise TemplateError(f"the recording holds no value of {name} at step {frame.step}.")
    return _text(data, index)


def _added(frame: Frame, name: str, index: str) -> str:
    """What this step added to a `.grad`."""
    tensor = _tensor(frame, name).id
    written = [e for e in frame.trace.events_of(frame.step) if isinstance(e, Grad) and e.tensor == tensor]
    if not written:
        raise TemplateError(f"{name}.grad does not change at step {frame.step}.")
    last = written[-1]
    return _text(last.after if last.added is None else last.added, index)


def _shape(frame: Frame, name: str, index: str) -> str:
    return shape_text(_tensor(frame, name).shape)


def _size(frame: Frame, name: str, index: str) -> str:
    return str(int(np.prod(_tensor(frame, name).shape)))


def _field(field: str) -> Answer:
    return lambda frame, name, index: str(getattr(_tensor(frame, name), field))


def _grad_fn(frame: Frame, name: str, index: str) -> str:
    node = _tensor(frame, name).node
    told = frame.trace.nodes[node] if node is not None else None
    return "None" if told is None or told.leaf is not None else told.name


def _node_of(frame: Frame, name: str) -> Node:
    """The grad_fn of a tensor, or the node that this step runs."""
    event = frame.event
    running = event.node if isinstance(event, NodeRan | Fault) else None
    ident = _tensor(frame, name).node if name else running
    if ident is None:
        raise TemplateError(f"{name} has no grad_fn." if name else f"step {frame.step} runs no node.")
    return frame.trace.nodes[ident]


def _node(frame: Frame, name: str, index: str) -> str:
    return _node_of(frame, name).name


def _saved(frame: Frame, name: str, index: str) -> str:
    """What a node keeps, or the nodes that this step's operation left: tensors by their names where they have one."""
    event = frame.event
    made = [frame.trace.nodes[n] for n in event.nodes] if isinstance(event, Op) and not name else []
    kept = [
        (frame.trace.name(saved.tensor) if saved.tensor is not None else None) or saved.name
        for node in made or [_node_of(frame, name)]
        for saved in node.saved
        if saved.kind in ("tensor", "packed")
    ]
    return ", ".join(dict.fromkeys(kept)) or "None"


def _status(frame: Frame, name: str, index: str) -> str:
    return frame.status(_node_of(frame, name).id)


def _run(frame: Frame) -> NodeRan:
    if not isinstance(frame.event, NodeRan):
        raise TemplateError(f"step {frame.step} runs no node.")
    return frame.event


def _in(frame: Frame, name: str, index: str) -> str:
    return _one(_run(frame).gin, name, index)


def _out(frame: Frame, name: str, index: str) -> str:
    return _one(_run(frame).gout, name, index)


def _one(gradients: tuple[Data | None, ...], which: str, index: str) -> str:
    place = int(which) if which.isdecimal() else 0
    if place >= len(gradients):
        raise TemplateError(f"this node has {len(gradients)} gradients there.")
    return _text(gradients[place], index)


def _left(frame: Frame, name: str, index: str) -> str:
    """Nodes that this step's operation left behind, the one that gives its result first."""
    event = frame.event
    if not isinstance(event, Op):
        raise TemplateError(f"step {frame.step} is no operation.")
    return ", ".join(frame.trace.nodes[n].name for n in reversed(event.nodes)) or "None"


def _count_nodes(frame: Frame, name: str, index: str) -> str:
    """Backward nodes born so far, AccumulateGrad left out."""
    born = int(np.searchsorted(frame.trace.node_step.view, frame.step, "right"))
    return str(sum(1 for node in frame.trace.nodes[:born] if node.leaf is None))


def _accumulators(frame: Frame, name: str, index: str) -> str:
    born = int(np.searchsorted(frame.trace.node_step.view, frame.step, "right"))
    return str(sum(1 for node in frame.trace.nodes[:born] if node.leaf is not None))


def _order(frame: Frame, name: str, index: str) -> str:
    """Nodes that a pass ran, in the engine's order."""
    return ", ".join(_called(frame.trace, n) for n in frame.trace.order(_pass(frame, name)))


def _runs(frame: Frame, name: str, index: str) -> str:
    return str(len(frame.trace.order(_pass(frame, name))))


def _pass(frame: Frame, name: str) -> int:
    """The pass of that number, counted from 1; the latest one without a number."""
    outer = [p.id for p in frame.trace.passes if p.parent is None]
    begun = [p for p in outer if frame.trace.pass_step.view[p] <= frame.step]
    if name.isdecimal() and 1 <= int(name) <= len(outer):
        return outer[int(name) - 1]
    if name or not begun:
        raise TemplateError(f"there is no backward call {name}".rstrip() + ".")
    return begun[-1]


def _called(trace: Trace, node: int) -> str:
    leaf = trace.nodes[node].leaf
    name = trace.name(leaf) if leaf is not None else None
    return trace.nodes[node].name + (f"({name})" if name else "")


def _held(frame: Frame, name: str, index: str) -> str:
    return str(frame.held_bytes)


def _printed(frame: Frame, name: str, index: str) -> str:
    lines = frame.output.rstrip("\n").split("\n")
    if not lines[-1]:
        raise TemplateError(f"nothing was printed before step {frame.step}.")
    return lines[-1]


def _message(frame: Frame, name: str, index: str) -> str:
    """The first sentence of the error of this step."""
    if not isinstance(frame.event, Fault):
        raise TemplateError(f"step {frame.step} is no error.")
    return re.split(r"(?<=[a-z)])\. ", frame.event.message.strip().split("\n")[0])[0].rstrip(".")


def _torch(frame: Frame, name: str, index: str) -> str:
    return frame.trace.header.versions.get("torch", "?")


Answer = Callable[[Frame, str, str], str]
_ANSWERS: dict[str, Answer] = {
    "grad": _grad,
    "value": _value,
    "added": _added,
    "shape": _shape,
    "size": _size,
    "dtype": _field("dtype"),
    "device": _field("device"),
    "version": _field("version"),
    "is_leaf": _field("is_leaf"),
    "requires_grad": _field("requires_grad"),
    "grad_fn": _grad_fn,
    "node": _node,
    "saved": _saved,
    "status": _status,
    "in": _in,
    "out": _out,
    "left": _left,
    "nodes": _count_nodes,
    "accumulators": _accumulators,
    "order": _order,
    "runs": _runs,
    "held": _held,
    "printed": _printed,
    "message": _message,
    "torch": _torch,
}
