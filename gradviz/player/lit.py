"""Where a tensor stands in the program: the expression that made it, and its name where it is used."""

from __future__ import annotations

import re

from gradviz.trace import Trace
from gradviz.trace.events import Span

MOST = 60
"""Most places that are lit."""


def places_of(trace: Trace, key: str | None, file: int) -> tuple[Span, ...]:
    """Spans in a file that a key like "tensor:2", "leaf:2@op:7", "op:3" or "node:5" is about, in no order."""
    kind, _, rest = (key or "").partition(":")
    ident = rest.partition("@")[0]
    if not ident.isdigit() or file not in trace.files:
        return ()
    number = int(ident)
    if kind in ("op", "node"):
        op = trace.nodes[number].op if kind == "node" and number < len(trace.nodes) else number
        made = op if op is not None and op < len(trace.ops) else None
        return _of_op(trace, made, file)
    if kind not in ("tensor", "leaf", "result", "grad") or number not in trace.tensors:
        return ()
    told = trace.tensor(number)
    found = list(_of_op(trace, told.op if told is not None else None, file))
    name = trace.name(number)
    if name is not None:
        lines = trace.files[file].text.split("\n")
        for op_used in trace.ops:
            if number in op_used.inputs and op_used.span is not None and op_used.span[0] == file:
                found += _names(lines, op_used.span, name)
                if len(found) >= MOST:
                    break
    return tuple(dict.fromkeys(found))


def _of_op(trace: Trace, op: int | None, file: int) -> tuple[Span, ...]:
    span = trace.ops[op].span if op is not None and op < len(trace.ops) else None
    return (span,) if span is not None and span[0] == file and span[1] > 0 else ()


def _names(lines: list[str], span: Span, name: str) -> list[Span]:
    """Where a name stands inside a span, as a word of its own."""
    file, first, left, last, right = span
    found = []
    for line in range(max(1, first), last + 1):
        if line > len(lines):
            break
        text = lines[line - 1]
        start = left if line == first and left >= 0 else 0
        end = right if line == last and right >= 0 else len(text)
        for match in re.finditer(rf"(?<![\w.]){re.escape(name)}(?!\w)", text[:end]):
            if match.start() >= start:
                found.append((file, line, match.start(), line, match.end()))
    return found
