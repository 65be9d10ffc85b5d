"""The left column: program, build forms and outline in one place, below them what was done and what was printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSplitter, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from gradviz.app.actions_panel import ActionsPanel
from gradviz.app.build import BuildPanel
from gradviz.app.console import Console
from gradviz.app.outline import Outline
from gradviz.app.output import OutputPanel
from gradviz.app.panel import Panel, differ
from gradviz.app.program import ProgramPanel
from gradviz.player.view import ViewState

if TYPE_CHECKING:
    from gradviz.app.commands import Commands

TABS = ("program", "build", "outline")


class LeftColumn(Panel):
    """Tabs on top, two lists below, the borders movable."""

    def __init__(self, commands: Commands, parent: QWidget | None = None) -> None:
        super().__init__(commands.session, parent)
        self.setObjectName("left")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.program = ProgramPanel(self.session)
        self.build = BuildPanel(self.session)
        self.outline = Outline(self.session)
        self.done = ActionsPanel(self.session)
        self.console = Console(commands)
        self.output = OutputPanel(self.session)
        self.stack = QStackedWidget()
        for panel in (self.program, self.build, self.outline):
            self.stack.addWidget(panel)
        self.tabs: dict[str, QToolButton] = {}
        head = QHBoxLayout()
        head.setContentsMargins(14, 10, 12, 4)
        head.setSpacing(14)
        for name in TABS:
            tab = QToolButton()
            tab.setObjectName("heading")
            tab.setCheckable(True)
            tab.clicked.connect(lambda checked=False, name=name: self.session.update(left=name))
            head.addWidget(tab)
            self.tabs[name] = tab
        head.addStretch(1)
        self.edit = QToolButton()
        self.edit.setObjectName("link")
        self.edit.setDefaultAction(commands["edit.program"])
        self.edit.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        head.addWidget(self.edit)
        top = QWidget()
        column = QVBoxLayout(top)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.stack, 1)
        self._boxes: list[QWidget] = []
        self._headings = {"actions": QLabel(), "output": QLabel()}
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.setHandleWidth(1)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.addWidget(top)
        self.splitter.addWidget(self._titled("actions", self.done, self.console))
        self.splitter.addWidget(self._titled("output", self.output))
        self.splitter.setSizes([380, 120, 120])
        for position, share in enumerate((6, 2, 2)):
            self.splitter.setStretchFactor(position, share)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.splitter)
        self.begin()

    def present(self, on: bool) -> None:
        """Show the program alone, for an audience."""
        for box in self._boxes:
            box.setVisible(not on)

    def _titled(self, name: str, panel: QWidget, *below: QWidget) -> QWidget:
        box = QWidget()
        self._boxes.append(box)
        column = QVBoxLayout(box)
        column.setContentsMargins(0, 0, 0, 4)
        column.setSpacing(4)
        heading = self._headings[name]
        heading.setObjectName("heading")
        head = QHBoxLayout()
        head.setContentsMargins(14, 10, 0, 0)
        head.addWidget(heading)
        column.addLayout(head)
        column.addWidget(panel, 1)
        for widget in below:
            column.addWidget(widget)
        return box

    def retell(self) -> None:
        words = self.words
        self.setAccessibleName(words("ui.left.name"))
        for name, tab in self.tabs.items():
            tab.setText(words(f"ui.left.{name}"))
            tab.setAccessibleName(words(f"ui.left.{name}"))
        for name, heading in self._headings.items():
            heading.setText(words(f"ui.left.{name}"))

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if differ(old, new, "left"):
            self.stack.setCurrentIndex(TABS.index(new.left))
            for name, tab in self.tabs.items():
                tab.setChecked(name == new.left)
            self.edit.setVisible(new.left == "program")
        if differ(old, new, "editing") and new.editing and new.left != "program":
            self.session.update(left="program")
