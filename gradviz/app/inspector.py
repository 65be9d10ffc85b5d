"""The right panel: everything about what is selected, else about the current step."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, Qt, Signal
from PySide6.QtWidgets import QPushButton, QScrollArea, QVBoxLayout, QWidget

from gradviz.actions import BY_ID
from gradviz.app.facts import Facts, tensor_of
from gradviz.app.heat import HeatTable
from gradviz.app.measuring import Measuring, What
from gradviz.app.proberows import probe_rows
from gradviz.app.rows import Row
from gradviz.app.sheet import Sheet
from gradviz.app.style import larger
from gradviz.explain import Words
from gradviz.player.subject import key_of_step, leaf_of
from gradviz.player.view import ViewState
from gradviz.scene.theme import load_theme
from gradviz.session import Session
from gradviz.trace.events import Data

_FIELDS = (
    "step",
    "revision",
    "selection",
    "theme",
    "language",
    "events",
    "live",
    "quiz",
    "engine",
    "presenter",
    "show",
)


class Inspector(QScrollArea):
    """Facts of the session's selection, a table of its numbers and its plots. `wanted` names an action, `asked` a
    target and a question of `explain.why`."""

    wanted = Signal(str)
    asked = Signal(str, str)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.element: tuple[int, ...] | None = None
        """The element of a leaf's `.grad` whose ledger is shown."""
        self.measuring = Measuring(session, self)
        self.measuring.changed.connect(self._refresh)
        self.sheet = Sheet()
        self.table = HeatTable()
        self.table.setMinimumHeight(240)
        self.open_table, self.open_plots = QPushButton(), QPushButton()
        self._plots: QWidget | None = None
        self._build()
        self.sheet.followed.connect(self._follow)
        self.sheet.chosen.connect(self._choose)
        self.sheet.pointed.connect(lambda key: session.update(hover=key))
        self.destroyed.connect(session.listen(self._changed))
        self._refresh()

    def _build(self) -> None:
        inside = QWidget()
        self._box = QVBoxLayout(inside)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(2)
        self._box.addWidget(self.sheet)
        for button, opened in ((self.open_table, self._show_table), (self.open_plots, self._show_plots)):
            button.setCheckable(True)
            button.setFlat(True)
            button.setObjectName("opens")
            button.toggled.connect(opened)
            self._box.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
            if button is self.open_table:
                self._box.addWidget(self.table)
        self._box.addStretch(1)
        self.table.hide()
        self.setWidget(inside)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setMinimumWidth(260)

    def _changed(self, old: ViewState, new: ViewState) -> None:
        if old.selection != new.selection or old.revision != new.revision:
            self.element = None
        if old.hover != new.hover:
            self.sheet.light(new.hover)
        if any(getattr(old, name) != getattr(new, name) for name in _FIELDS):
            self._refresh()

    def _refresh(self) -> None:
        view = self.session.view
        words, theme = Words(view.language), load_theme(view.theme)
        self.setAccessibleName(words("ui.inspector.name"))
        self.sheet.setAccessibleName(words("ui.inspector.name"))
        self.open_table.setText(words("ui.inspector.table"))
        self.open_plots.setText(words("ui.inspector.plots"))
        sheet = f"Inspector, Inspector > QWidget > QWidget {{ background: {theme.panel}; }}"
        if self.styleSheet() != sheet:  # all inside is styled anew, which takes longer than all else here
            self.setStyleSheet(sheet)
        self.sheet.show_rows(Facts(self.session.frame, view, self.element).rows(self._probes()), theme, larger(view))
        self.open_plots.setVisible(not view.hides)
        if self._plots is not None:
            self._plots.setVisible(self.open_plots.isChecked() and not view.hides)  # curves tell what comes
        data = self._data()
        self.open_table.setVisible(data is not None)
        self.table.setVisible(data is not None and self.open_table.isChecked())
        if self.table.isVisibleTo(self):
            self.table.show_data(data, theme, words)
        # Now, not when the loop comes to it: else the scroll bar is that of the step before.
        QCoreApplication.sendEvent(self, QEvent(QEvent.Type.LayoutRequest))

    def _probes(self) -> list[Row]:
        """What was measured of the leaf that is shown, and what can be."""
        leaf, measuring = leaf_of(self.session.trace, self.session.view), self.measuring
        if leaf is None:
            return []
        can = BY_ID["probe.difference"].when(self.session) is None
        language = self.session.view.language
        return probe_rows(self.session.trace, leaf, measuring.found, language,
                          busy=measuring.is_busy, can=can, trouble=measuring.trouble)  # fmt: skip

    def measure(self, what: What) -> None:
        """Compare the gradient of the leaf that is shown with a finite difference, or show its Jacobian."""
        leaf = leaf_of(self.session.trace, self.session.view)
        if leaf is not None:
            self.measuring.begin(what, leaf, self.element)

    def _data(self) -> Data | None:
        """The content that the table shows: the gradient of what was chosen there, else the value."""
        view, frame = self.session.view, self.session.frame
        tensor = tensor_of(view.selection or key_of_step(frame.trace, frame.step))
        if tensor is None:
            return None
        grad = frame.grad_data(tensor)
        return grad if grad is not None and self.element is not None else frame.value_data(tensor)

    def _show_table(self, _: bool) -> None:
        self._refresh()

    def _show_plots(self, wanted: bool) -> None:
        if wanted and self._plots is None:
            from gradviz.app.plots import Plots  # pyqtgraph takes 0.4 s to import

            self._plots = Plots(self.session)
            self._plots.setMinimumHeight(260)
            self._box.insertWidget(self._box.count() - 1, self._plots)
        if self._plots is not None:
            self._plots.setVisible(wanted)

    def _follow(self, go: str | int) -> None:
        if isinstance(go, str) and go.startswith("do:"):
            self.wanted.emit(go.removeprefix("do:"))
        elif isinstance(go, str) and go.startswith("why:"):
            self.asked.emit(*go.removeprefix("why:").split(" "))
        elif isinstance(go, int):
            self.session.update(step=max(0, min(go, self.session.view.steps)), alpha=1.0, playing=False)
        else:
            self.session.update(selection=go)

    def _choose(self, name: str, element: tuple[int, ...]) -> None:
        if name == "grad":
            self.element = None if self.element == element else element
            self._refresh()
