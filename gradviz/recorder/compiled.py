"""Compiled regions: while one runs, the recorder's mode and patches are out of sight, and it is told as unseen.

Dynamo guards on function modes and on the functions it traces through: with ours in place it would compile anew, or
trace into the recorder itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from gradviz.recorder.core import Core, mode_stack, pop_mode, push_mode
from gradviz.recorder.guard import guarded

_MODULE = "torch._dynamo.eval_frame"
_SEEN_AS = "_TorchDynamoContext"


class Compiled:
    """Steps aside around compiled callables.

    Args:
        patches: (owner, name, plain, ours) of everything that compiled code must not see.
    """

    def __init__(self, core: Core, mode: Any, patches: list[tuple[Any, str, Any, Any]]) -> None:
        self.core = core
        self._mode = mode
        self._patches = patches
        self._inside: list[FrameType] = []
        self._watched: tuple[Any, Any] | None = None

    @guarded
    def watch(self) -> None:
        """Notice entry to and exit from compiled callables, where Dynamo is loaded."""
        dynamo: Any = sys.modules.get(_MODULE)
        if dynamo is None or self._watched is not None or not hasattr(dynamo, "_maybe_set_eval_frame"):
            return
        real = dynamo._maybe_set_eval_frame
        self._watched = dynamo, real
        dynamo._maybe_set_eval_frame = self._around(real)

    def unwatch(self) -> None:
        """Take the notice off."""
        if self._watched is not None:
            dynamo, real = self._watched
            dynamo._maybe_set_eval_frame = real
            self._watched = None
        self._inside.clear()

    def compile(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """`torch.compile`, which loads Dynamo."""

        def compile(*args: Any, **kwargs: Any) -> Any:  # noqa: A001
            result = real(*args, **kwargs)
            self.watch()
            return result

        return compile

    def _around(self, real: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def _maybe_set_eval_frame(callback: Any) -> Any:
            self._crossed(callback)
            return real(callback)

        return _maybe_set_eval_frame

    @guarded
    def _crossed(self, callback: Any) -> None:
        inside = self._inside
        frame = sys._getframe(3)
        if frame.f_code.co_qualname.startswith(_SEEN_AS):
            if inside and inside[-1] is frame:
                inside.pop()
                self.show()
            elif callable(callback):
                inside.append(frame)
                self.hide()

    def hide(self) -> None:
        """A compiled region begins in this thread."""
        local = self.core.local
        local.hidden += 1
        if local.hidden > 1:
            return
        self._tell()
        local.had_mode = remove(self._mode)
        for owner, name, plain, _ in self._patches:
            setattr(owner, name, plain)

    @guarded
    def _tell(self) -> None:
        site, _ = self.core.sources.here(3)
        self.core.journal.write_all(self.core.warns.unseen("What runs inside a compiled region is not seen.", site))

    def show(self) -> None:
        """It is over."""
        local = self.core.local
        if not local.hidden:
            return
        local.hidden -= 1
        if local.hidden:
            return
        for owner, name, _, ours in self._patches:
            setattr(owner, name, ours)
        if local.had_mode:
            push_mode(self._mode)


def remove(mode: Any) -> bool:
    """Take a mode off this thread's stack wherever it is: the program may have left one of its own above it."""
    above = []
    while any(m is mode for m in mode_stack()):
        above.append(pop_mode())
    for other in reversed(above):
        if other is not mode:
            push_mode(other)
    return bool(above)


def is_compiled(node: Any) -> bool:
    """The node of a compiled region, whose backward is compiled code too."""
    return type(node).__name__ == "CompiledFunctionBackward" and isinstance(node, torch._C._FunctionBase)
