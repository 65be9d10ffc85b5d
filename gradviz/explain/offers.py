"""Which questions make sense of a thing at a step, so that a person can choose; and what a step is, in a few words."""

from __future__ import annotations

from dataclasses import dataclass

from gradviz.explain.answers import likely
from gradviz.explain.labels import node_label, one_line, step_label, tensor_label
from gradviz.explain.versions import keepers
from gradviz.explain.why_node import state
from gradviz.explain.words import Words
from gradviz.trace import Trace
from gradviz.trace.events import Backward, Grad, Op
from gradviz.trace.values import not_finite

LONGEST = 32
"""Characters of source text that name a step."""
MOST = 7


@dataclass(frozen=True, slots=True)
class Offer:
    """A question that can be asked: of what, its key in `why.q`, and the question itself."""

    target: str
    question: str
    text: str


def offers(trace: Trace, step: int, target: str, language: str = "en") -> tuple[Offer, ...]:
    """The questions that fit a target at a step, the likeliest first; none for what the recording does not have."""
    kind, _, rest = target.partition(":")
    ident = rest.partition("@")[0]
    if not ident.isdigit():
        return ()
    number, words = int(ident), Words(language)
    found: list[tuple[str, str]] = []
    if kind in ("tensor", "leaf", "result", "grad") and number in trace.tensors:
        found = [(target, q) for q in _of_tensor(trace, step, kind, number)]
    elif kind == "node" and number < len(trace.nodes):
        found = [(target, q) for q in _of_node(trace, step, number)]
        leaf = trace.nodes[number].leaf
        found += [(f"leaf:{leaf}", q) for q in _of_tensor(trace, step, "leaf", leaf)] if leaf is not None else []
    elif kind == "op" and number < len(trace.ops):
        found = _of_op(trace, step, number)
    elif kind == "fault" and number < len(trace.faults):
        found = _of_fault(trace, step, number)
    first = likely(trace, step, kind, number) if found else ""
    found.sort(key=lambda pair: pair != (target, first))
    return tuple(Offer(t, q, words(f"why.q.{_key(trace, step, t, q)}", name=_name(trace, t))) for t, q in found[:MOST])


def _key(trace: Trace, step: int, target: str, question: str) -> str:
    return question if question != "when" else f"when_{state(trace, step, int(target.partition(':')[2]))}"


def _name(trace: Trace, target: str) -> str:
    kind, _, rest = target.partition(":")
    number = int(rest.partition("@")[0])
    if kind == "node":
        return node_label(trace, number)
    if kind != "op":
        return tensor_label(trace, number) if kind != "fault" else ""
    op = trace.ops[number]
    if op.nodes:
        return node_label(trace, op.nodes[-1])
    result = next(iter(op.outputs + op.writes), None)
    return op.name if result is None else tensor_label(trace, result)


def _of_tensor(trace: Trace, step: int, kind: str, tensor: int) -> list[str]:
    frame, told = trace.at(step), trace.tensor(tensor, step)
    if told is None:
        return ["none"] if kind == "grad" else ["requires"]
    grad, leaf = frame.grad_data(tensor), told.is_leaf and told.requires_grad
    found = ["none"] if grad is None else ["number", "twice"]
    if kind != "grad":
        found.append("requires" if told.requires_grad else "not_requires")
        found += ["changed"] if leaf else []
        found += ["memory"] if any(k.until is None for k in keepers(trace, tensor, step, MOST)[0]) else []
    return [*found, *(["nan"] if not_finite(frame.value_data(tensor), grad) else [])]


def _of_node(trace: Trace, step: int, node: int) -> list[str]:
    run = trace.at(step).run(node)
    keeps = any(s.kind in ("tensor", "packed") for s in trace.nodes[node].saved)
    bad = run is not None and not_finite(*run.gin, *run.gout)
    return ["when", "here", *(["memory"] if keeps else []), *(["nan"] if bad else [])]


def _of_op(trace: Trace, step: int, ident: int) -> list[tuple[str, str]]:
    op, target = trace.ops[ident], f"op:{ident}"
    result = next(iter(op.outputs + op.writes), None)
    found = [(target, "here" if op.nodes else "not_requires")]
    if result is not None and trace.tensor(result, step) is not None:
        of_result = _of_tensor(trace, step, "result", result)
        found += [(f"tensor:{result}", q) for q in of_result if q != "not_requires" or op.nodes]
    if op.nodes:
        found += [(f"node:{op.nodes[-1]}", q) for q in _of_node(trace, step, op.nodes[-1]) if q in ("when", "memory")]
    return found


def _of_fault(trace: Trace, step: int, ident: int) -> list[tuple[str, str]]:
    fault = trace.faults[ident]
    found = [(f"fault:{ident}", "raise")]
    if fault.node is not None and fault.node < len(trace.nodes):
        found += [(f"node:{fault.node}", q) for q in _of_node(trace, step, fault.node)]
    if fault.tensor is not None and fault.tensor in trace.tensors:
        found += [(f"tensor:{fault.tensor}", q) for q in _of_tensor(trace, step, "tensor", fault.tensor)]
    return found


def step_says(trace: Trace, step: int) -> str:
    """What a step is, to stand after its number: the program's own text where it is short, else what is on its chip."""
    event = trace.event_at(step)
    text = one_line(event.text) if isinstance(event, Op | Backward | Grad) else ""
    if text and len(text) <= LONGEST:
        return text
    return text[: LONGEST - 1] + "…" if isinstance(event, Backward) and text else step_label(trace, step)
