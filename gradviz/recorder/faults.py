"""Exceptions to `Fault` events: of which known kind, at which node and line, and the facts that prove it."""

from __future__ import annotations

import re
import sys
import traceback
import types
from typing import TYPE_CHECKING

import torch

from gradviz.recorder.guard import guarded
from gradviz.recorder.source import Site, is_own
from gradviz.trace.events import Fault, Scalar, Span

if TYPE_CHECKING:
    from gradviz.recorder.core import Core
    from gradviz.recorder.nodes import Tag
    from gradviz.recorder.running import Pass
    from gradviz.recorder.tensors import Entry

_DISPATCH = torch.overrides.handle_torch_function.__code__

_MARK = "__gradviz__"

Facts = dict[str, Scalar | list[Scalar]]

_CODES: tuple[tuple[str, str], ...] = (
    ("version_mismatch", r"has been modified by an inplace operation"),
    ("freed_graph", r"backward through the graph a second time|saved (intermediate )?(values|tensors).*been freed"),
    ("non_scalar_root", r"grad can be implicitly created only for"),
    ("no_grad_path", r"element \d+ of tensors does not require grad and does not have a grad_fn"),
    ("leaf_view_inplace", r"view of a leaf Variable that requires grad is being used in an in-place"),
    ("leaf_inplace", r"leaf Variable that requires grad is being used in an in-place"),
    ("unused_input", r"differentiated Tensors?( at index \d+)? (appears to not have been used|does not require grad)"),
    ("inference_tensor", r"[Ii]nference ?[Tt]ensor|InferenceMode"),
    (
        "flag_change",
        r"can only change requires_grad flags of leaf|[Oo]nly Tensors of floating point .*dtype can require",
    ),
    ("custom_backward", r"returned an incorrect number of gradients"),
    ("grad_shape", r"Mismatch in (shape|dtype)|returned an invalid gradient|assigned grad has data of a different"),
    (
        "grad_shape",
        r"attempting to assign a gradient|got \d+ tensors and \d+ gradients|xpected .*grad.* to have .*(shape|type)",
    ),
)


class Faults:
    """Writes one `Fault` for one exception, however often it is met on its way up."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self._count = 0

    def known(self, error: BaseException) -> bool:
        """This exception was told already: it carries a mark, since its `id` may have been another's before."""
        return error.__dict__.get(_MARK) is self

    def tell(
        self,
        error: BaseException,
        site: Site | None,
        *,
        op: int | None = None,
        inputs: list[Entry] | None = None,
        run: Pass | None = None,
        tag: Tag | None = None,
    ) -> None:
        """Write the fault unless it is known. Its message is PyTorch's own, in full."""
        try:
            if self.core.active and not self.known(error):
                self._tell(error, site, op, inputs or [], run, tag)
        except Exception as problem:
            self.core.fail("telling of an error", problem)

    def _tell(
        self,
        error: BaseException,
        site: Site | None,
        op: int | None,
        inputs: list[Entry],
        run: Pass | None,
        tag: Tag | None,
    ) -> None:
        error.__dict__[_MARK] = self
        message = _message(error)
        code = _code(message)
        if code in ("other", "grad_shape") and tag is not None and tag.custom:
            code = "custom_backward"
        facts, entry = self._facts(code, message, run, tag, inputs)
        within, current = (run.id, tag) if run is not None else self.core.where()
        self.core.journal.fault(
            Fault(
                self._count,
                type(error).__name__,
                message,
                code,
                span=None if site is None else site.span,
                text="" if site is None else site.text,
                node=None if current is None else current.id,
                within=within,
                op=op,
                tensor=None if entry is None else entry.id,
                facts=facts,
                traceback=text_of(error),
            )
        )
        self._count += 1

    @guarded
    def top(self, error: BaseException, span: Span | None = None, text: str = "") -> None:
        """The exception has left the program unhandled. Where it came from is read off its traceback if not given."""
        journal = self.core.journal
        if span is None and (site := self.core.sources.raised(error)) is not None:
            span, text = site.span, site.text
        if self.known(error):
            journal.settle(caught=False)
        else:
            message = _message(error)
            journal.fault(
                Fault(
                    self._count,
                    type(error).__name__,
                    message,
                    _code(message),
                    span=span,
                    text=text,
                    traceback=text_of(error),
                )
            )
            self._count += 1
            journal.settle(caught=False)
        error.__dict__.pop(_MARK, None)

    def _facts(
        self, code: str, message: str, run: Pass | None, tag: Tag | None, inputs: list[Entry]
    ) -> tuple[Facts, Entry | None]:
        core = self.core
        if code == "freed_graph" and tag is not None:
            return core.freed_facts(tag), None
        if code == "version_mismatch":
            return self._mismatch(message, tag)
        if code == "unused_input" and run is not None:
            return self._unused(run)
        if code in ("leaf_inplace", "leaf_view_inplace", "flag_change", "inference_tensor") and inputs:
            wanted = (e for e in inputs if (e.version is None if code == "inference_tensor" else e.requires_grad))
            entry = next(wanted, inputs[0])
            return {"name": _name(entry), "shape": list(entry.shape), "is_leaf": entry.is_leaf}, entry
        if code in ("non_scalar_root", "no_grad_path", "grad_shape"):
            return self._roots(message)
        return {}, None

    def _roots(self, message: str) -> tuple[Facts, Entry | None]:
        core = self.core
        facts: Facts = {}
        shapes = re.findall(r"(?:Size\(|'|got |with )\[([\d, ]*)\]", message)
        if len(shapes) >= 2:
            facts["got"], facts["expected"] = f"[{shapes[0]}]", f"[{shapes[1]}]"
        root = core.last_root
        if root is None:
            return facts, None
        entry, shape = root
        facts["shape"] = list(shape)
        if entry is not None:
            facts["name"] = _name(entry)
        return facts, entry

    def _unused(self, run: Pass) -> tuple[Facts, Entry | None]:
        for index, (entry, nodes) in enumerate(run.wanted):
            if not any(node in run.tags for node in nodes):
                return {"index": index, "name": None if entry is None else _name(entry)}, entry
        return {}, None

    def _mismatch(self, message: str, tag: Tag | None) -> tuple[Facts, Entry | None]:
        facts: Facts = {}
        versions = re.search(r"is at version (\d+); expected version (\d+)", message)
        if versions:
            facts["version"], facts["saved_version"] = int(versions[1]), int(versions[2])
        shape = re.search(r"Tensor(?: of shape)? \[([\d, ]*)\]", message)
        if shape:
            facts["shape"] = [int(n) for n in shape[1].split(",") if n.strip()]
        if tag is None:
            return facts, None
        if tag.site is not None:
            facts["saved_at"], facts["saved_text"] = list(tag.site.span), tag.site.text
        for name, entry, store, version in tag.saved:
            tensor = entry.ref() if entry is not None else None
            now = None if tensor is None or tensor.is_inference() else tensor._version
            if version is None or (now is not None and now == version):
                continue
            if now is None and versions and version != int(versions[2]):
                continue
            facts["saved"] = name
            if entry is not None:
                facts["tensor"] = _name(entry)
            if store is not None and store.site is not None:
                facts["changed_at"], facts["changed_text"] = list(store.site.span), store.site.text
            return facts, entry
        return facts, None


def _message(error: BaseException) -> str:
    """What the exception says, at most 20,000 characters; as Python says where it cannot."""
    try:
        return _plain(str(error)[:20_000])
    except Exception:
        return "<exception str() failed>"


def _plain(text: str) -> str:
    """The text without what UTF-8 does not have."""
    return text.encode("utf-8", "backslashreplace").decode()


def _code(message: str) -> str:
    return next((code for code, pattern in _CODES if re.search(pattern, message)), "other")


def _name(entry: Entry) -> str | None:
    return min(entry.names, key=lambda n: (n.count("."), n)) if entry.names else None


def stripped(trace: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback without the recorder's own frames: what plain Python would show."""
    frames: list[types.TracebackType] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if is_own(code.co_filename):
            if (
                frames and frames[-1].tb_frame.f_code is _DISPATCH
            ):  # the call that was handed to our mode comes again below
                del frames[-2:]
        elif not code.co_filename.startswith("<frozen runpy"):
            frames.append(trace)
        trace = trace.tb_next
    result: types.TracebackType | None = None
    for item in reversed(frames):
        result = types.TracebackType(result, item.tb_frame, item.tb_lasti, item.tb_lineno)
    return result


def text_of(error: BaseException) -> str:
    """The traceback as text, at most 20,000 characters, without the recorder's frames."""
    lines = traceback.format_exception(type(error), error, stripped(error.__traceback__), chain=False, limit=-30)
    return _plain("".join(lines)[-20_000:])


def report(error: BaseException) -> None:
    """Print an unhandled exception as plain Python would, through the program's own `sys.excepthook`."""
    error.__traceback__ = stripped(error.__traceback__)
    sys.excepthook(type(error), error, error.__traceback__)
