"""The gradient ledger of one leaf as a panel of its own: which element, and every write to it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QScrollArea, QSpinBox, QVBoxLayout, QWidget

from gradviz.app.facts import Facts, tensor_of
from gradviz.app.rows import Note, Row
from gradviz.app.sheet import Sheet
from gradviz.explain import Words, tensor_label
from gradviz.player.view import ViewState
from gradviz.scene.theme import load_theme
from gradviz.session import Session


class Ledger(QWidget):
    """Follows the selected leaf, else shows the one chosen in its own box."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.leaf = QComboBox()
        self.whole = QComboBox()
        self.picks: list[QSpinBox] = []
        self.sheet = Sheet()
        self._caption = QLabel()
        self._top = QHBoxLayout()
        self._top.setContentsMargins(18, 6, 18, 0)
        for widget in (self._caption, self.leaf, self.whole):
            self._top.addWidget(widget)
        self._top.addStretch(1)
        area = QScrollArea()
        area.setWidget(self.sheet)
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.addLayout(self._top)
        box.addWidget(area, 1)
        self.leaf.activated.connect(lambda _: self._leaf_chosen())
        self.whole.activated.connect(lambda _: self._refresh())
        self.sheet.followed.connect(self._follow)
        self.destroyed.connect(session.listen(self._changed))
        self._list()

    def _changed(self, old: ViewState, new: ViewState) -> None:
        if old.events != new.events or old.revision != new.revision:
            self._list()
        elif old.selection != new.selection:
            self._take_selection()
        elif (old.step, old.theme, old.language) != (new.step, new.theme, new.language):
            self._refresh()

    def _list(self) -> None:
        trace, chosen = self.session.trace, self.leaf.currentData()
        self.leaf.clear()
        for tensor in trace.names_of:
            told = trace.tensor(tensor)
            if told and told.is_leaf and told.requires_grad and tensor not in trace.grad_tensors:
                self.leaf.addItem(tensor_label(trace, tensor), tensor)
        self.leaf.setCurrentIndex(max(0, self.leaf.findData(chosen)))
        self._take_selection()

    def _take_selection(self) -> None:
        place = self.leaf.findData(tensor_of(self.session.view.selection))
        if place >= 0:
            self.leaf.setCurrentIndex(place)
        self._make_picks()
        self._refresh()

    def _leaf_chosen(self) -> None:
        self.session.update(selection=f"tensor:{self.leaf.currentData()}")
        self._make_picks()
        self._refresh()

    def _shape(self) -> tuple[int, ...]:
        tensor = self.leaf.currentData()
        told = self.session.trace.tensor(tensor) if tensor is not None else None
        return told.shape if told else ()

    def _make_picks(self) -> None:
        shape = self._shape()
        if len(self.picks) != len(shape):
            for pick in self.picks:
                pick.deleteLater()
            self.picks = [QSpinBox() for _ in shape]
            for i, pick in enumerate(self.picks):
                pick.setAccessibleName(f"dim {i}")
                self._top.insertWidget(3 + i, pick)
                pick.valueChanged.connect(lambda _: self._refresh())
        for pick, size in zip(self.picks, shape, strict=True):
            pick.setMaximum(max(0, size - 1))

    def element(self) -> tuple[int, ...] | None:
        """The element that is looked at; None for the norm of all."""
        return tuple(pick.value() for pick in self.picks) if self.whole.currentIndex() == 1 else None

    def _refresh(self) -> None:
        view = self.session.view
        words, theme = Words(view.language), load_theme(view.theme)
        self._speak(words)
        element = self.element()
        for pick in self.picks:
            pick.setVisible(element is not None)
        tensor = self.leaf.currentData()
        rows: list[Row] = [Note(words("ui.ledger.empty"))]
        if tensor is not None:
            rows = Facts(self.session.frame, view, element).ledger(tensor)
        self.sheet.show_rows(rows, theme)

    def _speak(self, words: Words) -> None:
        self._caption.setText(words("ui.ledger.leaf"))
        self._caption.setBuddy(self.leaf)
        self.setAccessibleName(words("ui.ledger.name"))
        self.sheet.setAccessibleName(words("ui.ledger.name"))
        chosen = max(0, self.whole.currentIndex())
        texts = [words("ui.ledger.norm"), words("ui.ledger.element")]
        if [self.whole.itemText(i) for i in range(self.whole.count())] != texts:
            self.whole.clear()
            self.whole.addItems(texts)
            self.whole.setCurrentIndex(chosen)

    def _follow(self, go: str | int) -> None:
        if isinstance(go, int):
            self.session.update(step=max(0, min(go, self.session.view.steps)), alpha=1.0, playing=False)
