"""The one guard between the recorder's own failures and the program that it records."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


def guarded(method: Callable[Concatenate[Any, _P], _R]) -> Callable[Concatenate[Any, _P], _R | None]:
    """A method of the recorder's bookkeeping, of an object with a `core`: what it raises ends the recording by
    `core.fail` and never reaches the program; it then gives None. Methods that run for every operation or node write
    the same `try` themselves and save this call."""

    @functools.wraps(method)
    def run(self: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> _R | None:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            self.core.fail(method.__name__, error)
            return None

    return run
