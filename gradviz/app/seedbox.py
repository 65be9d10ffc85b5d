"""The gradient argument of a backward call on a root that is no scalar: ones, one 1, or numbers typed in."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QSpinBox, QWidget

from gradviz.app.panel import discard, inset
from gradviz.explain import Words
from gradviz.player.forms import Seed
from gradviz.player.lines import typed_error

_KINDS = ("ones", "one_hot", "typed")


class SeedBox(QWidget):
    """Emits `changed` with a `Seed` when somebody has chosen another."""

    changed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.kind = QComboBox()
        self.kind.setObjectName("code")
        self.kind.addItems(list(_KINDS))
        self.indexes: list[QSpinBox] = []
        self.typed = QLineEdit()
        self.typed.setMaximumWidth(150)
        self._shape: tuple[int, ...] = ()
        self._quiet = False
        self._names = ["", ""]
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(4)
        self._row.addWidget(self.kind)
        self._row.addWidget(self.typed)
        self.kind.currentIndexChanged.connect(self._emit)
        self.typed.textChanged.connect(self._emit)
        self._arrange()

    def retell(self, words: Words) -> None:
        """Say everything in another language."""
        self.kind.setAccessibleName(words("ui.seed.kind"))
        for k, name in enumerate(_KINDS):
            self.kind.setItemText(k, words(f"ui.seed.{name}"))
        self.typed.setAccessibleName(words("ui.seed.numbers"))
        self.typed.setPlaceholderText(words("ui.seed.example"))
        self._names = [words("ui.seed.index"), words("ui.seed.bad")]
        for box in self.indexes:
            box.setAccessibleName(self._names[0])
        self._arrange()

    def set_shape(self, shape: tuple[int, ...]) -> None:
        """The shape that the gradient must have: an index for each dimension."""
        if shape == self._shape:
            return
        kept = [box.value() for box in self.indexes]
        for box in self.indexes:
            self._row.removeWidget(box)
            discard(box)
        self._shape, self.indexes = shape, []
        for k, size in enumerate(shape[:4]):
            box = QSpinBox()
            inset(box)
            box.setRange(0, max(0, size - 1))
            box.setValue(kept[k] if k < len(kept) else 0)
            box.setAccessibleName(self._names[0])
            box.valueChanged.connect(self._emit)
            self._row.insertWidget(1 + k, box)
            self.indexes.append(box)
        self._arrange()

    def seed(self) -> Seed:
        """What is chosen."""
        kind = _KINDS[max(0, self.kind.currentIndex())]
        index = tuple(box.value() for box in self.indexes)
        if kind == "one_hot":
            return Seed("one_hot", index=index)
        if kind == "typed":
            return Seed("typed", typed=self.typed.text())
        return Seed()

    def set_seed(self, seed: Seed) -> None:
        """Show another choice; nothing is emitted."""
        if seed == self.seed():
            return
        self._quiet = True
        self.kind.setCurrentIndex(_KINDS.index(seed.kind))
        for box, value in zip(self.indexes, seed.index, strict=False):
            box.setValue(value)
        if seed.kind == "typed":
            self.typed.setText(seed.typed)
        self._quiet = False
        self._arrange()

    def _emit(self) -> None:
        self._arrange()
        if not self._quiet:
            self.changed.emit(self.seed())

    def _arrange(self) -> None:
        kind = _KINDS[max(0, self.kind.currentIndex())]
        self.typed.setVisible(kind == "typed")
        for box in self.indexes:
            box.setVisible(kind == "one_hot")
        wrong = kind == "typed" and typed_error(self.typed.text()) is not None
        self.typed.setToolTip(self._names[1] if wrong else "")
