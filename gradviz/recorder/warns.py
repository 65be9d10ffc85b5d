"""Where PyTorch is silent and something is wrong, and the warnings that it does give, told at the user's own line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from gradviz.recorder.source import Site, is_own
from gradviz.recorder.tensors import Entry
from gradviz.trace.events import Data, Event, Warn

if TYPE_CHECKING:
    from gradviz.recorder.core import Core

INF, NAN = 1, 2
_MOST = 20
_LOSSES = frozenset(("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "poisson_nll_loss", "gaussian_nll_loss"))
_DISPATCH = torch.overrides.handle_torch_function.__code__


def is_loss(name: str) -> bool:
    """A function that compares two tensors element by element."""
    return name in _LOSSES


def badness(data: Data | None) -> int:
    """0, or `INF`, or `NAN`: the worst that a content holds."""
    return 0 if data is None else NAN if data.nan else INF if data.inf else 0


class Warns:
    """Makes `Warn` events; of each code at most a few, since a diverged program would fill the recording with them."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self._told: dict[str, int] = {}
        self._places: set[tuple[str, str, int]] = set()

    def not_finite(
        self, before: int, now: int, site: Site | None, *, op: int | None = None, tensor: int | None = None
    ) -> list[Event]:
        """The first NaN or infinity: this operation made it out of finite inputs."""
        if now <= before:
            return []
        code = "nan" if now == NAN else "inf"
        what = "NaN" if now == NAN else "an infinity"
        return self._warn(code, f"This operation is the first to give {what}.", site, op=op, tensor=tensor)

    def gradient_not_finite(self, before: int, now: int, name: str, node: int, within: int) -> list[Event]:
        """The same of a node's run."""
        if now <= before:
            return []
        code, what = ("nan", "NaN") if now == NAN else ("inf", "an infinity")
        return self._warn(code, f"{name} turned finite gradients into {what}.", None, node=node, within=within)

    def loss(self, name: str, inputs: Sequence[Entry], site: Site | None, op: int) -> list[Event]:
        """A loss between tensors of different shapes: PyTorch repeats one of them, which is seldom meant."""
        if len(inputs) < 2 or inputs[0].shape == inputs[1].shape:
            return []
        first, second = inputs[0].shape, inputs[1].shape
        message = f"The loss compares shapes {first} and {second}, one of which is repeated to fit the other."
        return self._warn("broadcast_loss", message, site, op=op, facts={"input": str(first), "target": str(second)})

    def not_marked_dirty(self, entry: Entry, site: Site | None, op: int) -> list[Event]:
        """A custom Function wrote to an input and did not say so: the graph does not know of it."""
        message = "A custom Function changed its input in place without ctx.mark_dirty: gradients ignore the change."
        return self._warn("data_edit", message, site, op=op, tensor=entry.id, facts={"mark_dirty": False})

    def unseen(self, what: str, site: Site | None) -> list[Event]:
        """A region that cannot be looked into; told once for each place."""
        key = what, "" if site is None else site.text, 0 if site is None else site.span[1]
        if key in self._places:
            return []
        self._places.add(key)
        return self._warn("unseen", what, site)

    def unreached(self, entry: Entry, name: str) -> list[Event]:
        """A parameter to which no pass has brought a gradient."""
        if entry.warned:
            return []
        entry.warned = True
        return self._warn("unreached_parameter", f"No pass reached the parameter {name}.", None, tensor=entry.id)

    def _warn(self, code: str, message: str, site: Site | None, **fields: Any) -> list[Event]:
        told = self._told[code] = self._told.get(code, 0) + 1
        if told > _MOST:
            return []
        span, text = (None, "") if site is None else (site.span, site.text)
        return [Warn(code, message, span, text, **fields)]

    # ---- warnings that Python gives

    def showing(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """`warnings.showwarning` that tells of a warning, and names the line that plain Python would name."""

        def showwarning(
            message: Any, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
        ) -> Any:
            place = filename, lineno
            try:
                if is_own(filename) or filename == _DISPATCH.co_filename:
                    place = _caller(filename, lineno)
                    _forget()
                    key = str(message), *place
                    if key in self._places:
                        return None
                    self._places.add(key)
                self._shown(message, category)
            except Exception as error:
                self.core.fail("a warning", error)
            return real(message, category, *place, file, line)

        return showwarning

    def _shown(self, message: Any, category: type[Warning]) -> None:
        core = self.core
        site, _ = core.sources.here(2)
        if core.active:
            span, text = (None, "") if site is None else (site.span, site.text)
            core.journal.trailing(
                Warn("python", str(message)[:4000], span, text, facts={"category": category.__name__})
            )


def _caller(filename: str, lineno: int) -> tuple[str, int]:
    """The nearest frame that plain Python would have: not the recorder's nor that of PyTorch's dispatch to it."""
    frame: Any = sys._getframe(2)
    while frame is not None and not is_own(frame.f_code.co_filename):
        frame = frame.f_back
    while frame is not None and (is_own(frame.f_code.co_filename) or frame.f_code is _DISPATCH):
        frame = frame.f_back
    return (filename, lineno) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _forget() -> None:
    """Python remembers in the module at hand which warnings it has shown; that must not be one of ours."""
    for name, module in list(sys.modules.items()):
        if name.startswith("gradviz.recorder"):
            registry = getattr(module, "__warningregistry__", None)
            if registry is not None:
                registry.clear()
