"""Each rule of ours, computed in numpy from what the node saved, equals what autograd's node itself returns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradviz.explain.rules import own_rule, own_rules
from tests.explain.numeric import CASES, HELPERS, Case, fit, inputs


def environment(node: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"dim": None, "keepdim": False}
    for name in dir(node):
        if name.startswith("_saved_"):
            found[name.removeprefix("_saved_")] = plain(getattr(node, name))
    if found.get("correction", 1) is None:
        found["correction"] = 1
    return found


def plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().numpy()
    if isinstance(value, int) and value > 2**63:
        return value - 2**64
    return tuple(plain(v) for v in value) if isinstance(value, tuple | list) else value


def find(node: Any, name: str) -> Any:
    """The first node of that name on the way back."""
    queue = [node]
    for item in queue:
        if item.name() == name:
            return item
        queue += [n for n, _ in item.next_functions if n is not None]
    raise AssertionError(f"{name} is not in the graph: {[n.name() for n in queue]}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_our_rule_is_autograds(case: Case) -> None:
    name, run, spec = case
    made = run(*inputs(spec))
    results = list(made) if isinstance(made, tuple) else [made]
    node = find(results[0].grad_fn, name)
    seeds: list[torch.Tensor | None] = [torch.randn(r.shape, dtype=r.dtype) for r in results]
    answer: list[Any] = []

    def keep(sent: Any, received: Any) -> None:
        answer.append((sent, received))

    hook = node.register_hook(keep)
    before = [n for n, _ in node.next_functions]
    torch.autograd.backward(results, seeds)
    hook.remove()
    gins, gouts = answer[0]
    mine = own_rule(name)
    assert mine is not None
    shapes: list[Any] = [tuple(g.shape) if g is not None else None for g in gins]
    given = environment_after(name, run, spec)
    gs = [plain(g) for g in gouts]
    rows = mine["rows"]
    compared = 0
    for i, truth in enumerate(gins):
        if truth is None or before[i] is None:
            continue
        row = rows[i] if len(rows) > i else rows[0]
        scope = {"g": gs[0], "gs": gs, "shape": shapes[i], "shapes": shapes, "row": i} | given
        value = eval(row["code"], {"__builtins__": {}} | HELPERS | scope)
        value = fit(value, shapes[i]) if mine.get("broadcast") else np.asarray(value)
        assert value.shape == shapes[i]
        np.testing.assert_allclose(
            value, plain(truth), rtol=1e-10, atol=1e-10 if truth.dtype == torch.float64 else 1e-6
        )
        compared += 1
    assert compared


def environment_after(name: str, run: Any, spec: Any) -> dict[str, Any]:
    """What the node saved, read from a second, equal graph: backward has freed the first."""
    made = run(*inputs(spec))
    return environment(find((made[0] if isinstance(made, tuple) else made).grad_fn, name))


def test_every_rule_of_ours_is_proved() -> None:
    proved = {case[0] for case in CASES}
    unproved = [
        name for name in own_rules() if name not in proved and not any(p.rstrip("0123456789") == name for p in proved)
    ]
    assert unproved == ["AccumulateGrad"]  # it returns nothing: the test below looks at .grad
    assert len(proved) >= 80


def test_rules_are_complete_in_both_languages() -> None:
    for name, rule in own_rules().items():
        assert rule["en"].endswith(".") and rule["zh"].endswith("。"), name
        assert all(set(row) == {"input", "text", "tex", "code"} for row in rule["rows"]), name


def test_accumulate_grad_adds() -> None:
    leaf = inputs(((2, 3),))[0]
    total = np.zeros((2, 3))
    for _ in range(3):
        seed = torch.randn(2, 3, dtype=torch.float64)
        torch.autograd.backward(leaf, seed)
        total = total + seed.numpy()
    assert leaf.grad is not None
    np.testing.assert_allclose(leaf.grad.numpy(), total, rtol=1e-10)
