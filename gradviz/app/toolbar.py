"""The bar on top: where we are in time, what can be done next, and what it is done on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLabel, QMenu, QToolButton, QWidget

from gradviz.actions import BY_ID
from gradviz.app.icons import icon
from gradviz.app.panel import Panel, differ
from gradviz.app.seedbox import SeedBox
from gradviz.app.style import BAR
from gradviz.player.forms import FORMS
from gradviz.player.view import SPEEDS, ViewState
from gradviz.trace.events import Device
from gradviz.trace.values import number

if TYPE_CHECKING:
    from gradviz.app.commands import Commands

LEVELS = 5
"""Ways to draw the bar, each narrower than the one before."""
LONGEST_ROOT = 8
DEVICE_ROLE = int(Qt.ItemDataRole.UserRole)


class ActionButton(QToolButton):
    """A button for an action with a text and an icon of its own: what it says is short, what the menu says is not."""

    def __init__(self, action: QAction, style: str) -> None:
        super().__init__()
        self.setObjectName(style)
        self.setIconSize(QSize(14, 14))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._action = action
        self.clicked.connect(action.trigger)
        action.changed.connect(self.follow)
        self.follow()

    def follow(self) -> None:
        """Enabled, tooltip and name as the action has them."""
        self.setEnabled(self._action.isEnabled())
        self.setToolTip(self._action.toolTip())
        self.setAccessibleName(self._action.iconText())


class Toolbar(Panel):
    """Buttons of the actions, the gradient argument, the device."""

    example = Signal(int)
    """Position in `FORMS` of the example that was asked for."""
    recent = Signal(str)
    device = Signal(str)

    def __init__(self, commands: Commands, parent: QWidget | None = None) -> None:
        super().__init__(commands.session, parent)
        self._commands = commands
        self._buttons: list[tuple[ActionButton, str]] = []
        self._gradient_needed = False
        self.recent_files: tuple[str, ...] = ()
        self.setObjectName("bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(BAR)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(14, 0, 14, 0)
        self._row.setSpacing(6)
        self.home = self._plain("logo")
        self.home.setIconSize(QSize(28, 28))
        self.home.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = QMenu(self.home)
        self.home.setMenu(self._menu)
        self.name = QToolButton()
        self.name.setObjectName("name")
        self.name.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._names = QMenu(self.name)
        self._names.setToolTipsVisible(True)
        self._names.aboutToShow.connect(self._fill_names)
        self.name.setMenu(self._names)
        self._row.addWidget(self.name)
        self._row.addStretch(1)
        self._add_play()
        self._rule()
        self._add_live()
        self._row.addStretch(2)
        self.devices = QComboBox()
        self.devices.setObjectName("code")
        self.devices.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.devices.setIconSize(QSize(0, 0))
        self.devices.setMinimumContentsLength(len("CPU"))  # its width is to stay when the devices become known
        self.devices.activated.connect(self._device_chosen)
        self._row.addWidget(self.devices)
        self.theme_button = self._button("view.theme", "plain", text=False)
        self.theme_button.setIconSize(QSize(18, 18))
        self.language_button = self._button("view.language", "plain")
        self.language_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.begin()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def fit(self) -> None:
        """Leave words out until everything fits: nothing is cut, and what is left out is in the menus."""
        for level in range(LEVELS):
            self._narrow(level)
            self._row.invalidate()
            if self._row.sizeHint().width() <= self.width():
                break

    def _narrow(self, level: int) -> None:
        style, root = Qt.ToolButtonStyle, self.session.root
        both = style.ToolButtonTextBesideIcon if level < 1 else style.ToolButtonIconOnly
        for button in (self.previous, self.play, self.next):
            button.setToolButtonStyle(both)
        short = root is None or len(root.name) > LONGEST_ROOT or level >= 2
        self.backward.setText(".backward()" if short or root is None else f"{root.name}.backward()")
        self.gradient_label.setVisible(self._gradient_needed and level < 2)
        self.creates.setVisible(level < 3)
        self.speed.setVisible(level < 4)
        self.name.setMaximumWidth(240 if level < 4 else 120)

    # ---- parts

    def _plain(self, name: str) -> QToolButton:
        button = QToolButton()
        button.setObjectName("plain")
        button.setIconSize(QSize(18, 18))
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        if name:
            button.setIcon(icon(name, self.theme.text))
        self._row.addWidget(button)
        return button

    def _button(self, ident: str, style: str = "box", *, text: bool = True) -> ActionButton:
        button = ActionButton(self._commands[ident], style)
        both = Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        button.setToolButtonStyle(both if text else Qt.ToolButtonStyle.ToolButtonIconOnly)
        self._row.addWidget(button)
        self._buttons.append((button, BY_ID[ident].icon))
        return button

    def _rule(self) -> None:
        self._row.addSpacing(4)
        line = QWidget()
        line.setObjectName("line")
        line.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        line.setFixedSize(1, 24)
        self._row.addWidget(line)
        self._row.addSpacing(4)

    def _add_play(self) -> None:
        self.first = self._button("step.first", text=False)
        self.previous = self._button("step.previous")
        self.play = self._button("play.toggle", "primary")
        self.next = self._button("step.next")
        self.next.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        self.last = self._button("step.last", text=False)
        self.speed = QToolButton()
        self.speed.setObjectName("plain")
        self.speed.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.speed)
        for value in SPEEDS:
            menu.addAction(f"{number(value)}×").triggered.connect(partial(self._set_speed, value))
        self.speed.setMenu(menu)
        self._row.addWidget(self.speed)

    def _set_speed(self, value: float, checked: bool = False) -> None:
        self.session.update(speed=value)

    def _add_live(self) -> None:
        self.stop = self._button("run.stop", text=False)
        self.backward = self._button("run.backward", "backward")
        self.backward.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.retains = self._switch("option.retain_graph", "retain_graph")
        self.creates = self._switch("option.create_graph", "create_graph")
        self.gradient_label = QLabel()
        self.gradient_label.setObjectName("dim")
        self._row.addWidget(self.gradient_label)
        self.gradient = SeedBox()
        self.gradient.changed.connect(lambda seed: self.session.update(seed=seed))
        self._row.addWidget(self.gradient)
        self.zero = QToolButton()
        self.zero.setObjectName("code")
        self.zero.setText("grad.zero_()")
        self.zero.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._zeros = QMenu(self.zero)
        self._zeros.setToolTipsVisible(True)
        self._zeros.aboutToShow.connect(self.fill_zeros)
        self.zero.setMenu(self._zeros)
        self._row.addWidget(self.zero)
        self.forward = self._button("run.forward", text=False)

    def _switch(self, ident: str, text: str) -> QCheckBox:
        box = QCheckBox(text)
        box.setObjectName("code")
        action = self._commands[ident]
        box.clicked.connect(action.trigger)
        box.setAccessibleName(text)
        self._row.addWidget(box)
        return box

    # ---- menus that depend on the recording

    def fill_zeros(self) -> None:
        """All leaves, then each one; `.grad` zeroed, then taken away. What cannot be done now says why."""
        self._zeros.clear()
        for ident, form in (("grad.zero", "{}.grad.zero_()"), ("grad.none", "{}.grad = None")):
            self._zeros.addAction(self._commands[ident])
            for leaf in self.session.leaves:
                entry = self._zeros.addAction(form.format(leaf.name))
                entry.triggered.connect(partial(self._zero_one, ident, leaf.name))
                if self._commands.reason(ident) or not leaf.has_grad:
                    entry.setEnabled(False)
                    entry.setToolTip(self._commands.reason(ident) or self.words("ui.reason.no_grad_here"))
            self._zeros.addSeparator()

    def _zero_one(self, ident: str, name: str, checked: bool = False) -> None:
        self._commands.trigger(ident, name)

    def _fill_names(self) -> None:
        menu, words = self._names, self.words
        menu.clear()
        for k, form in enumerate(FORMS):
            menu.addAction(words(f"ui.example.{form.key}")).triggered.connect(partial(self._example, k))
        menu.addSeparator()
        menu.addAction(self._commands["lesson.open"])
        menu.addAction(self._commands["file.open"])
        if self.recent_files:
            menu.addSection(words("ui.toolbar.recent"))
        for path in self.recent_files:
            entry = QAction(path.replace("\\", "/").rpartition("/")[2], menu)
            entry.setToolTip(path)
            entry.triggered.connect(partial(self._recent, path))
            menu.addAction(entry)

    def _example(self, position: int, checked: bool = False) -> None:
        self.example.emit(position)

    def _recent(self, path: str, checked: bool = False) -> None:
        self.recent.emit(path)

    # ---- devices

    def _fill_devices(self) -> None:
        box, words = self.devices, self.words
        known = self.session.trace.header.devices or (Device("cpu"),)
        model = QStandardItemModel(box)
        chosen = 0
        for k, device in enumerate(known):
            spec = device_spec(device)
            item = QStandardItem(spec.upper())
            item.setData(spec, DEVICE_ROLE)
            item.setToolTip(device.name or spec)
            if not device.available:
                item.setEnabled(False)
                reason = device.reason or words("ui.toolbar.absent")
                item.setText(f"{spec.upper()}: {reason}")
                item.setToolTip(reason)
            elif spec == self.session.view.device:
                chosen = k
            model.appendRow(item)
        box.setModel(model)
        box.setCurrentIndex(chosen)
        box.setMaximumWidth(96)
        box.view().setMinimumWidth(max(96, box.view().sizeHintForColumn(0) + 24))

    def _device_chosen(self, row: int) -> None:
        spec = self.devices.itemData(row, DEVICE_ROLE)
        if spec and spec != self.session.view.device:
            self.device.emit(spec)

    # ---- kept in step

    def retell(self) -> None:
        words = self.words
        self.setAccessibleName(words("ui.toolbar.name"))
        self._commands.fill(self._menu)
        self.home.setAccessibleName(words("ui.toolbar.menu"))
        self.home.setToolTip(words("ui.toolbar.menu"))
        self.name.setAccessibleName(words("ui.toolbar.program"))
        self.name.setToolTip(words("ui.toolbar.program"))
        for button in (self.previous, self.next):
            button.setText(words("ui.toolbar.step"))
        self.speed.setAccessibleName(words("ui.toolbar.speed"))
        self.speed.setToolTip(words("ui.toolbar.speed"))
        self.gradient_label.setText(words("ui.toolbar.gradient"))
        self.gradient.retell(words)
        self.zero.setAccessibleName(words("ui.toolbar.zero"))
        self.zero.setToolTip(words("ui.toolbar.zero"))
        self.devices.setAccessibleName(words("ui.toolbar.device"))
        self.devices.setToolTip(words("ui.toolbar.device"))
        self.language_button.setText("EN" if self.session.view.language == "zh" else "中")
        self._fill_devices()

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        words = self.words
        if differ(old, new, "program", "language", "lesson"):
            self.name.setText(shown_name(new, words))
        if differ(old, new, "language", "playing"):
            self.play.setText(words("ui.toolbar.pause" if new.playing else "ui.toolbar.play"))
        if differ(old, new, "speed"):
            self.speed.setText(f"{number(new.speed)}×")
        if differ(old, new, "retain_graph", "create_graph"):
            self.retains.setChecked(new.retain_graph)
            self.creates.setChecked(new.create_graph)
        if differ(old, new, "theme", "playing", "language"):
            self._recolor(new)
        if differ(old, new, "revision", "live", "device"):
            self._fill_devices()
        if differ(old, new, "live", "events", "revision"):
            self._refresh_live(new)
        if differ(old, new, "seed"):
            self.gradient.set_seed(new.seed)
        if differ(
            old, new, "program", "language", "playing", "speed", "live", "seed", "presenter", "revision", "events"
        ):
            self.fit()

    def _refresh_live(self, view: ViewState) -> None:
        running = view.running
        self.stop.setVisible(running)
        if running:
            return
        root = self.session.root
        self._gradient_needed = root is not None and not root.scalar
        self.gradient.setVisible(self._gradient_needed)
        self.gradient.set_shape(root.shape if root else ())

    def _recolor(self, view: ViewState) -> None:
        theme = self.theme
        for button, name in self._buttons:
            button.setIcon(icon(name, theme.text, theme.text_faint))
        name = "pause" if view.playing else "play"
        self.play.setIcon(icon(name, theme.accent_text, theme.text_faint))
        self.home.setIcon(icon("logo", theme.text))


def device_spec(device: Device) -> str:
    """As PyTorch writes it: "cpu", "cuda:0"."""
    return device.type if device.index is None else f"{device.type}:{device.index}"


def shown_name(view: ViewState, words: object) -> str:
    """The name for a title: a lesson's or an example's in the language of now, else the file's."""
    form = view.program.form
    if view.lesson is not None:
        return view.lesson.titles[view.language]
    if form is not None and callable(words):
        return str(words(f"ui.example.{form.key}"))
    return view.program.name or "gradviz"
