"""Module calls and custom Functions as scopes, the names of parameters, and threads that the program starts."""

from __future__ import annotations

import ast
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch

from gradviz.recorder.classify import Kind
from gradviz.recorder.core import Core, Off, mode_stack, tracing
from gradviz.recorder.forward import Forward, Mode
from gradviz.recorder.guard import guarded
from gradviz.trace.events import Event, Scope

_C: Any = torch._C
_PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter)
_NO_OVERRIDE = _C._disabled_torch_function_impl


def called(text: str) -> str:
    """The dotted name of what an expression calls: "net" of `net(x)`, "nets.0" of `nets[0](x)`; "" for all else."""
    try:
        call = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    at, parts = call.func if isinstance(call, ast.Call) else None, list[str]()
    while True:
        match at:
            case ast.Attribute(value=inner, attr=part) if not part.startswith("__"):
                parts.append(part)
            case ast.Subscript(value=inner, slice=ast.Constant(value=int() | str() as key)):
                parts.append(str(key))
            case ast.Name(id=name):
                return ".".join([name, *reversed(parts)])
            case _:
                return ""
        at = inner


class Modules:
    """Makes the replacements for `Module.__call__`, `Function.apply`, `Thread.start` and `has_torch_function`."""

    def __init__(self, core: Core, forward: Forward, mode: Mode) -> None:
        self.core = core
        self._forward = forward
        self._mode = mode
        self._scopes = 0
        self._paths: dict[int, tuple[Any, str]] = {}
        self._variables: dict[int, str] = {}
        """Module that the program called itself -> the variable that it is in."""
        self._lazy: set[int] = set()
        """Modules with parameters that have no shape yet: they are named once they have one."""

    def call(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """`Module.__call__`, told as a scope."""
        core, forward, paths = self.core, self._forward, self._paths

        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if not core.active or tracing() is not None:
                return real(module, *args, **kwargs)
            local = core.local
            outer = local.scope
            try:
                known = paths.get(id(module))
                path = known[1] if known is not None and known[0]() is module else self._path(module)
                self._enter(path, type(module).__name__, outer)
            except Exception as error:
                core.fail("entering a module", error)
            try:
                result = real(module, *args, **kwargs)
            finally:
                number, local.scope = local.scope, outer
                if number is not None and number != outer:
                    self._left(number)
            if core.active:
                if self._lazy and id(module) in self._lazy:
                    self._name_late(module)
                forward.bind_result(result)
            return result

        return call

    def apply(self, real: Any) -> Any:
        """`Function.apply`, told as one custom operation; what its forward does stands in a scope of its own."""
        core, forward = self.core, self._forward

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            if not core.active or tracing() is not None:
                return real.__func__(cls, *args, **kwargs)

            def inside(*args: Any, **kwargs: Any) -> Any:
                local = core.local
                outer = local.scope
                try:
                    self._enter(f"{cls.__qualname__}.forward", cls.__name__, outer)
                except Exception as error:
                    core.fail("entering a Function", error)
                try:
                    return real.__func__(cls, *args, **kwargs)
                finally:
                    number, local.scope = local.scope, outer
                    if number is not None and number != outer:
                        self._left(number)

            return forward.run(Kind.OP, cls, args, kwargs, inside)

        return classmethod(apply)

    def start(self, real: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
        """`Thread.start`: function modes are per thread, so ours is entered in each that the program starts."""
        core, mode = self.core, self._mode

        def start(thread: threading.Thread) -> None:
            run = thread.run

            def inner() -> None:
                if not core.active:
                    return run()
                with mode:
                    return run()

            thread.run = inner  # type: ignore[method-assign]
            return real(thread)

        return start

    def has_torch_function(self, real: Callable[[Any], bool]) -> Callable[[Any], bool]:
        """`torch.overrides.has_torch_function` as it answers without our mode: nn.MultiheadAttention and
        nn.TransformerEncoder leave their fast path where it is true, and any active mode makes it true."""
        mode = self._mode

        def has_torch_function(relevant: Any) -> bool:
            if not real(relevant) or any(m is not mode for m in mode_stack()):
                return real(relevant)
            return any(
                type(item) not in _PLAIN_TYPES
                and getattr(type(item), "__torch_function__", _NO_OVERRIDE) is not _NO_OVERRIDE
                for item in relevant
            )

        return has_torch_function

    def _enter(self, path: str, cls: str, outer: int | None) -> None:
        core = self.core
        site, _ = core.sources.here(2)
        with core.journal.lock:
            number = self._scopes
            self._scopes += 1
            core.journal.write_all((Scope(number, True, path, cls, outer, None if site is None else site.span),))
        core.local.scope = number

    @guarded
    def _left(self, number: int) -> None:
        self.core.journal.trailing(Scope(number, False))

    def _path(self, module: Any) -> str:
        for path, child in module.named_modules():
            self._paths[id(child)] = weakref.ref(child), path
        self._variables[id(module)] = self._variable(module)
        self._name_parameters(module)
        return ""

    def _variable(self, module: Any) -> str:
        """What the program calls a module that it calls itself: "net" for `net(x)`; "" where its text does not say."""
        site, frame = self.core.sources.here(3)
        if site is None or frame is None or frame is not sys._getframe(3):
            return ""
        name = called(site.text)
        first = name.partition(".")[0]
        if first in frame.f_code.co_varnames + frame.f_code.co_freevars + frame.f_code.co_cellvars:
            return name.removeprefix("self.")
        known = frame.f_globals.get(first)
        return name if known is module or (known is not None and first != name) else ""

    @guarded
    def _name_late(self, module: Any) -> None:
        self._lazy.discard(id(module))
        self._name_parameters(module)

    def _name_parameters(self, module: Any) -> None:
        """Names as `named_parameters` has them. Before one that says too little alone ("weight", "0.bias"), or means
        another parameter already, comes the one with the module's variable."""
        core = self.core
        variable = self._variables.get(id(module), "")
        batch: list[Event] = []
        with Off(), core.journal.lock:
            for name, parameter in module.named_parameters():
                if torch.nn.parameter.is_lazy(parameter):
                    self._lazy.add(id(module))
                    continue
                entry = core.tensors.see(parameter, batch)
                bare = "." not in name or name[0].isdigit()
                if variable and (bare or core.tensors.bound.get(name, entry.id) != entry.id):
                    core.tensors.name(entry, f"{variable}.{name}", None, batch)
                core.tensors.name(entry, name, None, batch)
            core.journal.write_all(batch)
