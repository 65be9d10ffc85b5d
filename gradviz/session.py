"""The one place where state lives: recording and view. Panels listen to it and keep nothing themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

from gradviz.player.lines import Leaf, Root, default_root, leaves
from gradviz.player.query import Hits, find
from gradviz.player.view import ViewState
from gradviz.trace import Frame, Trace
from gradviz.trace.codec import AnyItem

Listener = Callable[[ViewState, ViewState], None]


class Session:
    """A recording, a view on it, and who wants to know when the view changes.

    Every change, the growth of the recording included (`view.steps`, `view.revision`), is a change of `view`.
    """

    def __init__(self, view: ViewState | None = None) -> None:
        self.trace = Trace()
        self.view = view or ViewState()
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Have `listener(old, new)` called after every change. Returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def update(self, **changes: Any) -> None:
        """Replace fields of the view. Listeners hear of it once, and only if something differs."""
        self.show(replace(self.view, **changes))

    def show(self, view: ViewState) -> None:
        """Make `view` the view."""
        old, self.view = self.view, view
        if old != view:
            if old.step != view.step:
                self.__dict__.pop("frame", None)
            if (old.step, old.search) != (view.step, view.search):
                self.__dict__.pop("hits", None)
            for listener in tuple(self._listeners):
                listener(old, view)

    def begin(self, trace: Trace, *, step: int = 0) -> None:
        """Take another recording."""
        self.trace = trace
        self._forget()
        self.update(
            revision=self.view.revision + 1,
            steps=trace.steps,
            events=len(trace.events),
            step=max(0, min(step, trace.steps)),
            alpha=1.0,
            playing=False,
            selection=None,
            hover=None,
        )

    def append(self, events: Iterable[AnyItem]) -> None:
        """Let the recording grow."""
        self.trace.extend(events)
        self._forget()
        self.update(steps=self.trace.steps, events=len(self.trace.events))

    @cached_property
    def frame(self) -> Frame:
        """The recording at the view's step."""
        return self.trace.at(self.view.step)

    @cached_property
    def hits(self) -> Hits:
        """What the view's search finds at its step, worked out once for all panels; empty where it searches nothing."""
        return find(self.frame, self.view.search) if self.view.search.strip() else Hits()

    @cached_property
    def root(self) -> Root | None:
        """Where the next backward pass begins if nobody says otherwise."""
        return default_root(self.trace)

    @cached_property
    def leaves(self) -> list[Leaf]:
        """Leaves that a line of Python can reach, as things stand at the end of the recording."""
        return leaves(self.trace)

    def _forget(self) -> None:
        """The recording is another or has grown: what was worked out from it holds no more."""
        for name in ("frame", "hits", "root", "leaves"):
            self.__dict__.pop(name, None)
