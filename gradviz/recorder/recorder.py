"""One recording of what PyTorch does in this process: taps are put on at `start` and taken off at `stop`."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib.metadata
import os
import platform
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import torch

from gradviz.recorder.backward import Engine, Passes
from gradviz.recorder.compiled import Compiled, remove
from gradviz.recorder.core import Core, Off, push_mode
from gradviz.recorder.devices import devices
from gradviz.recorder.forward import Forward, Mode
from gradviz.recorder.guard import guarded
from gradviz.recorder.hooks import registering
from gradviz.recorder.modules import Modules
from gradviz.recorder.ranks import number
from gradviz.trace.events import Cell, Ended, Event, Header, Warn

MAX_EVENTS = 20_000_000
MAX_BYTES = 4 << 30
STACK_BYTES = 1 << 30
_running: list[Recorder] = []


class Recorder:
    """Records the program around it.

    Args:
        sink: receives whole frames of the trace as bytes.
        values: "auto", "all" or "none".
        value_limit: largest number of elements of which "auto" keeps the bytes.
        max_events, max_bytes: caps of the recording; beyond them it stops and says so in its last event.
    """

    def __init__(
        self,
        sink: Callable[[bytes], object],
        values: str = "auto",
        value_limit: int = 1024,
        max_events: int = MAX_EVENTS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.values = values
        self.value_limit = value_limit
        self.core = Core(sink, values, value_limit, max_events, max_bytes)
        self._forward = Forward(self.core)
        self._mode = Mode(self._forward)
        self._modules = Modules(self.core, self._forward, self._mode)
        self._passes = Passes(self.core, self._mode)
        self._patches: list[tuple[Any, str, Any, Any]] = []
        self._told_failure = False
        self._hideable: list[tuple[Any, str, Any, Any]] = []
        self._compiled = Compiled(self.core, self._mode, self._hideable)
        self._passes.compiled = self._compiled
        self._frozen = False
        self._cells: dict[int, float] = {}

    # ---- taps

    def start(self) -> None:
        """Put the taps on, in this thread and those it will start. Where one cannot be put on nothing is recorded."""
        if self._patches or self.core.journal.failed:
            return
        try:
            self._put_on()
        except Exception as error:
            self.core.fail("the start of recording", error)
            self.stop()

    def _put_on(self) -> None:
        raise_stack_limit()
        self._freeze()
        self.core.active = True
        variable: Any = torch.autograd.Variable
        modules = self._modules
        engine = variable._execution_engine
        self._patch(variable, "_execution_engine", Engine(self._passes, engine))
        make = torch.autograd._make_grads
        self._patch(torch.autograd, "_make_grads", lambda *a, **k: self._passes.seeds_made(make, *a, **k))
        self._patch(threading.Thread, "start", modules.start(threading.Thread.start))
        self._patch(torch, "compile", self._compiled.compile(torch.compile))
        plain = len(self._patches)
        self._patch(torch.nn.Module, "__call__", modules.call(torch.nn.Module.__call__))
        self._patch(torch.autograd.Function, "apply", modules.apply(torch.autograd.Function.__dict__["apply"]))
        mixin: Any = torch.autograd.function._HookMixin
        if "_register_hook" in mixin.__dict__:
            self._patch(mixin, "_register_hook", staticmethod(registering(mixin._register_hook)))
        self._patch(
            torch.overrides, "has_torch_function", modules.has_torch_function(torch.overrides.has_torch_function)
        )
        self._hideable[:] = self._patches[plain:]
        self._compiled.watch()
        self._patch(warnings, "showwarning", self.core.warns.showing(warnings.showwarning))
        for name in ("_exit", "abort"):
            self._patch(os, name, self._leaving(getattr(os, name)))
        _watch_forks()
        _running.append(self)
        push_mode(self._mode)

    def stop(self) -> None:
        """Take the taps off again; nothing of them stays."""
        if not self._patches:
            return
        remove(self._mode)
        self._compiled.unwatch()
        for owner, name, old, new in reversed(self._patches):
            if owner.__dict__.get(name) is new:  # else the program has put its own there, which stays
                setattr(owner, name, old)
        self._patches = []
        self.core.active = False
        if self in _running:
            _running.remove(self)
        if self._frozen:
            gc.unfreeze()
            self._frozen = False

    def _patch(self, owner: Any, name: str, new: Any) -> None:
        self._patches.append((owner, name, owner.__dict__[name], new))
        setattr(owner, name, new)

    def _leaving(self, end: Callable[..., NoReturn]) -> Callable[..., NoReturn]:
        """For what ends the process on the spot: what is pending is handed over before."""

        @functools.wraps(end)
        def leave(*args: Any, **kwargs: Any) -> NoReturn:
            if self.core.active:  # no more in a forked child
                with contextlib.suppress(Exception):
                    self.core.journal.leave()
            end(*args, **kwargs)

        return leave

    def _freeze(self) -> None:
        """Keep the collector from scanning PyTorch's whole heap again and again while the recording allocates."""
        if not gc.get_freeze_count():
            gc.freeze()
            self._frozen = True

    # ---- what is told from outside

    def header(self, **fields: Any) -> None:
        """Write the header: first of all events."""
        self.core.journal.write(
            Header(
                versions=versions(),
                devices=devices(),
                values=self.values,
                value_limit=self.value_limit,
                pid=os.getpid(),
                time=time.time(),
                rank=number("RANK"),
                world_size=number("WORLD_SIZE"),
                **fields,
            )
        )
        self.core.journal.flush()

    @guarded
    def begin(self, cell: int, file: int, origin: Any = "program") -> None:
        """A cell begins."""
        self._cells[cell] = time.perf_counter()
        self.core.journal.write(Cell(cell, file, origin))
        self.core.journal.flush()

    @guarded
    def end(self, cell: int, status: str, exit_code: int | None = None, *, final: bool = False) -> None:
        """A cell is over."""
        core = self.core
        core.journal.settle(caught=True)
        core.journal.finish_output()
        left = {"values": core.snapshots.left_out, "ops": core.journal.dropped}
        left["output"] = core.journal.printed.left_out
        if core.journal.failed and not self._told_failure:
            self._told_failure = True
            message = f"The recorder failed and stopped there; the program went on. {core.problems[0]}"
            core.journal.write(Warn("unseen", message))
        if core.journal.full and status == "ok":
            status = "limit"
        core.journal.write(
            Ended(
                cell,
                status,
                exit_code,
                {k: v for k, v in left.items() if v},
                time.perf_counter() - self._cells.get(cell, time.perf_counter()),
                final,
            )
        )
        core.journal.flush()

    @guarded
    def output(self, text: str, stream: Any = "stdout") -> None:
        """The program has printed."""
        if text:
            self.core.journal.output(text, stream)

    @guarded
    def bind(self, namespace: dict[str, Any], *, unseen: bool = True) -> None:
        """Tell what the names of a namespace mean: tensors, and the parameters of modules.

        Args:
            unseen: tell of tensors too that no recorded operation has touched.
        """
        core = self.core
        if core.journal.failed:
            return
        with Off(), core.journal.lock:
            batch: list[Event] = []
            for name, value in list(namespace.items()):
                if name.startswith("_"):
                    continue
                if isinstance(value, torch.Tensor):
                    self._bind(name, value, batch, unseen)
                elif isinstance(value, torch.nn.Module):
                    for path, parameter in value.named_parameters():
                        self._bind(path, parameter, batch, unseen)
                        self._bind(f"{name}.{path}", parameter, batch, unseen)
            core.journal.write_all(batch)
            self.unreached(namespace)

    def unreached(self, namespace: dict[str, Any]) -> None:
        """Warn of the parameters of a module that no pass has reached though some of its others were."""
        core = self.core
        for name, value in list(namespace.items()):
            if name.startswith("_") or not isinstance(value, torch.nn.Module):
                continue
            found = [(path, core.tensors.find(p)) for path, p in value.named_parameters() if p.requires_grad]
            if any(entry is not None and entry.reached for _, entry in found):
                for path, entry in found:
                    if entry is not None and not entry.reached:
                        core.journal.write_all(core.warns.unreached(entry, f"{name}.{path}"))

    def _bind(self, name: str, tensor: Any, batch: list[Event], unseen: bool) -> None:
        tensors = self.core.tensors
        if torch.nn.parameter.is_lazy(tensor):
            return
        entry = tensors.find(tensor)
        if entry is None:
            if not unseen:
                return
            entry = tensors.see(tensor, batch)
        if tensors.bound.get(name) != entry.id:
            tensors.name(entry, name, None, batch)

    @guarded
    def flush(self) -> None:
        """Hand over what is pending."""
        self.core.journal.finish_output()
        self.core.journal.flush()

    @guarded
    def close(self) -> None:
        """Hand over what is pending; the recorder takes nothing more."""
        self.core.journal.close()


def versions() -> dict[str, str]:
    """Of what made the recording."""
    try:
        own = importlib.metadata.version("gradviz")
    except importlib.metadata.PackageNotFoundError:
        own = "0"
    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "gradviz": own,
        "platform": platform.platform(terse=True),
    }


def raise_stack_limit() -> None:
    """Let the main thread's stack grow to 1 GiB.

    PyTorch frees a chain of nodes that Python has touched by recursion, and some 44,000 of them overflow the usual
    8 MiB. The limit stays raised, since the program may drop its graph later.
    """
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    want = STACK_BYTES if hard == resource.RLIM_INFINITY else min(STACK_BYTES, hard)
    if soft != resource.RLIM_INFINITY and soft < want:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_STACK, (want, hard))


@functools.cache
def _watch_forks() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forked)


def _forked() -> None:
    """A forked child is another program: it records nothing, and must not write into its parent's trace."""
    for recorder in _running:
        recorder.core.active = False
        recorder.core.journal.closed = True
        recorder.core.journal.lock = threading.RLock()
