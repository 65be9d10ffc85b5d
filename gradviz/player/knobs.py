"""Numbers and switches in a program's text that can be turned: found by parsing, changed by splicing, never run."""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

LIMIT = 60
FACTORIES = frozenset(
    ("ones", "zeros", "randn", "rand", "tensor", "full", "arange", "linspace", "eye", "empty", "normal")
    + ("ones_like", "zeros_like", "randn_like", "rand_like")
)
"""Functions of torch that take `requires_grad=`."""


@dataclass(frozen=True, slots=True)
class Knob:
    """A literal number, or a True or False, at a place in the text."""

    start: int
    """Offset in characters."""
    end: int
    line: int
    name: str
    """The name that it is given to: a variable, a keyword argument; "" where it has none."""
    value: int | float | bool
    missing: bool = False
    """The switch is not written there: turning it on adds it."""

    @property
    def is_switch(self) -> bool:
        """It is turned on and off."""
        return isinstance(self.value, bool)


def knobs(text: str, limit: int = LIMIT) -> list[Knob]:
    """The first `limit` of the text, in order; none where it is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    offsets = _Offsets(text)
    found = sorted(_found(tree, offsets), key=lambda knob: knob.start)
    return found[:limit]


def turned(text: str, knob: Knob, value: float | bool) -> str:
    """The text with another value at that place."""
    if not knob.is_switch:
        return text[: knob.start] + written(value, like=knob.value) + text[knob.end :]
    if not knob.missing:
        return text[: knob.start] + str(bool(value)) + text[knob.end :]
    if not value:
        return text
    before = text[: knob.start].rstrip()
    comma = "" if before.endswith("(") else " " if before.endswith(",") else ", "
    return f"{before}{comma}{knob.name}=True{text[knob.start :]}"


def written(value: float, *, like: float) -> str:
    """A number as a person would write it where `like` stood."""
    if isinstance(like, int):
        return str(round(value))
    text = f"{value:.6g}"
    return text if re.search(r"[.en]", text) else f"{text}.0"


def span(knob: Knob) -> tuple[float, float]:
    """The least and the largest value that a slider offers: from nothing to twice as much."""
    value = float(knob.value)
    if not value:
        return (0.0, 10.0) if isinstance(knob.value, int) else (-1.0, 1.0)
    return (min(0.0, 2 * value), max(0.0, 2 * value))


class _Offsets:
    """Places that `ast` gives, whose columns count bytes of UTF-8, as offsets in characters."""

    def __init__(self, text: str) -> None:
        self._lines = list(io.StringIO(text)) or [""]
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def __call__(self, line: int | None, column: int | None) -> int:
        place = min((line or 1) - 1, len(self._lines) - 1)
        return self._starts[place] + len(self._lines[place].encode()[: column or 0].decode("utf-8", "ignore"))


def _found(tree: ast.AST, offsets: _Offsets) -> Iterator[Knob]:
    names: dict[int, str] = {}
    skipped: set[int] = set()
    signed: dict[int, ast.UnaryOp] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names[id(node.value)] = node.targets[0].id
        elif isinstance(node, ast.keyword) and node.arg:
            names[id(node.value)] = node.arg
        elif isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in ast.walk(node))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            signed[id(node.operand)] = node
        elif isinstance(node, ast.Call):
            if _attribute(node) == "requires_grad_" and node.args:
                names[id(node.args[0])] = "requires_grad"
            yield from _missing(node, offsets)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in skipped or not isinstance(node.value, int | float):
            continue
        if isinstance(node.value, bool) and id(node) not in names:
            continue
        outer = signed.get(id(node))
        place: ast.expr = outer or node
        value = -node.value if outer and not isinstance(node.value, bool) else node.value
        start, end = offsets(place.lineno, place.col_offset), offsets(place.end_lineno, place.end_col_offset)
        yield Knob(start, end, place.lineno, names.get(id(place), ""), value)


def _missing(call: ast.Call, offsets: _Offsets) -> Iterator[Knob]:
    """A call that makes a leaf without a word on requires_grad."""
    given = {keyword.arg for keyword in call.keywords}
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    ours = isinstance(owner, ast.Name) and owner.id == "torch" and _attribute(call) in FACTORIES
    if ours and not given & {"requires_grad", None}:
        end = offsets(call.end_lineno, call.end_col_offset) - 1
        yield Knob(end, end, call.end_lineno or call.lineno, "requires_grad", False, missing=True)


def _attribute(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""
