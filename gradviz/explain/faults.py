"""What went wrong, as a card: one plain sentence, the fact that proves it, the likely cause, what can be tried."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from gradviz.explain.fault_kinds import fields_of, kind_of
from gradviz.explain.labels import joined, one_line, place, tensor_label
from gradviz.explain.words import Words
from gradviz.trace import Trace, shape_text
from gradviz.trace.events import Fault, Span

FixKind = Literal["retain_graph", "forward_again", "detach", "no_grad", "clone", "gradient_ones", "why"]


@dataclass(frozen=True, slots=True)
class Fix:
    """Something to try; what it changes is the player's to say (`player.fixes`)."""

    id: str
    label: str
    kind: FixKind


@dataclass(frozen=True, slots=True)
class FaultCard:
    """A fault in words. `fact` comes from the recording, `original` is PyTorch's own text."""

    title: str
    fact: str
    cause: str
    effect: str
    fixes: tuple[Fix, ...]
    original: str


_FIXES: dict[str, tuple[FixKind, ...]] = {
    "freed_graph": ("retain_graph", "forward_again", "why"),
    "version_mismatch": ("clone", "why"),
    "non_scalar_root": ("gradient_ones", "why"),
    "leaf_inplace": ("no_grad", "why"),
    "leaf_view_inplace": ("no_grad", "why"),
    "flag_change": ("detach", "why"),
    "inference_tensor": ("clone", "why"),
}


def fault_card(trace: Trace, fault_id: int, language: str = "en") -> FaultCard:
    """The card of a fault, in one language."""
    fault, words = trace.faults[fault_id], Words(language)
    kind = kind_of(trace, fault)
    code = kind if f"fault.{kind}.title" in words else "other"
    fields = _fields(trace, fault, language)
    fact_key = f"fault.{code}.fact"
    known = _known(words.raw(fact_key) or "", fields)
    placed = words("fault.place", **fields) if fault.span is not None else ""
    fact = words(fact_key, **fields) if known else placed
    cause = words(f"fault.{code}.cause", **fields)
    fixes = tuple(Fix(kind, words(f"fault.fix.{kind}"), kind) for kind in _FIXES.get(fault.code, ("why",)))
    title, effect = words(f"fault.{code}.title", **fields), _effect(trace, fault, words, language)
    return FaultCard(title, fact, cause, effect, fixes, fault.message)


def _known(template: str, fields: dict[str, object]) -> bool:
    """Every field of a sentence has a value."""
    return all(fields.get(name) not in (None, "") for name in re.findall(r"{(\w+)}", template))


def _fields(trace: Trace, fault: Fault, language: str) -> dict[str, object]:
    fields: dict[str, object] = fields_of(trace, fault, language)
    for key, value in fault.facts.items():
        if key.endswith("_at"):
            fields[key] = place(trace, _span(value), language)
        elif key in ("got", "expected") and (sizes := re.fullmatch(r"\[([\d, ]*)\]", str(value))):
            fields[key] = shape_text(tuple(int(n) for n in sizes[1].split(",") if n.strip()))
        elif isinstance(value, list):
            is_names = key == "saved"
            fields[key] = joined([str(v) for v in value], language) if is_names else shape_text(
                tuple(int(v) for v in value if isinstance(v, int))
            )  # fmt: skip
        elif value is not None:
            fields[key] = value
    if "freed_text" in fields:
        fields["freed_text"] = one_line(str(fields["freed_text"]))
    fields["where"] = place(trace, fault.span, language)
    fields["text"] = one_line(fault.text) or fault.type
    fields["type"] = fault.type
    fields["message"] = fault.message.split("\n")[0][:300]
    fields["node"] = trace.nodes[fault.node].name if fault.node is not None else "autograd"
    if fault.tensor is not None:
        fields.setdefault("name", tensor_label(trace, fault.tensor))
        fields.setdefault("tensor", tensor_label(trace, fault.tensor))
    return fields


def _effect(trace: Trace, fault: Fault, words: Words, language: str) -> str:
    """Which leaves the failed pass had written, and which it had not come to."""
    if fault.within is None:
        return ""
    planned = trace.passes[fault.within].planned
    leaves = [leaf for n in planned if n < len(trace.nodes) and (leaf := trace.nodes[n].leaf) is not None]
    done = {trace.nodes[n].leaf for n in trace.order(fault.within)}
    done |= {t for t in leaves if any(getattr(trace.events[i], "within", None) == fault.within
                                      for i in (trace.grads[t].indexes if t in trace.grads else ()))}  # fmt: skip
    names = {
        "done": joined([f"{tensor_label(trace, t)}.grad" for t in leaves if t in done], language),
        "left": joined([f"{tensor_label(trace, t)}.grad" for t in leaves if t not in done], language),
    }
    if not leaves:
        return ""
    key = "none" if not names["done"] else "partial" if names["left"] else "all"
    return words(f"fault.effect.{key}", **names)


def _span(value: object) -> Span | None:
    """A fact that is a span; facts of a foreign file may be anything."""
    if not isinstance(value, list) or len(value) != 5 or not all(isinstance(n, int) for n in value):
        return None
    file, line, start, end_line, end = value
    return file, line, start, end_line, end
