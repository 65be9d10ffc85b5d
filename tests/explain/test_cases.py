"""For each row of the list of cases, Why?, the error card or the narration says the true cause."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from gradviz.explain import LANGUAGES, QUESTIONS, narrate, why
from gradviz.explain.words import Words, table
from gradviz.trace import Trace, number, open_trace
from tests import forked
from tests.explain import more_programs
from tests.explain.case_programs import MORE, PROGRAMS, trace_of

FAULT, STORY = "fault", "story"

SAYS: list[tuple[str, str, tuple[str, ...]]] = [
    ("A1", FAULT, (r"MulBackward0 needs its saved .*self", r"loss\.backward\(\).*freed them", "same graph.*again")),
    ("A2", "x twice", ("2 contributions", "autograd always adds")),
    ("A2", "AddBackward memory", ("keeps no tensor",)),
    ("A3", "x number", (r"backward 1 added \[2, 4\]", r"backward 2 added \[2, 4\].*giving \[4, 8\]")),
    ("A6", "state not_requires", ("detach made state", "detached from the graph")),
    ("A6", "w twice", ("3 contributions",)),
    (
        "A7",
        FAULT,
        (r"w\.exp\(\) ran .* before that pass, and was not run again", "ExpBackward0 needs its saved result"),
    ),
    ("A9", FAULT, (r"saved y on line \d+ at version 0", r"at version 1 now.*y\.add_\(1\)")),
    ("A10", "x number", (r"added \[2, 2, 2\] \(Sum → Mul → Add → x\)",)),
    ("A11", FAULT, ("x is a leaf that requires grad", r"x\.mul_\(2\)")),
    ("A11", "x changed", (r"refused with an error.*stayed as it was: x\.mul_\(2\)",)),
    ("A13", FAULT, (r"saved w on line \d+ at version 0", "w -= 0.1")),
    (
        "A15",
        FAULT,
        (
            r"saved y on line \d+ at version 0",
            r"alias\.zero_\(\)",
            "alias shares its memory and its version counter with y",
        ),
    ),
    ("A17", "y none", ("y is not a leaf", r"gradient passed through; call y\.retain_grad\(\)")),
    ("A18", "y number", (r"added \[4, 4, 4\]",)),
    ("A18", STORY, ("y will keep its gradient: retain_grad was called",)),
    ("A20", "w none", ("w is not a leaf", r"the unnamed torch\.randn\(3, requires_grad=True\)")),
    ("A22", FAULT, ("needs a gradient argument", r"y has the shape \(3,\)")),
    ("A23", STORY, (r"starts at y with v = \[1, 10, 100\]",)),
    ("A24", FAULT, (r"shape \(2,\), and \(3,\) is needed",)),
    ("A25", FAULT, ("n has the type int64", "Only floating and complex")),
    ("A26", FAULT, ("loss has no grad_fn", "It goes back to w, and none of these requires grad")),
    ("A26 flag", "loss requires", ("flag was set at step", "nothing that it was computed from is reached")),
    ("A26 flag", "w none", ("w has requires_grad=False",)),
    ("A28", FAULT, ("score has no grad_fn", "argmax .* not differentiable")),
    ("A29", FAULT, ("not used in the graph", "No path leads from the root to a")),
    ("A30", "a none", ("returned None for it: None is not the same as zeros",)),
    ("A31", "a none", ("made up by materialize_grads=True",)),
    ("A32", "g none", ("made by .*Backward.* with create_graph",)),
    ("A32", "born here", ("born while PowBackward0 ran", "create_graph")),
    ("A34", STORY, ("create_graph=True: this backward pass is recorded as a graph itself",)),
    ("A35", "x number", (r"Scale → x",)),
    ("A35 count", FAULT, (r"WrongBackward raised .*expected 2, got 1", "one gradient, or None, for each input")),
    ("A37", "y changed", (r"without ctx\.mark_dirty",)),
    ("A37", STORY, (r"without ctx\.mark_dirty",)),
    ("A38", "g requires", ("computed from the leaf x",)),
    ("A40", "again here", ("born while TanhBackward0 ran", "computed again")),
    ("A40", STORY, ("It ran during a backward pass, inside",)),
    ("A41", FAULT, ("reentrant checkpoint cannot be used with autograd.grad", "use_reentrant=False")),
    ("A43", "x number", (r"Sin → Sin → x",)),
    ("A44", "x number", (r"a hook at MulBackward0 changed the gradient from \[3, 3\] to \[30, 30\]",)),
    ("A45", FAULT, ("full backward hook", r"ReLU\(inplace=False\)")),
    ("A47", "w none", ("restricted by inputs= to other tensors",)),
    ("A47", "accumulate_w when", ("never runs.*inputs=",)),
    ("A47", STORY, (r"The pass leaves w out: w\.grad stays as it is",)),
    ("A48", "weight number", (r"indices \[\[1, 1, 4\]\]",)),
    ("A50", "z number", (r"2\+2j", "conjugate Wirtinger")),
    ("A51", FAULT, ("root is complex", "complex64")),
    ("A52", "w twice", ("3 edges end in it",)),
    ("A52", "w number", (r"of w \* 3 sent 3 to w", r"of w \* w sent 2 to w.*of w \* w sent 2 to w")),
    (
        "A54",
        "x nan",
        (r"x / x = \[nan, 1\]", r"DivBackward0 .* turned \[0, 1\] into \[nan", "infinite local derivative"),
    ),
    ("A55", "x nan", ("SqrtBackward0 .* turned 1 into inf", "first NaN came of it in MulBackward0")),
    ("A59", FAULT, (r"x\.unbind\(0\) .* made a together with b as views", r"a\.mul_\(2\)")),
    ("A60", FAULT, (r"x\[:2\] made the view .* under no_grad on line \d+", r"view\.mul_\(2\) on line \d+")),
    ("A62", FAULT, (r"x was made in inference mode and is used .*w \* x",)),
    ("A63", FAULT, (r"y is not a leaf: x \* 2 .* made it", r"y\.detach\(\)")),
    ("A64", FAULT, ("result of the forward pass, whose grad_fn cannot be copied", "detach")),
    ("A65", "a none", ("cut: detach",)),
    ("A67 none", "w changed", (r"w\.grad is None, and optimizers leave such parameters as they are",)),
    ("A67 zero", "w changed", ("all zeros then", "weight decay")),
    ("A68", "MulBackward memory", ("total holds this graph", r"1[0-9] nodes of graphs are alive")),
    ("A70", FAULT, (r"\.expand\(3\) .* made x by repeating elements", r"x\.add_\(1\)")),
    ("A72", STORY, ("No gradient came for result number 1 of its operation, which counts as zeros",)),
    ("A73", "places not_requires", ("int64",)),
    ("A74", "weight not_requires", (r"turned off at step \d+: it is frozen",)),
    ("A76", "running when", ("all the gradients that it waits for have arrived", "born last")),
]

ALSO: list[tuple[str, str, tuple[str, ...]]] = [
    ("carried state", FAULT, (r"h carries an older graph .*torch\.tanh\(h \+ w\) made it on line \d+", "Detach it")),
    ("numpy", FAULT, (r"x\.numpy\(\) ran on line \d+", "An array has no graph")),
    ("shapes", FAULT, (r"x @ y ran on line \d+ .* on x \(2, 3\) and y \(4, 3\)", "cannot be multiplied")),
    ("raised in backward", FAULT, (r"RaisesBackward raised on line \d+ .*no gradient today", "program itself defines")),
    ("grad assigned", FAULT, (r"shape \(2,\), and the tensor has \(3,\)", r"\.grad has the shape, type and device")),
    ("rounded", "x number", (r"became zero in RoundBackward0 .* turned \[1, 1, 1\] into \[0, 0, 0\]",)),
    ("edited behind", "w number", (r"MulBackward0 computed with w as it is now.*w\.data\.mul_\(3\) changed it",)),
    ("dead branch", "x nan", (r"x\.grad holds 3 NaN", "came from log at step", "LogBackward0")),
]
"""Kinds near those of the list."""


def _answered(trace: Trace, ask: str, language: str) -> str:
    """What is said to a question in short: a name, or a node's beginning, and the question."""
    subject, _, question = ask.partition(" ")
    if ask == FAULT:
        return " ".join(why(trace, trace.steps, f"fault:{len(trace.faults) - 1}", None, language).sentences)
    if ask == STORY:
        told = [narrate(trace, step, language) for step in range(trace.steps + 1)]
        return " ".join(f"{one.title} {one.body}" for one in told)
    step, target = trace.steps, f"tensor:{trace.named(subject)}"
    if subject == "running":
        node = trace.order(0)[1]
        step, target = trace.runs(node)[-1], f"node:{node}"
    elif subject in ("born", "again"):
        target = f"node:{next(n.id for n in trace.nodes if n.parent is not None)}"
    elif subject.startswith("accumulate_"):
        leaf = trace.named(subject.removeprefix("accumulate_"))
        target = f"node:{next(n.id for n in trace.nodes if n.leaf == leaf)}"
    elif "Backward" in subject:
        target = f"node:{next(n.id for n in trace.nodes if n.name.startswith(subject))}"
    return " ".join(why(trace, step, target, question, language).sentences)


@pytest.mark.parametrize(
    ("row", "ask", "says"), SAYS + ALSO, ids=[f"{row}-{ask}".replace(" ", "-") for row, ask, _ in SAYS + ALSO]
)
def test_the_true_cause_is_said(row: str, ask: str, says: tuple[str, ...]) -> None:
    trace = trace_of(row)
    told = _answered(trace, ask, "en")
    for pattern in says:
        assert re.search(pattern, told), told
    chinese = _answered(trace, ask, "zh")
    assert re.search(r"[一-鿿]", chinese), chinese
    names = set(re.findall(r"\b\w+Backward\d*\b", told))
    assert names <= set(re.findall(r"\w+Backward\d*", chinese)), chinese


@pytest.mark.parametrize(
    ("row", "function"),
    [("A56", torch.norm), ("A57", lambda x: torch.maximum(x, torch.zeros(2)).sum())],
)
def test_a_number_at_a_kink_is_the_one_of_this_pytorch(row: str, function: Any) -> None:
    x = torch.zeros(2, requires_grad=True)
    function(x).backward()
    assert x.grad is not None
    value = ", ".join(number(v) for v in x.grad.tolist())
    assert f"added [{value}]" in _answered(trace_of(row), "x number", "en")


def test_every_row_has_its_question() -> None:
    asked = {row for row, _, _ in SAYS} | {"A56", "A57"}
    assert asked == set(PROGRAMS)


# ---- no field is left open, and none has a wrong name in it


class _Heard:
    """Every sentence that is said, with what was put into it."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.wrong: list[str] = []

    def take(self, key: str, fields: dict[str, object]) -> None:
        self.keys.add(key)
        for name in re.findall(r"{(\w+)}", Words("en").raw(key) or ""):
            value = fields.get(name)
            if value is None or not str(value).strip() or re.search(r"object at 0x|\{\w+\}|^None$", str(value)):
                if name in ("value", "old", "gin", "gout", "before", "after", "amount", "total") and value == "None":
                    continue  # a gradient may be None
                self.wrong.append(f"{key}: {name} = {value!r}")


def _everything(trace: Trace, language: str) -> None:
    """Every sentence about every step, and the answer to every question about everything at its end."""
    for step in range(trace.steps + 1):
        narrate(trace, step, language)
    kinds = {"tensor": trace.tensors, "node": range(len(trace.nodes)), "op": range(len(trace.ops)),
             "fault": range(len(trace.faults))}  # fmt: skip
    for kind, idents in kinds.items():
        for ident in list(idents):
            for question in QUESTIONS[kind]:
                for step in {trace.steps // 2, trace.steps}:
                    why(trace, step, f"{kind}:{ident}", question, language)


def _sent(folder: Path) -> Trace:
    """A program that computes in a second file, and a line sent to the live process after it."""
    (folder / "second.py").write_text("def double(x):\n    return x * 2\n")
    program, out = folder / "first.py", folder / "out.gradviz"
    program.write_text("import torch\nfrom second import double\ny = double(torch.ones(2, requires_grad=True))\n")
    sent = json.dumps({"cell": 1, "source": "z = y * 3\nz.sum().backward()"}) + "\n"
    assert forked.record("--live", "-o", out, program, sent=sent).returncode == 0
    return open_trace(out)


NOT_SAID = {
    "why.unknown", "why.q.unknown",  # of a key that means nothing
    "say.next.op", "say.where.unknown",  # of an operation without a line, which no Python program has
    "why.requires.unknown",  # of a recording that ends before the leaf is told of
    "say.grad.accumulate", "say.grad.accumulate_body", "say.grad.retain", "say.grad.retain_body",  # in passes only
}  # fmt: skip


@pytest.mark.slow
def test_every_sentence_is_said_of_a_real_recording_with_every_field_filled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    heard, real = _Heard(), Words.__call__

    def listening(words: Words, key: str, **fields: object) -> str:
        heard.take(key, fields)
        return real(words, key, **fields)

    monkeypatch.setattr(Words, "__call__", listening)
    assert more_programs.__name__ and MORE
    for trace in (*(trace_of(row) for row in (*PROGRAMS, *MORE)), _sent(tmp_path)):
        for language in LANGUAGES:
            _everything(trace, language)
    assert heard.wrong == []
    wanted = {key for key in table("en") if re.match(r"(say|why|fault)\.", key)}
    missing = sorted(wanted - heard.keys - NOT_SAID)
    assert not missing, "\n".join(missing)
