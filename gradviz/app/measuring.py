"""Finite differences and Jacobians on demand: asks copies of the program, keeps what came out until the next run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from PySide6.QtCore import QObject, Signal

from gradviz.app.copies import Copies
from gradviz.explain.difference import Difference, Lens, Plan, judge, lens_of, lens_request, plan_of, requests
from gradviz.player.view import ViewState
from gradviz.session import Session

What = Literal["difference", "jacobian"]


class Measuring(QObject):
    """`changed` is emitted when there is something else to show."""

    changed = Signal()

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.found: Difference | Lens | None = None
        self.trouble: str | None = None
        """Why there is nothing: key below `ui.probe`."""
        self._plan: Plan | None = None
        self._what: What = "difference"
        self._copies = Copies(self)
        self._copies.done.connect(self._take)
        self.destroyed.connect(session.listen(self._heard))
        self.destroyed.connect(self._copies.close)

    @property
    def is_busy(self) -> bool:
        """Copies are running."""
        return self._copies.is_busy

    def begin(self, what: What, tensor: int, element: tuple[int, ...] | None) -> None:
        """Measure the gradient of a leaf as it stands at the session's step."""
        trace, view = self.session.trace, self.session.view
        plan = plan_of(trace, tensor, element, view.step)
        self.found, self.trouble, self._what = None, None, what
        if isinstance(plan, str):
            self.trouble = plan
            self.changed.emit()
            return
        self._plan = plan
        program = replace(view.program, text=trace.header.source)
        count, spec = (3, lambda paths: requests(plan, paths)) if what == "difference" else (
            1, lambda paths: [lens_request(plan, paths[0])])  # fmt: skip
        self._copies.ask(program, view.device, view.actions, count, spec)
        self.changed.emit()

    def _take(self, _ticket: int, answers: list[dict[str, Any] | None]) -> None:
        if self._plan is None:
            return
        if self._what == "difference":
            self.found = judge(self._plan, answers)
        else:
            self.found = lens_of(self._plan, answers[0])
            self.trouble = None if self.found is not None else "large" if answers[0] else "failed_plain"
        self.changed.emit()

    def _heard(self, old: ViewState, new: ViewState) -> None:
        if old.revision != new.revision:
            self._copies.close()
            self.found, self.trouble, self._plan = None, None, None
