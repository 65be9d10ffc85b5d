"""Which sentences tell of a fault: kinds that PyTorch's message or the tensors tell apart more finely than its code."""

from __future__ import annotations

import re

from gradviz.explain.labels import joined, place, tensor_label
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
)


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
    if fault.code == "freed_graph" and _is_outside(trace, fault):
        return "freed_outside"
    return fault.code


def _is_outside(trace: Trace, fault: Fault) -> bool:
    """The failing pass comes over nodes that were born after the pass which freed the buffers: the graph is a new one
    in part, and the failing node belongs to the old part."""
    freed = fault.facts.get("freed_by")
    if not isinstance(freed, int) or freed >= len(trace.passes) or fault.within is None or fault.node is None:
        return False
    if trace.nodes[fault.node].op is None:
        return False
    began = int(trace.pass_step.view[freed])
    planned = trace.passes[fault.within].planned
    return any(n < len(trace.nodes) and int(trace.node_step.view[n]) > began for n in planned)


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
    return fields


def _made(trace: Trace, op: Op, language: str) -> Fields:
    text = " ".join(op.text.split()) or op.func
    return {"made": op.name, "made_where": place(trace, op.span, language), "made_text": text}


def _sisters(trace: Trace, tensor: int) -> list[int]:
    """Other results of the operation that made a tensor."""
    told = trace.tensor(tensor)
    if told is None or told.op is None or told.op >= len(trace.ops):
        return []
    return [t for t in trace.ops[told.op].outputs if t != tensor]
