"""What all taps of one recording share: the journal, the tables of tensors and nodes, and where each thread is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from gradviz.recorder.faults import Facts, Faults
from gradviz.recorder.journal import Journal
from gradviz.recorder.nodes import Nodes, Tag
from gradviz.recorder.rules import rule
from gradviz.recorder.snapshot import Snapshots
from gradviz.recorder.source import Sources
from gradviz.recorder.tensors import Entry, Tensors
from gradviz.recorder.warns import Warns
from gradviz.trace.events import Event, Span

if TYPE_CHECKING:
    from gradviz.recorder.probing import Probe
    from gradviz.recorder.running import Pass

_C: Any = torch._C
task_id: Callable[[], int] = _C._current_graph_task_id
current_node: Callable[[], Any] = _C._current_autograd_node
tracing = _C._get_tracing_state
_overrides: Any = torch.overrides
mode_stack: Callable[[], list[Any]] = _overrides._get_current_function_mode_stack
push_mode: Callable[[Any], None] = _overrides._push_mode
pop_mode: Callable[[], Any] = _overrides._pop_mode
Off = _C.DisableTorchFunction
"""Context in which the recorder reads tensors: neither the program's modes nor tensor subclasses see it."""


class _Local(threading.local):
    scope: int | None = None
    hidden: int = 0
    had_mode: bool = False
    unseen: bool = False
    since: int = 0
    """The sequence number that the next node would have had when the operation at hand began."""
    implicit: tuple[bool, ...] | None = None


class Core:
    """One recording's state. `active` is False before start, after stop, in forked children, beyond a cap, and after
    a failure of the recorder's own."""

    def __init__(
        self, sink: Callable[[bytes], object], values: str, limit: int, max_events: int, max_bytes: int
    ) -> None:
        self.active = False
        self.probe: Probe | None = None
        """What measures in a copy of a program that was recorded before; None in every recording."""
        self.snapshots = Snapshots(values, limit)
        self.journal = Journal(sink, self.snapshots, max_events, max_bytes, self._full)
        self.sources = Sources(self.journal.trailing)
        self.nodes = Nodes(self.journal.gone, self._tell_rule)
        self.tensors = Tensors(self.snapshots, self.nodes.walk)
        self.nodes.tensors = self.tensors
        self.faults = Faults(self)
        self.local = _Local()
        self.warns = Warns(self)
        self.tasks: dict[int, Pass] = {}
        self.open: list[Pass] = []
        """The passes that run now, the innermost last."""
        self.passes: list[tuple[Span | None, str]] = []
        """Place and text of each pass so far."""
        self.last_root: tuple[Entry | None, tuple[int, ...]] | None = None
        self.problems: list[str] = []
        """What went wrong inside the recorder itself; the program never sees it."""
        self._threads: dict[int, int] = {}

    def thread(self) -> int:
        """A small number for this thread, in first-seen order."""
        ident = threading.get_ident()
        known = self._threads.get(ident)
        if known is None:
            known = self._threads[ident] = len(self._threads)
        return known

    def where(self) -> tuple[int | None, Tag | None]:
        """The pass and the node that this thread is running, in device threads and nested passes too. To be asked by
        those who are about to tell of something: the node's beginning is told before it."""
        task = task_id()
        if task == -1:
            return None, None
        node = current_node()
        tag = None if node is None else self.nodes.tag(node)
        run = self.run_of(task, tag)
        if run is None:
            return None, tag
        if tag is not None:
            run.enter(tag, self.journal.begun)
        return run.id, tag

    def run_of(self, task: int, tag: Tag | None) -> Pass | None:
        """The pass that an engine task belongs to: known since one of its nodes was met, in whatever thread."""
        run = self.tasks.get(task)
        if run is None and tag is not None:
            run = next((p for p in reversed(self.open) if p.task is None and tag.id in p.tags), None)
            if run is not None:
                run.task = task
                self.tasks[task] = run
        return run

    def freed_facts(self, tag: Tag) -> Facts:
        """Who let go what a node had saved."""
        facts: Facts = {"saved": [name for name, *_ in tag.saved]}
        if tag.freed is not None:
            span, text = self.passes[tag.freed]
            facts |= {"freed_by": tag.freed, "freed_text": text}
            if span is not None:
                facts["freed_at"] = list(span)
        return facts

    def fail(self, where: str, error: BaseException) -> None:
        """The recorder itself went wrong, so that nothing it would tell from here on could be trusted: recording ends,
        its end says why, and the program goes on unchanged. Safe where the stack or the memory is used up."""
        self.active = False
        self.journal.failed = True
        if len(self.problems) < 100:
            self.problems.append(f"{where}: {type(error).__name__}: {error}"[:300])

    def _full(self) -> None:
        self.active = False

    def _tell_rule(self, name: str, batch: list[Event]) -> None:
        found = rule(name)
        if found is not None:
            batch.append(found)
