"""Every generated answer is what PyTorch, run plain, does; and every question can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradviz.explain.questions import KINDS, MOST, Question, kinds_at, question
from gradviz.trace import Trace
from tests.explain.plain import Line, both, line_at, same, short

LOOP = [
    "w = torch.randn(3, requires_grad=True)",
    "unused = torch.ones(2, requires_grad=True)",
    "x = torch.tensor([1.0, 2.0, 3.0])",
    "h = w * x",
    "loss = (h * h).mean()",
    "loss.backward()",
    "with torch.no_grad(): w -= 0.1 * w.grad",
    "w.grad = None",
    "h = (w * x).relu()",
    "loss = (h * h).mean()",
    "loss.backward()",
    "loss.backward()",
]
SHARED = [
    "a = torch.tensor(3.0, requires_grad=True)",
    "y = a * 2 + a * a",
    "y.backward(retain_graph=True)",
    "y.backward()",
    "a.grad.zero_()",
    "z = a.exp().exp()",
    "(a * 1).detach()",
    "a.add_(1)",
    "b = a.exp()",
    "out = b.sum()",
    "b.add_(1)",
    "out.backward()",
    "c = torch.ones(2, requires_grad=True)",
    "d = c + 1",
    "d.backward()",
    "s = (c + 1).sum()",
    "s.backward()",
    "s.backward()",
    "p = (c * c).sum()",
    "p.backward(retain_graph=True)",
    "c.data.mul_(2)",
    "q = c.argmax()",
    "with torch.no_grad(): r = c * 2",
]
LAYER = [
    "x, y = torch.ones(5), torch.zeros(3)",
    "w = torch.randn(5, 3, requires_grad=True)",
    "b = torch.randn(3, requires_grad=True)",
    "z = torch.matmul(x, w) + b",
    "loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)",
    "loss.backward(retain_graph=True)",
    "loss.backward(retain_graph=True)",
    "w.grad.zero_()",
]
PROGRAMS = {"loop": LOOP, "shared": SHARED, "layer": LAYER}


def asked(trace: Trace, language: str = "en") -> list[Question]:
    found = [question(trace, step, kind, language) for step in range(trace.steps + 2) for kind in kinds_at(trace, step)]
    assert all(found)
    return [q for q in found if q is not None]


class Oracle:
    """Compares the fact of a question with what plain PyTorch did at that line."""

    def __init__(self, trace: Trace, plain: list[Line]) -> None:
        self.trace, self.plain = trace, plain

    def check(self, q: Question) -> None:
        number = line_at(self.plain, q.step)
        getattr(self, f"_{q.kind}")(q, number, self.plain[number])

    def _held(self, q: Question, line: Line) -> dict[str, Any] | None:
        return line.held.get(str(q.fact["name"]))

    def _place(self, q: Question) -> int:
        """How many nodes ran in this pass before the step."""
        call = self.trace.pass_at(q.step)
        assert call is not None
        return int(((self.trace.run_pass.view == call.id) & (self.trace.run_step.view < q.step)).sum())

    def _flags(self, q: Question, number: int, line: Line) -> None:
        held = self._held(q, line)
        if held is not None and self.trace.named(str(q.fact["name"]), line.steps) == q.fact["tensor"]:
            told = {k: q.fact[k] for k in ("is_leaf", "requires_grad")}
            assert told == {k: held[k] for k in told} and q.fact["grad_fn"] == short(held["grad_fn"])

    def _version(self, q: Question, number: int, line: Line) -> None:
        held = self._held(q, line)
        if held is not None:
            assert q.fact["version"] == held["version"]

    def _in_place(self, q: Question, number: int, line: Line) -> None:
        assert line.error is None
        later = [k for k in self.plain[number:] if k.error and "modified by an inplace" in k.error]
        assert q.fact["raises"] is False or later

    def _iteration(self, q: Question, number: int, line: Line) -> None:
        call = self.trace.passes[int(str(q.fact["pass"]))]
        pass_line = self.plain[line_at(self.plain, int(self.trace.pass_step.view[call.id]))]
        assert q.fact["nodes"] == pass_line.nodes

    def _zeroed(self, q: Question, number: int, line: Line) -> None:
        held = self._held(q, line)
        assert held is not None
        assert q.fact["grad"] == _kind(held["grad"])

    def _refused(self, q: Question, number: int, line: Line) -> None:
        assert line.error is not None

    def _raises(self, q: Question, number: int, line: Line) -> None:
        assert q.fact["raises"] is (line.error is not None)
        if line.error is not None:
            node = self.trace.nodes[int(str(q.fact["node"]))].name
            assert node == short(line.runs[-1].name) and not line.runs[-1].done

    def _leaves(self, q: Question, number: int, line: Line) -> None:
        old = self.plain[number - 1].held
        changed = [n for n, h in line.held.items() if not _equal(h["grad"], old.get(n, {}).get("grad"))]
        names = {str(n) for n in (q.fact["names"] if isinstance(q.fact["names"], list) else [])}
        assert names >= set(changed)
        silent = names - set(changed)  # zeros were added, or the name means another tensor by now
        assert all(run.done for run in line.runs if run.leaf in silent)
        assert silent <= {run.leaf for run in line.runs} | {None}

    def _grad_after(self, q: Question, number: int, line: Line) -> None:
        held = self._held(q, line)
        if held is not None and self.trace.named(str(q.fact["name"]), line.steps) == q.fact["tensor"]:
            assert q.fact["grad"] == _kind(held["grad"])

    def _freed(self, q: Question, number: int, line: Line) -> None:
        assert line.alive is not bool(q.fact["freed"])

    def _accumulate(self, q: Question, number: int, line: Line) -> None:
        run = line.runs[self._place(q)]
        assert short(run.name) == "AccumulateGrad"
        if run.leaf is not None and line.error is None:
            grad, place = line.held[run.leaf]["grad"], q.fact["place"]
            assert same(q.fact["value"], grad[place] if place else grad)

    def _next_node(self, q: Question, number: int, line: Line) -> None:
        node = self.trace.nodes[int(str(q.fact["node"]))]
        run = line.runs[self._place(q)]
        assert node.name == short(run.name)
        if node.leaf is not None and run.leaf is not None:
            assert run.leaf in self.trace.names_of[node.leaf]

    def _node_value(self, q: Question, number: int, line: Line) -> None:
        run = line.runs[self._place(q)]
        sent = [g for g in run.gout if g is not None]
        assert len(sent) == 1 and same(q.fact["value"], sent[0])

    def _shape(self, q: Question, number: int, line: Line) -> None:
        sent = [g for g in line.runs[self._place(q)].gout if g is not None]
        assert [q.fact["shape"]] == [g.shape for g in sent]


def _kind(grad: Any) -> str:
    return "none" if grad is None else "zeros" if not np.asarray(grad).any() else "numbers"


def _equal(one: Any, other: Any) -> bool:
    return (one is None) == (other is None) and (one is None or np.array_equal(one, other))


@pytest.fixture(scope="module")
def runs() -> dict[str, tuple[Trace, list[Line]]]:
    return {name: both(lines) for name, lines in PROGRAMS.items()}


Runs = dict[str, tuple[Trace, list[Line]]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_answer_is_what_pytorch_does(runs: Runs, name: str) -> None:
    trace, plain = runs[name]
    oracle, questions = Oracle(trace, plain), asked(trace)
    assert len(questions) > trace.steps
    for q in questions:
        oracle.check(q)


def test_every_kind_is_asked_somewhere(runs: Runs) -> None:
    kinds = {q.kind for trace, _ in runs.values() for q in asked(trace)}
    assert kinds == set(KINDS)


def test_every_core_misconception_about_numbers_is_a_wrong_choice(runs: Runs) -> None:
    met = {c.misconception for trace, _ in runs.values() for q in asked(trace) for c in q.choices}
    wanted = {1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 17, 18, 19, 20, 28, 33, 35, 38}
    assert {f"M{n}" for n in wanted} <= met


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_question_can_be_read(runs: Runs, language: str) -> None:
    for trace, _ in runs.values():
        for q in asked(trace, language):
            texts = [c.text for c in q.choices]
            said = [q.prompt, q.why, *texts, *(c.note for c in q.choices)]
            assert 2 <= len(texts) <= MOST and len(set(texts)) == len(texts), (q.kind, texts)
            assert 0 <= q.truth < len(texts) and q.choices[q.truth].note == ""
            assert all(c.note for i, c in enumerate(q.choices) if i != q.truth)
            assert not [text for text in said if "{" in text or "quiz." in text], said
            assert q.step <= q.reveal <= trace.steps


def test_both_languages_put_the_choices_in_one_order(runs: Runs) -> None:
    for trace, _ in runs.values():
        for one, other in zip(asked(trace, "en"), asked(trace, "zh"), strict=True):
            assert (one.kind, one.truth, len(one.choices)) == (other.kind, other.truth, len(other.choices))


def test_the_right_answer_has_no_favourite_place(runs: Runs) -> None:
    places = [q.truth for trace, _ in runs.values() for q in asked(trace) if len(q.choices) == MOST]
    assert max(places.count(k) for k in range(MOST)) < 0.5 * len(places)


def test_a_step_that_is_not_there_has_no_question(runs: Runs) -> None:
    trace, _ = runs["layer"]
    assert kinds_at(trace, 0) == kinds_at(trace, trace.steps + 1) == ()
    assert question(trace, 0, "flags") is question(trace, 1, "next_node") is question(trace, 1, "nothing") is None


_name, _unary = st.sampled_from("abcuv"), st.sampled_from(["sin", "exp", "tanh", "neg", "clone", "detach", "relu"])
RANDOM: Callable[..., st.SearchStrategy[str]] = lambda: st.one_of(  # noqa: E731
    st.builds("{} = {}.{}()".format, st.sampled_from("abc"), _name, _unary),
    st.builds("{} = {} * {}".format, st.sampled_from("abc"), _name, _name),
    st.builds("{} = {}.mean() + {}".format, st.sampled_from("abc"), _name, _name),
    st.builds("{}.{}".format, st.sampled_from("abcuv"), st.sampled_from(["mul_(0.5)", "exp_()", "add_(1)"])),
    st.builds("{}.sum().backward(retain_graph={})".format, _name, st.booleans()),
    st.builds("loss = ({} * {}).sum()".format, _name, _name),
    st.just("loss.backward()"),
    st.builds("{}.grad = None".format, st.sampled_from("uv")),
    st.builds("{}.grad.zero_()".format, st.sampled_from("uv")),
)
START = [
    *(f"{n} = torch.randn(2, requires_grad=True)" for n in "uv"),
    *(f"{n} = u * {i + 1}" for i, n in enumerate("abc")),
    "loss = (u * v).sum()",
]


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(RANDOM(), min_size=4, max_size=10))
def test_answers_on_random_programs(lines: list[str]) -> None:
    # A root that only the call itself makes cannot be watched in the plain run: it gets a name of its own.
    split = [p for line in lines for p in (_named(line) if "sum().backward" in line else [line])]
    trace, plain = both(START + split)
    oracle = Oracle(trace, plain)
    for q in asked(trace):
        oracle.check(q)


def _named(line: str) -> list[str]:
    root, _, call = line.partition(".backward")
    return [f"root = {root}", f"root.backward{call}"]
