"""Searches: what they read as, and what they find on the one-layer recording, whose answers follow from its program."""

from __future__ import annotations

import numpy as np
import pytest

from gradviz.player.query import Corpus, QueryError, Term, find, parse
from gradviz.trace import Trace
from gradviz.trace.events import Backward, Grad, Header, Node, NodeRan, Op, Saved, Tensor, Value
from tests.scene.one_layer import data, recording


def keys(text: str, step: int | None = None, trace: Trace | None = None) -> set[str]:
    trace = trace or recording(2, retain=False)
    hits = find(trace.at(trace.steps if step is None else step), text)
    assert hits.error is None
    return set(hits.keys)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", ()),
        ("Add", ((Term("text", text="add"),),)),
        ('"a b"', ((Term("text", text="a b"),),)),
        ("nan or freed", ((Term("flag", "nan"),), (Term("state", "freed"),))),
        ("not freed and w", ((Term("state", "freed", negated=True), Term("text", text="w")),)),
        ("-mm", ((Term("text", text="mm", negated=True),),)),
        ("grad is None", ((Term("none"),),)),
        (".grad is not none", ((Term("none", negated=True),),)),
        ("|grad| < 1e-6", ((Term("grad", sign="<", number=1e-6),),)),
        ("|grad|>=-.5", ((Term("grad", sign=">=", number=-0.5),),)),
        ("saved > 1.5MB", ((Term("saved", sign=">", number=1.5 * 1024**2),),)),
        ("saved > 2 kb w", ((Term("saved", sign=">", number=2048), Term("text", text="w")),)),
        ("line:9", ((Term("line", sign="=", number=9),),)),
        ("line <= 9", ((Term("line", sign="<=", number=9),),)),
        ("shape:(5, 3) op:add", ((Term("field", "shape", "(5, 3)"), Term("field", "op", "add")),)),
    ],
)
def test_texts_read_as_queries(text: str, query: object) -> None:
    assert parse(text) == query


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("|grad| <", "number"),
        ("saved > many", "number"),
        ("line:x", "number"),
        ("a or", "end"),
        ("or a", "end"),
        ("not", "end"),
    ],
)
def test_unreadable_texts_say_why(text: str, code: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert caught.value.code == code
    hits = find(recording().at(3), text)
    assert hits.error is not None and hits.error.code == code and not hits.keys


def test_words_look_into_names_ops_and_nodes() -> None:
    assert keys("matmul") == {"op:4"}
    assert keys("MmBackward") == {"node:1"}
    assert "tensor:2" in keys("name:w") and "op:2" in keys("name:w")


def test_a_grad_is_found_by_the_name_that_the_timeline_gives_it() -> None:
    """`w.grad` finds the leaf w, with the steps at which its `.grad` changed."""
    trace = recording(2)
    hits = find(trace.at(trace.steps), "w.grad")
    assert hits.keys == ("tensor:2",) and hits.steps == set(trace.grads[2].steps) and len(hits.steps) == 2
    assert keys("name:b.grad", trace=trace) == {"tensor:3"} and keys("x.grad", trace=trace) == set()
    assert not find(trace.at(trace.steps), "name:w").steps & hits.steps


def test_nothing_is_found_before_it_exists() -> None:
    assert keys("matmul", step=4) == set()
    assert keys("matmul", step=5) == {"op:4"}


def test_fields_shapes_and_lines() -> None:
    assert keys("op:add") == {"op:5"}
    assert keys("node:add") == {"node:4"}
    assert keys("shape:5x3") == keys("shape:(5, 3)") == {"op:2", "tensor:2", "node:0"}
    assert keys("line:8") == {"op:6", "node:5"}


def test_states_follow_the_step() -> None:
    assert keys("running node:backward", step=9) == {"node:5"}
    assert "node:5" in keys("freed", step=9) and "node:1" not in keys("freed", step=9)
    assert "node:1" in keys("freed", step=13)


def test_leaves_without_gradient() -> None:
    assert keys("grad is None", step=7) == {"tensor:2", "tensor:3"}
    assert keys("grad is None", step=11) == {"tensor:2"}
    assert keys("grad is not None", step=11) == {"tensor:3"}


def test_gradients_compare_by_norm() -> None:
    trace = recording(1)
    frame = trace.at(trace.steps)
    norm = float(np.linalg.norm(frame.grad("b").astype(np.float64)))  # type: ignore[union-attr]
    assert "tensor:3" in keys(f"|grad| <= {norm * 1.001}", trace=trace)
    assert "tensor:3" not in keys(f"|grad| < {norm * 0.999}", trace=trace)
    assert "tensor:2" in keys(f"|grad| > {norm}", trace=trace)


def test_negation_and_alternatives() -> None:
    assert keys("op:add or op:matmul") == {"op:4", "op:5"}
    assert keys("node:backward not node:mm") == {"node:2", "node:4", "node:5"}


def broken() -> Trace:
    nan = data([1.0, np.nan])
    return Trace(
        [
            Header(),
            Node(0, "MulBackward0", ((None, 0),), op=0, saved=(Saved("self", "tensor", 0, 0, (2,), bytes=4096),)),
            Tensor(0, (2,), requires_grad=True, is_leaf=False, node=0, op=0),
            Op(0, "mul", outputs=(0,), nodes=(0,)),
            Value(0, nan),
            Op(1, "zeros", outputs=(1,), untracked="no_grad"),
            Backward(0, roots=(0,)),
            NodeRan(0, 0, (data([np.inf, 1.0]),), (None,)),
            Grad(0, "retain", None, None, nan),
        ]
    )


def test_not_finite_numbers_and_bytes() -> None:
    trace = broken()
    assert "op:0" in keys("nan", trace=trace) and "op:1" not in keys("nan", trace=trace)
    assert keys("inf", trace=trace) == {"op:0", "node:0"}
    assert keys("inf", step=2, trace=trace) == set()
    assert keys("saved >= 4KB", trace=trace) == {"op:0", "node:0"}
    assert keys("saved > 4KB", trace=trace) == set()
    assert keys("untracked", trace=trace) == {"op:1"}


def test_hits_know_their_steps() -> None:
    trace = recording(2)
    hits = find(trace.at(trace.steps), "node:mm")
    assert hits.steps == frozenset(trace.runs(1))
    assert find(trace.at(trace.steps), "op:matmul").steps == {5}
    assert hits.total == len(Corpus(trace).keys)
