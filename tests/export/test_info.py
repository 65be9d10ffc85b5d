"""`describe` against PyTorch run plain beside it: grads to the bit, nodes and edges by a walk of next_functions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gradviz.export.info import describe, summary
from gradviz.trace import open_trace

Recorded = Callable[[str], Path]


def plain(programs: Path, name: str) -> dict[str, Any]:
    """What is left of a program's variables after running it without gradviz."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile((programs / f"{name}.py").read_text("utf-8"), name, "exec"), scope)
    return scope


def described(path: Path) -> dict[str, Any]:
    """By way of JSON, as others read it."""
    made: dict[str, Any] = json.loads(json.dumps(describe(open_trace(path))))
    return made


def leaf(info: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in info["leaves"] if name in one["names"]]
    return dict(found)


@pytest.mark.parametrize(("name", "leaves"), [("one_layer", ("w", "b")), ("accumulation", ("inp",))])
def test_gradients_are_pytorchs(recorded: Recorded, programs: Path, name: str, leaves: tuple[str, ...]) -> None:
    info, scope = described(recorded(name)), plain(programs, name)
    for known in leaves:
        one = leaf(info, known)
        assert one["grad_captured"]
        assert one["grad"] == scope[known].grad.tolist()
        assert one["shape"] == list(scope[known].shape)


def test_the_graph_is_pytorchs(recorded: Recorded, programs: Path) -> None:
    info, scope = described(recorded("one_layer")), plain(programs, "one_layer")
    nodes = {node["id"]: node for node in info["nodes"]}
    waiting = [(scope["loss"].grad_fn, info["passes"][0]["roots"][0])]
    seen = set()
    while waiting:
        real, ident = waiting.pop()
        assert nodes[ident]["name"] == real.name().rpartition("::")[2]
        assert len(nodes[ident]["next"]) == len(real.next_functions)
        seen.add(ident)
        for (target, number), (known, known_number) in zip(real.next_functions, nodes[ident]["next"], strict=True):
            assert (target is None) == (known is None)
            assert number == known_number
            if target is not None:
                waiting.append((target, known))
    assert seen == set(nodes)
    assert set(info["passes"][0]["order"]) == seen


def test_a_leaf_without_gradient(recorded: Recorded) -> None:
    x = leaf(described(recorded("one_layer")), "x")
    assert x["is_leaf"] and not x["requires_grad"]
    assert x["grad"] is None and x["grad_captured"]


def test_a_second_backward_is_a_fault_of_its_pass(recorded: Recorded, programs: Path) -> None:
    info = described(recorded("second_backward"))
    (fault,) = info["faults"]
    assert fault["kind"] == "freed_graph"
    source = (programs / "second_backward.py").read_text("utf-8").splitlines()
    assert fault["line"] == len(source)
    assert [one["error"] for one in info["passes"]] == [None, 0]
    with pytest.raises(RuntimeError) as raised:
        plain(programs, "second_backward")
    assert fault["message"] == str(raised.value)
    assert fault["node"] not in info["passes"][1]["order"]


def test_the_rest(recorded: Recorded) -> None:
    info = described(recorded("accumulation"))
    assert info["torch"] == torch.__version__
    assert info["complete"] is True
    assert info["ops"] > 0 and info["steps"] > info["ops"] - 1
    assert info["output"].startswith("First call\n tensor(")
    assert len(info["passes"]) == 3
    assert all(one["retain_graph"] for one in info["passes"])


def test_for_people(recorded: Recorded) -> None:
    text = summary(open_trace(recorded("second_backward")))
    assert "RuntimeError at line" in text
    assert "leaves" in text and "w" in text
