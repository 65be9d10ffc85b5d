"""A tensor as a table of coloured numbers: any two axes of it, the others by index, copied as Python or CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QBrush
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSpinBox,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from gradviz.app.paint import color, font
from gradviz.app.panel import discard
from gradviz.explain import Words
from gradviz.scene.heat import paint
from gradviz.scene.theme import Theme, contrast, load_theme
from gradviz.trace.events import Data
from gradviz.trace.values import NotCaptured, number, thumbnail, to_numpy

Array = npt.NDArray[Any]
Index = QModelIndex | QPersistentModelIndex


class _Model(QAbstractTableModel):
    """A matrix; colours are worked out for the cells that are looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.values: Array = np.zeros((0, 0))
        self.scale = 0.0
        self.theme: Theme = load_theme("light")

    def take(self, values: Array, scale: float, theme: Theme) -> None:
        self.beginResetModel()
        self.values, self.scale, self.theme = values, scale, theme
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else int(self.values.shape[0])

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else int(self.values.shape[1])

    def headerData(self, section: int, way: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        return str(section) if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        value = self.values[index.row(), index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return _text(value)
        if role == Qt.ItemDataRole.ToolTipRole:
            return repr(value.item())
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignCenter
        if role in (Qt.ItemDataRole.BackgroundRole, Qt.ItemDataRole.ForegroundRole):
            ground = paint(
                np.abs(value).reshape(1) if np.iscomplexobj(value) else np.asarray([value], np.float64),
                self.theme,
                self.scale,
            )[0][0]
            if role == Qt.ItemDataRole.BackgroundRole:
                return QBrush(color(ground))
            return QBrush(color(max((self.theme.text, self.theme.panel), key=lambda c: contrast(c, ground))))
        return None


def _text(value: Any) -> str:
    if isinstance(value, np.complexfloating):
        return f"{number(float(value.real))}{'+' if value.imag >= 0 else ''}{number(float(value.imag))}j"
    return str(value) if value.dtype.kind in "biu" else number(float(value))


class HeatTable(QWidget):
    """Shows one tensor's content; `show_data` gives it another."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.array: Array | None = None
        self._theme, self._words = load_theme("light"), Words("en")
        self._data: Data | None = None
        self._shown = False
        self.model = _Model()
        self.view = QTableView()
        self.view.setModel(self.model)
        self.view.setFont(font("mono", 11, 400))
        self.view.horizontalHeader().setDefaultSectionSize(64)
        self.view.verticalHeader().setDefaultSectionSize(22)
        self.view.setEditTriggers(QTableView.EditTrigger.NoEditTriggers)
        self.rows_axis, self.columns_axis = QComboBox(), QComboBox()
        self.picks: list[QSpinBox] = []
        self.note = QLabel()
        self.note.setWordWrap(True)
        self.python, self.csv = QPushButton(), QPushButton()
        self._build()

    def _build(self) -> None:
        self._axes = QHBoxLayout()
        self._axes.setContentsMargins(0, 0, 0, 0)
        self._captions = [QLabel(), QLabel()]
        for label, box in zip(self._captions, (self.rows_axis, self.columns_axis), strict=True):
            label.setBuddy(box)
            self._axes.addWidget(label)
            self._axes.addWidget(box)
            box.activated.connect(self._axis_chosen)
        self._axes.addStretch(1)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        for button, copy in ((self.python, self.as_python), (self.csv, self.as_csv)):
            buttons.addWidget(button)
            button.clicked.connect(lambda _=False, copy=copy: QApplication.clipboard().setText(copy()))
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 4, 18, 8)
        column.addLayout(self._axes)
        column.addWidget(self.view, 1)
        column.addWidget(self.note)
        column.addLayout(buttons)

    def show_data(self, data: Data | None, theme: Theme, words: Words) -> None:
        """Show this content; the axes chosen stay as long as the shape does."""
        same = data is not None and self._data is not None and data.shape == self._data.shape
        if self._shown and data is self._data and theme is self._theme and words is self._words:
            return
        self._data, self._theme, self._words, self._shown = data, theme, words, True
        self._speak()
        self.array, said = self._read(data)
        self.note.setText(said)
        self.note.setVisible(bool(said))
        if not same or len(self.picks) != max(0, (self.array.ndim if self.array is not None else 0) - 2):
            self._make_axes()
        self._slice()

    def _speak(self) -> None:
        words = self._words
        self.view.setAccessibleName(words("ui.heat.table"))
        for label, key in zip(self._captions, ("rows", "columns"), strict=True):
            label.setText(words(f"ui.heat.{key}"))
        self.python.setText(words("ui.heat.copy_python"))
        self.csv.setText(words("ui.heat.copy_csv"))

    def _read(self, data: Data | None) -> tuple[Array | None, str]:
        if data is None:
            return None, self._words("ui.heat.none")
        try:
            return to_numpy(data), ""
        except NotCaptured:
            picture = thumbnail(data)
            key = "ui.heat.missing" if picture is None else "ui.heat.means"
            return picture, self._words(key, reason=data.missing or "?")

    def _make_axes(self) -> None:
        for pick in self.picks:
            self._axes.removeWidget(pick)
            discard(pick)
        count = self.array.ndim if self.array is not None else 0
        for box, chosen in ((self.rows_axis, count - 2), (self.columns_axis, count - 1)):
            box.clear()
            box.addItems([f"dim {i}" for i in range(count)])
            box.setCurrentIndex(max(0, chosen))
            box.setVisible(count > 2)
        for label in self._captions:
            label.setVisible(count > 2)
        self.picks = [QSpinBox() for _ in range(max(0, count - 2))]
        for i, pick in enumerate(self.picks):
            self._axes.insertWidget(4 + i, pick)
            pick.valueChanged.connect(lambda _: self._slice())
        self._limit_picks()

    def _others(self) -> list[int]:
        count = self.array.ndim if self.array is not None else 0
        return [i for i in range(count) if i not in (self.rows_axis.currentIndex(), self.columns_axis.currentIndex())]

    def _limit_picks(self) -> None:
        for pick, axis in zip(self.picks, self._others(), strict=False):
            assert self.array is not None
            pick.setPrefix(f"dim {axis}: ")
            pick.setMaximum(max(0, self.array.shape[axis] - 1))
            pick.setAccessibleName(f"dim {axis}")

    def _axis_chosen(self) -> None:
        rows, columns = self.rows_axis.currentIndex(), self.columns_axis.currentIndex()
        if rows == columns and self.array is not None:
            other = self.columns_axis if self.sender() is self.rows_axis else self.rows_axis
            other.setCurrentIndex((rows + 1) % self.array.ndim)
        self._limit_picks()
        self._slice()

    def matrix(self) -> Array:
        """The slice that is shown, always two-dimensional."""
        array = self.array
        if array is None:
            return np.zeros((0, 0))
        if array.ndim < 2:
            return array.reshape(1, -1)
        if array.ndim == 2:
            return array
        rows, columns = self.rows_axis.currentIndex(), self.columns_axis.currentIndex()
        index: list[Any] = [slice(None)] * array.ndim
        for pick, axis in zip(self.picks, self._others(), strict=True):
            index[axis] = pick.value()
        cut: Array = array[tuple(index)]
        return cut if rows < columns else cut.T

    def _slice(self) -> None:
        magnitudes = np.abs(self.array[np.isfinite(self.array)]) if self.array is not None else np.zeros(0)
        self.model.take(self.matrix(), float(magnitudes.max()) if magnitudes.size else 0.0, self._theme)

    def as_python(self) -> str:
        """The slice as nested lists that Python reads back exactly."""
        array = self.array if self.array is not None and self.array.ndim < 2 else self.matrix()
        return repr(array.tolist()).replace("nan", "float('nan')").replace("inf", "float('inf')")

    def as_csv(self) -> str:
        """The slice as comma-separated values, shortest text that reads back exactly."""
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(self.matrix().tolist())
        return out.getvalue()
