"""The two examples as forms: a change of a field writes the program anew and records it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QLabel,
    QScrollArea,
    QSpinBox,
    QStackedWidget,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QVBoxLayout,
    QWidget,
)

from gradviz.app.panel import Panel, differ, inset
from gradviz.app.seedbox import SeedBox
from gradviz.player.forms import ACTIVATIONS, DTYPES, FORMS, LARGEST, LOSSES, Accumulation, Form, OneLayer
from gradviz.player.lines import typed_error
from gradviz.player.view import ViewState
from gradviz.session import Session

WAIT_MS = 350
"""A field that is still being changed does not start a run at each of its values."""


class Choice(QComboBox):
    """A box that cuts a long word with a mark."""

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        place = self.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, self
        )
        option.currentText = self.fontMetrics().elidedText(
            self.currentText(), Qt.TextElideMode.ElideRight, place.width() - 4
        )
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        painter.end()


class FormPage(QWidget):
    """The fields of one form. Emits `changed` with the form when somebody has changed a field."""

    changed = Signal(object)

    def __init__(self, form: Form) -> None:
        super().__init__()
        self.form = form
        self.fields: dict[str, QWidget] = {}
        self._labels: dict[str, QLabel] = {}
        self._layout = QFormLayout(self)
        self._layout.setContentsMargins(14, 8, 20, 8)
        self._layout.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        self._layout.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self._quiet = False
        self.device = "cpu"

    def row(self, name: str, widget: QWidget) -> None:
        """A field with a label; what it is called follows in `retell`."""
        self.fields[name] = widget
        self._labels[name] = QLabel()
        self._labels[name].setObjectName("dim")
        self._layout.addRow(self._labels[name], widget)

    def whole(self, name: str, low: int, high: int) -> None:
        """A field for a whole number."""
        box = QSpinBox()
        inset(box)
        box.setRange(low, high)
        box.valueChanged.connect(lambda value: self._set(name, value))
        self.row(name, box)

    def real(self, name: str, low: float, high: float, step: float) -> None:
        """A field for a number."""
        box = QDoubleSpinBox()
        inset(box)
        box.setRange(low, high)
        box.setSingleStep(step)
        box.setDecimals(2)
        box.valueChanged.connect(lambda value: self._set(name, value))
        self.row(name, box)

    def choice(self, name: str, values: tuple[str, ...]) -> None:
        """A field for one of some words of PyTorch."""
        box = Choice()
        box.setObjectName("code")
        box.addItems(list(values))
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(6)
        box.setToolTip(values[0])
        box.currentTextChanged.connect(box.setToolTip)
        box.currentIndexChanged.connect(lambda k: self._set(name, values[k]))
        self.row(name, box)

    def switch(self, name: str) -> None:
        """A field for yes or no."""
        box = QCheckBox()
        box.toggled.connect(lambda value: self._set(name, value))
        self.row(name, box)

    def gradient(self, name: str) -> None:
        """A field for a gradient argument."""
        box = SeedBox()
        box.changed.connect(lambda value: self._set(name, value))
        self.row(name, box)

    def _set(self, name: str, value: Any) -> None:
        form = replace(self.form, **{name: value})
        if self._quiet or form == self.form:
            return
        self.form = form
        self._shape()
        if isinstance(form, Accumulation) and form.gradient.kind == "typed" and typed_error(form.gradient.typed):
            return
        self.changed.emit(form)

    def _shape(self) -> None:
        for box in self.fields.values():
            if isinstance(box, SeedBox) and isinstance(self.form, Accumulation):
                box.set_shape((self.form.size, self.form.size))

    def show_form(self, form: Form) -> None:
        """Show another form of the same kind; nothing is emitted."""
        self.form, self._quiet = form, True
        self._shape()
        for name, widget in self.fields.items():
            _put(widget, getattr(form, name))
        self._quiet = False

    def retell(self, words: Callable[..., str]) -> None:
        """Say everything in another language."""
        for name, label in self._labels.items():
            label.setText(words(f"ui.build.{name}"))
            self.fields[name].setAccessibleName(words(f"ui.build.{name}"))
            box = self.fields[name]
            if isinstance(box, SeedBox):
                box.retell(words)  # type: ignore[arg-type]


def _put(widget: QWidget, value: Any) -> None:
    if isinstance(widget, QSpinBox):
        widget.setValue(int(value))
    elif isinstance(widget, QDoubleSpinBox):
        widget.setValue(float(value))
    elif isinstance(widget, QCheckBox):
        widget.setChecked(bool(value))
    elif isinstance(widget, QComboBox):
        widget.setCurrentText(str(value))
    elif isinstance(widget, SeedBox):
        widget.set_seed(value)


def one_layer_page() -> FormPage:
    """The fields of the one-layer network."""
    page = FormPage(OneLayer())
    page.whole("inputs", 1, LARGEST)
    page.whole("outputs", 1, LARGEST)
    page.switch("bias")
    page.choice("activation", ACTIVATIONS)
    page.choice("loss", LOSSES)
    page.whole("seed", 0, 999_999)
    page.choice("dtype", DTYPES)
    return page


def accumulation_page() -> FormPage:
    """The fields of the accumulation example."""
    page = FormPage(Accumulation())
    page.whole("size", 1, LARGEST)
    page.real("offset", -99, 99, 1)
    page.real("power", -9, 9, 1)
    page.gradient("gradient")
    page.whole("calls", 1, 20)
    page.choice("dtype", DTYPES)
    return page


class BuildPanel(Panel):
    """Both forms, one at a time. Emits `built` with a form a little after the last change."""

    built = Signal(object)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.kind = QComboBox()
        self.kind.addItems([""] * len(FORMS))
        self.pages = [one_layer_page(), accumulation_page()]
        self.stack = QStackedWidget()
        for page in self.pages:
            self.stack.addWidget(page)
            page.show_form(page.form)
            page.changed.connect(self._changed)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(self.stack)
        self._area = area
        self.note = QLabel()
        self.note.setObjectName("dim")
        self.note.setWordWrap(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 8, 0, 0)
        top = QVBoxLayout()
        top.setContentsMargins(14, 0, 14, 0)
        top.addWidget(self.kind)
        top.addWidget(self.note)
        column.addLayout(top)
        column.addWidget(area, 1)
        self.kind.activated.connect(self._kind_chosen)
        self._due: Form | None = None
        self._timer = QTimer(self, singleShot=True, interval=WAIT_MS)
        self._timer.timeout.connect(self._build)
        self.setFocusProxy(self.kind)
        self.begin()

    def retell(self) -> None:
        words = self.words
        self.kind.setAccessibleName(words("ui.build.kind"))
        self._area.setAccessibleName(words("ui.build.name"))
        self.note.setText(words("ui.build.note"))
        for k, form in enumerate(FORMS):
            self.kind.setItemText(k, words(f"ui.example.{form.key}"))
        for page in self.pages:
            page.retell(words)

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if not differ(old, new, "program"):
            return
        form = new.program.form
        if form is None:
            return
        position = FORMS.index(type(form))
        self.kind.setCurrentIndex(position)
        self.stack.setCurrentIndex(position)
        if form != self.pages[position].form:
            self.pages[position].show_form(form)

    @property
    def is_due(self) -> bool:
        """A change waits to be built."""
        return self._due is not None

    def choose(self, position: int) -> None:
        """Take one of the examples as its form stands."""
        page = self.pages[position]
        self.stack.setCurrentIndex(position)
        self.kind.setCurrentIndex(position)
        self.built.emit(replace(page.form, device=self.session.view.device))

    def _kind_chosen(self, position: int) -> None:
        self.choose(position)

    def _changed(self, form: Form) -> None:
        self._due = form
        self._timer.start()

    def _build(self) -> None:
        form, self._due = self._due, None
        if form is not None:
            self.built.emit(replace(form, device=self.session.view.device))
