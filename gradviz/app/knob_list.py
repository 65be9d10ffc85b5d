"""The numbers and switches of the program, each with what turns it. A change runs the program again."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QCheckBox, QDoubleSpinBox, QGridLayout, QLabel, QSlider, QWidget

from gradviz.app.code import mono
from gradviz.app.panel import Panel, clear, differ, inset
from gradviz.player.knobs import Knob, knobs, span, turned
from gradviz.player.view import ViewState
from gradviz.session import Session

WAIT_MS = 350
"""After the last change, so that a slider in motion does not start a run for each number on its way."""
TICKS = 200
SNIPPET = 36


class KnobList(Panel):
    """One row for each place; `turned` carries the new text."""

    turned = Signal(str)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.rows: list[tuple[Knob, QDoubleSpinBox | QCheckBox, QSlider | None]] = []
        self._text = ""
        self._shown: str | None = None
        self._timer = QTimer(self, singleShot=True, interval=WAIT_MS)
        self._timer.timeout.connect(self._emit)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(0, 1)
        self.begin()

    @property
    def is_due(self) -> bool:
        """A change waits to be run."""
        return self._timer.isActive()

    def retell(self) -> None:
        self._shown = None
        self._fill(self.session.view.program.text)

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if differ(old, new, "program", "comparing") and new.comparing:
            self._fill(new.program.text)

    def _fill(self, text: str) -> None:
        """Rows anew, unless they are what was turned to get this text: then the slider in a person's hand stays."""
        if text == self._shown or self._timer.isActive():
            return
        self._text = self._shown = text
        clear(self._grid)
        self.rows = []
        for place, knob in enumerate(knobs(text)):
            self._add(place, knob, text)

    def _add(self, place: int, knob: Knob, text: str) -> None:
        said = snippet(text, knob)
        label = QLabel(said)
        label.setFont(mono(11))
        label.setToolTip(self.words("ui.compare.line", line=knob.line))
        self._grid.addWidget(label, 2 * place, 0, 1, 2)
        if knob.is_switch:
            box = QCheckBox(knob.name)
            box.setObjectName("code")
            box.setChecked(bool(knob.value))
            box.setAccessibleName(f"{said} {knob.name}")
            box.toggled.connect(partial(self._turn, place))
            self._grid.addWidget(box, 2 * place + 1, 0, 1, 2)
            self.rows.append((knob, box, None))
            return
        low, high = span(knob)
        number = QDoubleSpinBox()
        inset(number)
        whole = isinstance(knob.value, int)
        number.setDecimals(0 if whole else 6)
        number.setRange(-1e9, 1e9)
        number.setSingleStep(1 if whole else max(1e-6, abs(float(knob.value)) / 10))
        number.setValue(float(knob.value))
        number.setAccessibleName(said)
        number.setFixedWidth(110)
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setRange(0, min(TICKS, round(high - low)) if whole else TICKS)
        slider.setValue(round((float(knob.value) - low) / (high - low) * slider.maximum()))
        slider.setAccessibleName(said)
        slider.valueChanged.connect(lambda tick: number.setValue(low + (high - low) * tick / slider.maximum()))
        number.valueChanged.connect(partial(self._turn, place))
        self._grid.addWidget(slider, 2 * place + 1, 0)
        self._grid.addWidget(number, 2 * place + 1, 1)
        self.rows.append((knob, number, slider))

    def _turn(self, place: int, value: float | bool) -> None:
        self._timer.start()

    def _emit(self) -> None:
        """The text with all that was turned since it was read, the last places first, so that the others stay put."""
        text = self._text
        for knob, widget, _ in reversed(self.rows):
            value = widget.isChecked() if isinstance(widget, QCheckBox) else widget.value()
            if value != knob.value:
                text = turned(text, knob, value)
        if text != self.session.view.program.text:
            self._shown = text
            self.turned.emit(text)


def snippet(text: str, knob: Knob) -> str:
    """The line that a knob stands in, a box in its place, cut around it."""
    start = text.rfind("\n", 0, knob.start) + 1
    end = text.find("\n", knob.end)
    before, after = text[start : knob.start].lstrip(), text[knob.end : end if end >= 0 else len(text)]
    room = SNIPPET - 1
    keep = max(room * 2 // 3, room - len(after))
    before = before if len(before) <= keep else "…" + before[-keep + 1 :]
    after = after if len(after) <= room - len(before) else after[: max(0, room - len(before) - 1)] + "…"
    return f"{before}▢{after}"
