"""A lesson's program and actions under plain PyTorch, stopped at any statement: what recordings are held against."""

from __future__ import annotations

import ast
import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import torch

from gradviz.player.lessons import Lesson
from gradviz.trace import number, shape_text

Look = Callable[[dict[str, Any]], Any]


class _Stop(BaseException):
    """The moment has come."""


class _Told(ast.NodeTransformer):
    """Has `_after(text)` called after every statement, in loops and branches too."""

    def visit_stmts(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made = []
        for statement in body:
            for name in ("body", "orelse"):
                if isinstance(getattr(statement, name, None), list):
                    setattr(statement, name, self.visit_stmts(getattr(statement, name)))
            made.append(statement)
            if not isinstance(statement, ast.Return):
                made += ast.parse(f"_after({ast.unparse(statement)!r})").body
        return made


def _told(source: str) -> Any:
    tree = ast.parse(source)
    tree.body = _Told().visit_stmts(tree.body)
    return compile(ast.fix_missing_locations(tree), "plain", "exec")


def look(lesson: Lesson, statement: str, count: int, at: Look) -> Any:
    """What `at` says of the namespace right after a statement has run for the count-th time."""
    seen, found = 0, []

    def after(text: str) -> None:
        nonlocal seen
        seen += text == statement
        if seen == count and text == statement:
            found.append(at(namespace))
            raise _Stop

    namespace: dict[str, Any] = {"_after": after, "__name__": "__main__"}
    run(lesson, namespace)
    assert found, f"{lesson.id} never comes to {statement!r} #{count}"
    return found[0]


def run(lesson: Lesson, namespace: dict[str, Any]) -> list[Exception]:
    """Run program and actions; gives what the actions raised."""
    raised: list[Exception] = []
    namespace.setdefault("_after", lambda text: None)
    with redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(_told(lesson.program), namespace)
            for action in lesson.actions:
                try:
                    exec(_told(action), namespace)
                except Exception as error:
                    raised.append(error)
        except _Stop:
            pass
    return raised


def say(value: Any) -> str:
    """A value as the templates of lessons write it."""
    if isinstance(value, torch.Size):
        return shape_text(tuple(value))
    if isinstance(value, torch.Tensor):
        return say(value.detach().tolist())
    if isinstance(value, list):
        return "[" + ", ".join(say(item) for item in value) + "]"
    return number(value) if isinstance(value, float) else str(value)


def nodes(root: Any, *, leaves: bool = False) -> list[Any]:
    """The nodes that can be reached from a tensor, `AccumulateGrad` included or not."""
    found, todo = [], [root.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or node in found or (hasattr(node, "variable") and not leaves):
            continue
        found.append(node)
        todo += [target for target, _ in node.next_functions]
    return found
