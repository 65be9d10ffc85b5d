"""The vector-Jacobian rule of a node: ours where we have proved one, else the one PyTorch ships, else why not."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from gradviz import assets
from gradviz.explain.labels import saved_data, value_text
from gradviz.explain.words import Words
from gradviz.trace import Trace, shape_text
from gradviz.trace.events import Data, Node, Saved

_NAME = re.compile(r"((?<![\w.])[A-Za-z_]\w*(?![\w(]))", re.ASCII)
"""A name in a formula; a letter such as the ᵀ of `selfᵀ` is no part of it."""
SMALL = 6
"""Values of more elements than this are put into a formula as their shape and norm."""


@dataclass(frozen=True, slots=True)
class RuleView:
    """A rule to be shown. Each row: the input whose gradient it is, the formula as text, the formula as TeX or ""."""

    name: str
    rows: tuple[tuple[str, str, str], ...]
    note: str
    origin: str


@cache
def own_rules() -> dict[str, dict[str, Any]]:
    """Node name without its number -> our rule, as `resources/rules` has it."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(assets.path("rules").glob("*.toml")):
        for item in tomllib.loads(path.read_text("utf-8")).get("rule", []):
            found |= dict.fromkeys(item["names"], item)
    return found


def own_rule(name: str) -> dict[str, Any] | None:
    """Our rule for a node name: that of "AddBackward0" is listed under "AddBackward0" or "AddBackward"."""
    return own_rules().get(name) or own_rules().get(name.rstrip("0123456789"))


def sentence(node: Node, language: str = "en") -> str:
    """Our rule of a node in words, "" where there is none. A rule that has a factor, such as the `alpha` of add, names
    it where this node's is not 1."""
    mine = None if node.custom else own_rule(node.name)
    if mine is None:
        return ""
    scaled = mine.get("scaled")
    if scaled is not None:
        factors = {s.name: s.text or "?" for s in node.saved if s.kind == "scalar" and s.name in scaled["by"]}
        if set(factors.values()) - {"1", "1.0"}:
            return str((scaled.get(language) or scaled["en"]).format_map(dict.fromkeys(scaled["by"], "1") | factors))
    return str(mine.get(language) or mine["en"])


def fitted(trace: Trace, node: Node) -> tuple[tuple[int, ...] | None, ...]:
    """For each edge the shape to which its gradient is summed, since that input was broadcast; None where nothing is.

    The rules that say `broadcast` are elementwise, but for products of matrices: what they give has the shape of g."""
    mine = None if node.custom else own_rule(node.name)
    if mine is None or not mine.get("broadcast") or len(mine["rows"]) != len(node.edges) or not node.inputs:
        return (None,) * len(node.edges)
    shapes: list[tuple[int, ...] | None] = []
    for row, (target, slot) in zip(mine["rows"], node.edges, strict=True):
        met = trace.nodes[target].inputs if target is not None and target < len(trace.nodes) else ()
        shape = tuple(met[slot][0]) if slot < len(met) and "@" not in row["text"] else None
        shapes.append(shape if shape != tuple(node.inputs[0][0]) else None)
    return tuple(shapes)


def rule(trace: Trace, node: int, language: str = "en") -> RuleView:
    """The rule of a node. There is always an origin that says where it comes from, or why there is none."""
    told, words = trace.nodes[node], Words(language)
    mine = None if told.custom else own_rule(told.name)
    if mine is not None:
        rows = tuple((row["input"], row["text"], row.get("tex", "")) for row in mine["rows"])
        return RuleView(told.name, rows, sentence(told, language), words("rule.origin.own"))
    if told.custom:
        source = _source(trace, told)
        rows = (("backward", source, ""),) if source else ()
        return RuleView(told.name, rows, words("rule.custom", name=told.custom), words("rule.origin.custom"))
    shipped = trace.rules.get(told.name)
    if shipped is not None and shipped.formulas:
        rows = tuple((names, formula, "") for names, formula in shipped.formulas)
        return RuleView(told.name, rows, shipped.schema, words("rule.origin.shipped", file=shipped.origin))
    return RuleView(told.name, (), words(f"rule.{reason_of(told.name)}", name=told.name), words("rule.origin.none"))


_REASONS: tuple[tuple[str, str], ...] = (
    ("registered", r"^GeneratedBackwardFor_"),
    ("compiled", r"^CompiledFunction|DifferentiableGraphBackward$"),
    ("missing", r"^(NotImplemented|Error|DelayedError|UndefinedGrad)$"),
)


def reason_of(name: str) -> str:
    """Why a node of this name has no formula, as a key below `rule.`; "none" where nothing particular is known."""
    return next((reason for reason, pattern in _REASONS if re.search(pattern, name)), "none")


def _source(trace: Trace, node: Node) -> str:
    """The lines of a custom backward."""
    if node.span is None or node.span[0] not in trace.files:
        return ""
    lines = trace.files[node.span[0]].text.split("\n")
    return "\n".join(lines[max(0, node.span[1] - 1) : max(node.span[1], node.span[3])])


def numbers(trace: Trace, step: int, node: int, language: str = "en") -> tuple[str, ...]:
    """The rule with the numbers of the node's latest run before or at a step, one line for each input that receives a
    gradient; empty where the node has not run."""
    run, told = trace.at(step).run(node), trace.nodes[node]
    if run is None:
        return ()
    view, mine = rule(trace, node, language), own_rule(told.name)
    values = _values(trace, told, run.gin, step)
    outputs = run.gout_before or run.gout
    names, texts = _inputs(trace, told, view, len(outputs))
    if told.leaf is not None:
        return _accumulated(trace, max(s for s in trace.runs(node) if s <= step), told.leaf)
    lines, words = [], Words(language)
    shapes = fitted(trace, told)
    for i, result in enumerate(outputs):
        if result is None:
            continue
        name = names[i] if names else f"[{i}]"
        text = texts.get(name, "") if mine is not None and not told.custom else ""
        left = _substituted(text, values) if text else value_text(run.gin[0] if run.gin else None, SMALL)
        shape = shapes[i] if i < len(shapes) else None
        if text and shape is not None:
            left = words("rule.summed", text=left, shape=shape_text(shape))
        lines.append(f"{name}: {left} {'=' if text else '→'} {value_text(result, SMALL)}")
    return tuple(lines)


@dataclass(frozen=True, slots=True)
class Term:
    """A piece of a formula. `key`: what it stands for, as a key of the view, "" for signs and numbers. `role`:
    "gradient", "saved" or "". `shape` where it is a tensor; `value`: its numbers at this step, else the text itself."""

    text: str
    key: str = ""
    role: str = ""
    shape: tuple[int, ...] | None = None
    value: str = ""


def terms(trace: Trace, step: int, node: int, language: str = "en") -> tuple[tuple[str, tuple[Term, ...]], ...]:
    """Our rule of a node in pieces, one row for each input that gets a gradient: the input's name, its formula. Empty
    where the rule is not ours."""
    told, mine = trace.nodes[node], own_rule(trace.nodes[node].name)
    view = rule(trace, node, language)
    if mine is None or told.custom or told.leaf is not None:
        return ()
    run = trace.at(step).run(node)
    values = _values(trace, told, run.gin if run is not None else (), step)
    known = {s.name: s for s in told.saved}
    rows, shapes = [], fitted(trace, told)
    for i, (name, text, _) in enumerate(view.rows):
        if len(view.rows) == len(told.edges) and told.edges[i][0] is None:
            continue
        pieces = [_term(trace, told, piece, known, values) for piece in _NAME.split(text) if piece]
        shape = shapes[i] if i < len(shapes) else None
        if shape is not None:
            pieces.append(Term(Words(language)("rule.summed", text="", shape=shape_text(shape))))
        rows.append((name, tuple(pieces)))
    return tuple(rows)


def _term(trace: Trace, node: Node, text: str, known: dict[str, Saved], values: dict[str, str]) -> Term:
    value = values.get(text, text)
    if text == "g":
        op = trace.ops[node.op] if node.op is not None and node.op < len(trace.ops) else None
        made = (op.outputs or op.writes) if op is not None else ()
        key = f"tensor:{made[0]}" if made else f"node:{node.id}"
        return Term(text, key, "gradient", node.inputs[0][0] if node.inputs else None, value)
    saved = known.get(text)
    if saved is None or saved.kind not in ("tensor", "scalar"):
        return Term(text, value=value)
    key = f"tensor:{saved.tensor}" if saved.tensor is not None else ""
    return Term(text, key, "saved", saved.shape if saved.kind == "tensor" else None, value)


def _inputs(trace: Trace, node: Node, view: RuleView, count: int) -> tuple[list[str], dict[str, str]]:
    """Names of the inputs, one for each edge, from our rule or from PyTorch's table; none where neither has as many.
    And the formula of each that has one."""
    texts = {name: text for names, text, _ in view.rows for name in names.split(", ")}
    shipped = trace.rules.get(node.name)
    told = [name for names, _ in shipped.formulas for name in names.split(", ")] if shipped is not None else []
    return next(([*names] for names in (list(texts), told) if len(names) == count), []), texts


def _accumulated(trace: Trace, step: int, leaf: int) -> tuple[str, ...]:
    event = trace.at(step).grad_event(leaf)
    if event is None or event.added is None:
        return ()
    before = value_text(event.before, SMALL)
    return (f".grad: {before} + {value_text(event.added, SMALL)} = {value_text(event.after, SMALL)}",)


def _values(trace: Trace, node: Node, gin: tuple[Data | None, ...], step: int) -> dict[str, str]:
    """Name in a formula -> its numbers at the node's latest run by a step; where it has not run, at the step."""
    values: dict[str, str] = {}
    at = max((s for s in trace.runs(node.id) if s <= step), default=step)
    for saved in node.saved:
        if saved.kind == "scalar":
            values[saved.name] = saved.text or "?"
        elif saved.kind == "tensor":
            data = saved_data(trace, node.id, saved, at)
            values[saved.name] = value_text(data, SMALL) if data else str(saved.shape)
    if gin:
        values["g"] = value_text(gin[0], SMALL)
    return values


def _substituted(text: str, values: dict[str, str]) -> str:
    return _NAME.sub(lambda found: values.get(found[0], found[0]), text)
