"""Hooks of the recorder's own on nodes: put on and taken off at a third of what PyTorch's way costs.

`Node.register_hook` asks `_register_hook` for a dictionary and a handle. For our hooks that gives the dictionary itself
as the handle, so that no handle object and no hook number is used up; what the program registers goes the usual way,
under a number.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any


class Before(partial[Any]):
    """A pre-hook of a pass, made as `Before(function, run, tag)`. The pass is its key in the node's dictionary."""


class After(partial[Any]):
    """A hook of a pass, made in the same way. Where the program has hooks on the node, `run.raw(run, tag, …)` is called
    before the first of them."""


def registering(real: Callable[[Any, Any], tuple[Any, Any]]) -> Callable[[Any, Any], tuple[Any, Any]]:
    """PyTorch's `_register_hook`, with our own way for our own hooks."""

    def _register_hook(hooks: Any, function: Any) -> tuple[Any, Any]:
        kind = type(function)
        if kind is not After and kind is not Before:
            return real(hooks, function)
        run = function.args[0]
        if hooks is None:
            hooks = OrderedDict()
        elif kind is After and any(type(key) is int for key in hooks):
            first = "first", run
            hooks[first] = partial(run.raw, *function.args)
            to_front(hooks, first)
        hooks[run] = function
        return hooks, hooks

    return _register_hook


def to_front(hooks: Any, key: object) -> None:
    """Have a hook called before all others: PyTorch goes by the order in which they came into the dictionary, which
    `OrderedDict.move_to_end` does not change."""
    for other in [other for other in hooks if other != key]:
        hooks[other] = hooks.pop(other)


def take_off(run: object, handles: list[Any]) -> None:
    """Remove the hooks of a pass again."""
    for handle in handles:
        if type(handle) is OrderedDict:
            handle.pop(run, None)
            if handle:
                handle.pop(("first", run), None)
        else:
            handle.remove()
