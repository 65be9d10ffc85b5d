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
from gradviz.trace import Trace
from gradviz.trace.events import Data, Node

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


def rule(trace: Trace, node: int, language: str = "en") -> RuleView:
    """The rule of a node. There is always an origin that says where it comes from, or why there is none."""
    told, words = trace.nodes[node], Words(language)
    mine = None if told.custom else own_rule(told.name)
    if mine is not None:
        rows = tuple((row["input"], row["text"], row.get("tex", "")) for row in mine["rows"])
        return RuleView(told.name, rows, mine.get(language) or mine.get("en", ""), words("rule.origin.own"))
    if told.custom:
        source = _source(trace, told)
        rows = (("backward", source, ""),) if source else ()
        return RuleView(told.name, rows, words("rule.custom", name=told.custom), words("rule.origin.custom"))
    shipped = trace.rules.get(told.name)
    if shipped is not None and shipped.formulas:
        rows = tuple((names, formula, "") for names, formula in shipped.formulas)
        return RuleView(told.name, rows, shipped.schema, words("rule.origin.shipped", file=shipped.origin))
    return RuleView(told.name, (), words("rule.none", name=told.name), words("rule.origin.none"))


def _source(trace: Trace, node: Node) -> str:
    """The lines of a custom backward."""
    if node.span is None or node.span[0] not in trace.files:
        return ""
    lines = trace.files[node.span[0]].text.splitlines()
    return "\n".join(lines[max(0, node.span[1] - 1) : max(node.span[1], node.span[3])])


def numbers(trace: Trace, step: int, node: int, language: str = "en") -> tuple[str, ...]:
    """The rule with the numbers of the node's latest run before or at a step, one line for each input that receives a
    gradient; empty where the node has not run."""
    run, told = trace.at(step).run(node), trace.nodes[node]
    if run is None:
        return ()
    view, mine = rule(trace, node, language), own_rule(told.name)
    values = _values(trace, told, run.gin)
    outputs = run.gout_before or run.gout
    names = [name for names, _, _ in view.rows for name in names.split(", ")]
    if told.leaf is not None:
        return _accumulated(trace, max(s for s in trace.runs(node) if s <= step), told.leaf)
    lines = []
    for i, result in enumerate(outputs):
        if result is None:
            continue
        name = names[i] if len(names) == len(outputs) else f"[{i}]"
        text = view.rows[i][1] if mine is not None and not told.custom and len(view.rows) == len(outputs) else ""
        left = _substituted(text, values) if text else value_text(run.gin[0] if run.gin else None, SMALL)
        lines.append(f"{name}: {left} {'=' if text else '→'} {value_text(result, SMALL)}")
    return tuple(lines)


def _accumulated(trace: Trace, step: int, leaf: int) -> tuple[str, ...]:
    event = trace.at(step).grad_event(leaf)
    if event is None or event.added is None:
        return ()
    before = value_text(event.before, SMALL)
    return (f".grad: {before} + {value_text(event.added, SMALL)} = {value_text(event.after, SMALL)}",)


def _values(trace: Trace, node: Node, gin: tuple[Data | None, ...]) -> dict[str, str]:
    """Name in a formula -> its numbers."""
    values: dict[str, str] = {}
    for saved in node.saved:
        if saved.kind == "scalar":
            values[saved.name] = saved.text or "?"
        elif saved.kind == "tensor":
            data = saved_data(trace, saved)
            values[saved.name] = value_text(data, SMALL) if data else str(saved.shape)
    if gin:
        values["g"] = value_text(gin[0], SMALL)
    return values


def _substituted(text: str, values: dict[str, str]) -> str:
    return re.sub(r"(?<![\w.])[A-Za-z_]\w*(?![\w(])", lambda found: values.get(found[0], found[0]), text)
