"""Derivative formulas by node name, read from the `derivatives.yaml` that PyTorch ships; no YAML library is needed.

Names follow torchgen: each part of the function's name capitalised, then "Backward", then a number that counts the
entries of the same name which have a formula for an argument.
"""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

from gradviz.trace.events import Rule

_Entry = list[tuple[str | None, str, str]]
_KEY = re.compile(r'^"?([A-Za-z_][\w, ]*?)"?\s*:(?:\s+(.*)|$)')
_NO_FORMULA = frozenset(("name", "output_differentiability", "dispatch"))
_WRITTEN_BY_HAND = {
    "AccumulateGrad": ("variable", "variable.grad + grad"),
    "CopySlices": ("base", "grad with the written region set to zero; the region's part goes to the inner function"),
    "CopyBackwards": ("src", "grad.to(src.options()); self receives zeros"),
}


def rule(name: str) -> Rule | None:
    """The formula of a node name; None where PyTorch's table has none (custom Functions, compiled regions)."""
    if name in _WRITTEN_BY_HAND:
        return Rule(name, formulas=(_WRITTEN_BY_HAND[name],), origin="torch/csrc/autograd")
    table = _table()
    found = table.get(name)
    if found is None and name.endswith("_copy"):
        found = table.get(name.removesuffix("_copy"))
    if found is None and (each := re.match(r"Foreach(\w+?Backward)(\d+)", name)):
        found = table.get(each[1] + each[2])
    return None if found is None else Rule(name, found[0], found[1])


@functools.cache
def _table() -> dict[str, tuple[str, tuple[tuple[str, str], ...]]]:
    spec = importlib.util.find_spec("torchgen")
    if spec is None or spec.origin is None:
        return {}
    path = Path(spec.origin).parent / "packaged" / "autograd" / "derivatives.yaml"
    try:
        return dict(_named(path.read_text("utf-8")))
    except OSError:
        return {}


def _named(text: str) -> Iterator[tuple[str, tuple[str, tuple[tuple[str, str], ...]]]]:
    counts: dict[str, int] = {}
    for entry in _entries(text):
        schema = next(_clean(value) for _, key, value in entry if key == "name")
        arguments = _argument_names(schema)
        title = "".join(part.title() for part in re.split(r"[.(]", schema)[0].split("_")) + "Backward"
        title = title.replace("ForwardBackward", "Backward")
        for dispatch in dict.fromkeys(key for key, _, _ in entry if key) or (None,):
            formulas = tuple(
                (key, _clean(value))
                for where, key, value in entry
                if where == dispatch and key not in _NO_FORMULA and key.split(",")[0].strip() in arguments
            )
            formulas = tuple(f for f in formulas if f[1].lower() != "non_differentiable")
            if formulas:
                prefix = title + ("" if dispatch in (None, "Default") else str(dispatch))
                number = counts.get(prefix, 0)
                counts[prefix] = number + 1
                yield f"{prefix}{number}", (schema, formulas)


def _argument_names(schema: str) -> set[str]:
    inside = schema[schema.index("(") + 1 : schema.rindex(") ->")]
    parts = re.split(r",\s*(?![^\[(]*[\])])", inside)
    return {part.split("=")[0].strip().rpartition(" ")[2] for part in parts if part.strip() not in ("", "*")}


def _entries(text: str) -> Iterator[_Entry]:
    """The one shape this file has: a list of maps, "key: value" lines, continuations, one level of dispatch."""
    entry: list[list[str | None]] = []
    dispatch: str | None = None
    inside = False
    for raw in text.splitlines():
        line = raw.rstrip()
        if not line.lstrip() or line.lstrip().startswith("#"):
            continue
        if line.startswith("- "):
            if entry:
                yield [(a, str(b), str(c)) for a, b, c in entry]
            entry, dispatch, inside = [], None, False
            line = "  " + line[2:]
        words = line.lstrip()
        indent = len(line) - len(words)
        match = _KEY.match(words)
        if match and indent == 2:
            entry.append([None, match[1], match[2] or ""])
            inside, dispatch = match[1] == "dispatch", None
        elif match and indent == 4 and inside and not match[2]:
            dispatch = match[1]
        elif match and indent == 6 and dispatch:
            entry.append([dispatch, match[1], match[2] or ""])
        elif entry:
            entry[-1][2] = f"{entry[-1][2]} {words}"
    if entry:
        yield [(a, str(b), str(c)) for a, b, c in entry]


def _clean(value: str) -> str:
    value = value.strip()
    for block in ("|-", ">-", "|", ">"):
        if value.startswith(block + " "):
            value = value[len(block) + 1 :]
            break
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1].replace("\\n", "\n")
    return re.sub(r"\s+#.*$", "", value).strip()
