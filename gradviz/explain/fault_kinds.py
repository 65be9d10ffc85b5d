"""Which sentences tell of a fault: kinds that PyTorch's message or the tensors tell apart more finely than its code."""

from __future__ import annotations

import re

from gradviz.explain.labels import joined, one_line, place, tensor_label
from gradviz.trace import Trace, shape_text
from gradviz.trace.events import Fault, Op

Fields = dict[str, object]

_MESSAGES: tuple[tuple[str, str], ...] = (
    ("multi_view", r"is the output of a function that returns multiple views"),
    ("hook_view", r"BackwardHookFunction\w* is a view and is being modified inplace"),
    ("no_grad_view", r"A view was created in (?:no_grad|inference) mode and is being modified"),
    ("overlap", r"more than one element of the written-to tensor refers to a single memory location"),
    ("deepcopy", r"support the deepcopy protocol"),
    ("reentrant", r"use_reentrant=True.*incompatible with \.grad\(\)"),
    ("numpy", r"Can't call numpy\(\) on Tensor that requires grad"),
    ("grad_assign", r"attempting to assign a gradient of size"),
)

_REFUSED = r"incorrect number of gradients|invalid gradient|Mismatch in|xpected .*grad"
"""What PyTorch says of what a custom backward returned; anything else was raised inside of it."""


def kind_of(trace: Trace, fault: Fault) -> str:
    """Key below `fault.` of the sentences for a fault; its code where nothing finer is known."""
    for kind, pattern in _MESSAGES:
        if re.search(pattern, fault.message, re.DOTALL):
            return kind
    told = trace.tensor(fault.tensor) if fault.tensor is not None else None
    if fault.code == "non_scalar_root" and told is not None and told.dtype.startswith("complex"):
        return "complex_root"
    if fault.code == "flag_change" and told is not None:
        return "flag_not_leaf" if not told.is_leaf else "flag_dtype"
    if fault.code == "freed_graph" and (newer := _newer(trace, fault)):
        return "freed_carried" if _ran_again(trace, fault) and _carried(trace, newer) is not None else "freed_outside"
    if fault.code == "custom_backward" and not re.search(_REFUSED, fault.message):
        return "custom_raised"
    if fault.code == "other" and fault.op is not None and fault.op < len(trace.ops) and trace.ops[fault.op].inputs:
        return "operands"
    return fault.code


def _newer(trace: Trace, fault: Fault) -> list[Op]:
    """The failing pass comes over nodes that were born after the pass which freed the buffers: the operations that made
    them. The graph is a new one in part, and the failing node belongs to the old part."""
    freed = fault.facts.get("freed_by")
    if not isinstance(freed, int) or freed >= len(trace.passes) or fault.within is None or fault.node is None:
        return []
    if trace.nodes[fault.node].op is None:
        return []
    began = int(trace.pass_step.view[freed])
    planned = (n for n in trace.passes[fault.within].planned if n < len(trace.nodes))
    made = {trace.nodes[n].op for n in planned if int(trace.node_step.view[n]) > began}
    return [trace.ops[op] for op in sorted(op for op in made if op is not None and op < len(trace.ops))]


def _ran_again(trace: Trace, fault: Fault) -> bool:
    """The place in the text that the failing node comes from has run once more since."""
    made = trace.nodes[fault.node].op if fault.node is not None else None
    span = trace.ops[made].span if made is not None and made < len(trace.ops) else None
    return span is not None and any(op.span == span for op in trace.ops[(made or 0) + 1 :])


def _carried(trace: Trace, newer: list[Op]) -> tuple[int, Op] | None:
    """The tensor by which the old part of a graph hangs on the new one, and what made it."""
    mine = {op.id for op in newer}
    for op in newer:
        for tensor in op.inputs:
            told = trace.tensor(tensor)
            if told is not None and told.requires_grad and told.op is not None and told.op not in mine:
                return (tensor, trace.ops[told.op]) if told.op < len(trace.ops) else None
    return None


def fields_of(trace: Trace, fault: Fault, language: str) -> Fields:
    """What the finer sentences name besides the facts of the fault: the tensor, what made it, its sister views."""
    fields: Fields = {}
    op = trace.ops[fault.op] if fault.op is not None and fault.op < len(trace.ops) else None
    subject = fault.tensor if fault.tensor is not None else op.inputs[0] if op is not None and op.inputs else None
    maker = None
    if fault.node is not None and fault.code == "freed_graph":
        maker = trace.nodes[fault.node].op
    elif subject is not None and (told := trace.tensor(subject)) is not None:
        fields |= {"name": tensor_label(trace, subject), "dtype": told.dtype, "shape": shape_text(told.shape)}
        maker = told.op
        sisters = _sisters(trace, subject)
        fields["siblings"] = joined([tensor_label(trace, t) for t in sisters[:4]], language)
    if maker is not None and maker < len(trace.ops):
        fields |= _made(trace, trace.ops[maker], language)
    if fault.code == "freed_graph" and (carried := _carried(trace, _newer(trace, fault))) is not None:
        made = _made(trace, carried[1], language)
        fields |= {"carried": tensor_label(trace, carried[0])}
        fields |= {"carried_where": made["made_where"], "carried_text": made["made_text"]}
    if op is not None:
        shapes = [(tensor_label(trace, t), told.shape) for t in op.inputs[:4] if (told := trace.tensor(t)) is not None]
        fields["operands"] = joined([f"{name} {shape_text(shape)}" for name, shape in shapes], language)
    return fields


def _made(trace: Trace, op: Op, language: str) -> Fields:
    text = one_line(op.text) or op.func
    return {"made": op.name, "made_where": place(trace, op.span, language), "made_text": text}


def _sisters(trace: Trace, tensor: int) -> list[int]:
    """Other results of the operation that made a tensor."""
    told = trace.tensor(tensor)
    if told is None or told.op is None or told.op >= len(trace.ops):
        return []
    return [t for t in trace.ops[told.op].outputs if t != tensor]
