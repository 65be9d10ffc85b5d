"""Questions about a value, node or fault, answered by walking the recording. The first cause that fits is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from gradviz.explain.faults import fault_card
from gradviz.explain.labels import node_label, one_line, place, tensor_label
from gradviz.explain.versions import versions
from gradviz.explain.why_grad import Story, none, number, twice
from gradviz.explain.why_node import here, keeps, memory, state, when
from gradviz.explain.why_tensor import changed, nan, not_requires, requires, told_of
from gradviz.explain.words import Words
from gradviz.trace import Trace
from gradviz.trace.values import not_finite


@dataclass(frozen=True, slots=True)
class Answer:
    """Whole sentences, the cause first, and the steps at which it can be seen. The first `on_card` of them stand on the
    card of the error too."""

    question: str
    sentences: tuple[str, ...]
    steps_to_jump: tuple[int, ...]
    on_card: int = 0


_GRAD: dict[str, Callable[[Story, int], None]] = {"none": none, "number": number, "twice": twice}
_TENSOR: dict[str, Callable[[Story, int], None]] = {
    "requires": requires,
    "not_requires": not_requires,
    "nan": nan,
    "changed": changed,
    "memory": keeps,
}
_NODE: dict[str, Callable[[Story, int], None]] = {"when": when, "here": here, "memory": memory}
QUESTIONS: dict[str, tuple[str, ...]] = {
    "tensor": (*_GRAD, *_TENSOR),
    "leaf": (*_GRAD, *_TENSOR),
    "result": (*_GRAD, *_TENSOR),
    "grad": (*_GRAD, "nan"),
    "node": (*_NODE, "nan"),
    "op": ("here", "not_requires", "nan"),
    "fault": ("raise",),
}
"""Kind of target -> what can be asked of it."""
MOST_WRITES = 4


def why(trace: Trace, step: int, target: str, question: str | None = None, language: str = "en") -> Answer:
    """Answer a question about a target ("tensor:3", "leaf:2", "grad:2", "node:5", "op:2", "fault:0") at a step.

    Without a question, or with one that this kind of target does not know, the most telling one is asked.
    """
    step = max(0, min(step, trace.steps))
    story = Story(trace, step, language)
    kind, _, rest = target.partition(":")
    ident = rest.partition("@")[0]
    words = Words(language)
    if not ident.isdigit() or not _exists(trace, kind, int(ident)):
        return Answer(words("why.q.unknown"), (words("why.unknown", target=target),), ())
    if question not in QUESTIONS.get(kind, ()) or (kind == "op" and not trace.ops[int(ident)].nodes):
        question = likely(trace, step, kind, int(ident))
    name = _ask(story, kind, int(ident), question)
    jumps = dict.fromkeys(s for s in story.steps if s != step or kind == "fault")
    if question == "when":  # asked as things stand
        question = f"when_{state(trace, step, int(ident))}"
    on_card = len(_card_says(trace, int(ident), language)) if kind == "fault" else 0
    return Answer(words(f"why.q.{question}", name=name), tuple(story.sentences), tuple(jumps), on_card)


def _exists(trace: Trace, kind: str, ident: int) -> bool:
    if kind in ("tensor", "leaf", "result", "grad"):
        return ident in trace.tensors
    tables = {"node": len(trace.nodes), "op": len(trace.ops), "fault": len(trace.faults)}
    return ident < tables.get(kind, 0)


def likely(trace: Trace, step: int, kind: str, ident: int) -> str:
    """What people ask of this first."""
    if kind in ("node", "fault"):
        return "when" if kind == "node" else "raise"
    if kind == "op":
        return "here" if trace.ops[ident].nodes else "not_requires"
    frame = trace.at(step)
    told, value = trace.tensor(ident, step) or trace.tensor(ident), frame.value_data(ident)
    if not_finite(value):
        return "nan"
    if kind in ("grad", "leaf") or (told is not None and told.is_leaf and told.requires_grad):
        return "none" if frame.grad_data(ident) is None else "number"
    return "requires" if told is not None and told.requires_grad else "not_requires"


def _ask(story: Story, kind: str, ident: int, question: str) -> str:
    """Let the answer be told; the name that the question is about."""
    trace = story.trace
    if kind == "fault":
        _raise(story, ident)
        return ""
    if kind == "node":
        told = partial(nan, node=ident) if question == "nan" else _NODE[question]
        told(story, ident)
        return node_label(trace, ident)
    if kind == "op":
        return _ask_op(story, ident, question)
    (_GRAD | _TENSOR)[question](story, ident)
    return told_of(story, ident)[0] if question == "nan" else tensor_label(trace, ident)


def _ask_op(story: Story, ident: int, question: str) -> str:
    op = story.trace.ops[ident]
    if question == "here" and op.nodes:
        here(story, op.nodes[-1])
        return node_label(story.trace, op.nodes[-1])
    result = next(iter(op.outputs + op.writes), None)
    if result is None:
        story.say("here.unseen")
        return op.name
    (nan if question == "nan" else not_requires)(story, result)
    return tensor_label(story.trace, result)


def _raise(story: Story, ident: int) -> None:
    trace, fault = story.trace, story.trace.faults[ident]
    story.sentences += _card_says(trace, ident, story.language)
    if fault.code == "no_grad_path" and fault.tensor is not None:
        not_requires(story, fault.tensor)
    if fault.code == "version_mismatch" and fault.tensor is not None:
        _alias(story, ident, fault.tensor)
    _behind_card(story, ident)
    freed = fault.facts.get("freed_by")
    if isinstance(freed, int) and freed < len(trace.passes):
        story.steps.append(int(trace.pass_step.view[freed]))
    if fault.node is not None:
        story.steps.append(int(trace.node_step.view[fault.node]))
    story.steps.append(int(trace.fault_step.view[ident]))


def _card_says(trace: Trace, ident: int, language: str) -> list[str]:
    card = fault_card(trace, ident, language)
    return [text for text in (card.title, card.fact, card.cause, card.effect) if text]


def _behind_card(story: Story, ident: int) -> None:
    """What led to the fault, with the steps: what left the node behind, who wrote to what it saved, which pass let that
    go; without a node, why the tensor that is at fault requires grad."""
    trace, fault = story.trace, story.trace.faults[ident]
    if fault.node is None or fault.node >= len(trace.nodes):
        if fault.tensor is not None and fault.code in ("leaf_inplace", "leaf_view_inplace", "non_scalar_root"):
            requires(story, fault.tensor)
        return
    node, born, at = trace.nodes[fault.node], int(trace.node_step.view[fault.node]), story.step
    if (op := trace.op(node.op)) is not None:
        where, text = place(trace, op.span, story.language), one_line(op.text) or op.func
        story.say("raise.node", born, node=node.name, text=text, where=where, step=born)
    saved = fault.facts.get("saved_version")
    if fault.code == "version_mismatch" and fault.tensor is not None and isinstance(saved, int):
        name = story.name(fault.tensor)
        for made in versions(trace, fault.tensor, at, MOST_WRITES)[0]:
            if made.step > born and made.number is not None and made.number > saved:
                story.say("raise.wrote", made.step, source=made.source, number=made.number, name=name, step=made.step,
                          saved=saved)  # fmt: skip
    for step in trace.freed_step.view[trace.freed_node.view == fault.node].tolist():
        if fault.code == "freed_graph" and step <= at:
            story.say("raise.freed", step, node=node.name, step=step)


def _alias(story: Story, ident: int, tensor: int) -> None:
    """The tensor was overwritten through another one on the same memory."""
    trace = story.trace
    told, step = trace.tensor(tensor), int(trace.fault_step.view[ident])
    for op in reversed(trace.ops):
        if trace.op_step.view[op.id] > step or not op.writes:
            continue
        written = trace.tensor(op.inputs[0]) if op.inputs else None
        if told is None or written is None or written.storage != told.storage or told.storage < 0:
            continue
        if written.id != tensor:
            names = {"alias": tensor_label(trace, written.id), "name": tensor_label(trace, tensor)}
            story.say("raise.shared", int(trace.op_step.view[op.id]), **names)
        return
