"""The card "Run with": which Python, in which folder, with which arguments, and what the program reads."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gradviz.app.code import mono
from gradviz.app.interpreters import Interpreter, Report, find, name_of
from gradviz.app.palette import Overlay
from gradviz.app.probe import Prober, once, sentence
from gradviz.app.setups import remember
from gradviz.explain import Words
from gradviz.player.setup import Setup, split

if TYPE_CHECKING:
    from gradviz.app.port import WindowPort

PATH_ROLE = int(Qt.ItemDataRole.UserRole)
WIDE, TALL = 620, 560


class SetupPage(Overlay):
    """Lies over the window until Run, Cancel or Escape. Nothing changes before Run."""

    def __init__(self, port: WindowPort, window: QWidget) -> None:
        super().__init__(window)
        self._port = port
        self.prober = Prober(self)
        self.prober.told.connect(self._told)
        self._known: list[Interpreter] = []
        self.labels = {name: QLabel() for name in ("title", "python", "folder", "arguments", "reads")}
        self.labels["title"].setObjectName("title")
        self.list = QListWidget()
        self.list.setMinimumHeight(150)
        self.list.currentRowChanged.connect(self._show_problem)
        self.other, self.browse, self.copy = QPushButton(), QPushButton(), QPushButton()
        self.path, self.problem = QLabel(), QLabel()
        self.path.setObjectName("dim")
        self.problem.setWordWrap(True)
        self.line = QLineEdit()
        self.line.setReadOnly(True)
        self.folder, self.arguments, self.reads = QLineEdit(), QLineEdit(), QPlainTextEdit()
        self.wrong = QLabel()
        self.wrong.setWordWrap(True)
        self.cancel, self.run = QPushButton(), QPushButton()
        self.run.setObjectName("primary")
        for field in (self.line, self.arguments, self.folder, self.reads):
            field.setFont(mono(12))
        self.reads.setObjectName("field")
        self.reads.setTabChangesFocus(True)
        self.reads.setMinimumHeight(48)
        self._lay_out()
        self.other.clicked.connect(self._choose_other)
        self.browse.clicked.connect(self._choose_folder)
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.line.text()))
        self.cancel.clicked.connect(self.dismiss)
        self.run.clicked.connect(self._run)
        self.list.itemActivated.connect(lambda _: self._run())
        for edit in (self.folder, self.arguments):
            edit.returnPressed.connect(self._run)

    def _lay_out(self) -> None:
        grid = QGridLayout()
        grid.setVerticalSpacing(8)
        for row, name in enumerate(("python", "folder", "arguments", "reads")):
            grid.addWidget(self.labels[name], row * 2, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.list, 0, 1)
        grid.addWidget(self.other, 0, 2, Qt.AlignmentFlag.AlignTop)
        mend = QHBoxLayout()
        mend.addWidget(self.line, 1)
        told = QVBoxLayout()
        told.setSpacing(4)
        told.addWidget(self.path)
        told.addWidget(self.problem)
        told.addLayout(mend)
        grid.addLayout(told, 1, 1)
        grid.addWidget(self.copy, 1, 2, Qt.AlignmentFlag.AlignBottom)
        grid.addWidget(self.folder, 2, 1)
        grid.addWidget(self.browse, 2, 2)
        grid.addWidget(self.arguments, 4, 1, 1, 2)
        grid.addWidget(self.reads, 6, 1, 1, 2)
        grid.setRowStretch(0, 3)
        grid.setRowStretch(6, 1)
        buttons = QHBoxLayout()
        buttons.addWidget(self.wrong, 1)
        buttons.addWidget(self.cancel)
        buttons.addWidget(self.run)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 14, 18, 14)
        column.setSpacing(10)
        column.addWidget(self.labels["title"])
        column.addLayout(grid, 1)
        column.addLayout(buttons)

    @property
    def _words(self) -> Words:
        return self._port.words

    @property
    def _setup(self) -> Setup:
        return self._port.session.view.program.setup

    # ---- showing

    def open(self, field: str = "python") -> None:
        """Show what the program is run with, the cursor in one of "python", "folder", "arguments", "reads"."""
        self._retell()
        setup, program = self._setup, self._port.session.view.program
        self.folder.setText(setup.folder)
        self.folder.setPlaceholderText(str(Path(program.path).resolve().parent) if program.path else str(Path.cwd()))
        self.arguments.setText(setup.arguments)
        self.reads.setPlainText(setup.reads)
        self.wrong.clear()
        self._known = find(program.path, os.environ, Path.home())
        if setup.python and setup.python not in (known.path for known in self._known):
            self._known.append(Interpreter(setup.python, "chosen", name_of(setup.python)))
        self._fill(setup.python or sys.executable)
        self.bring(WIDE, TALL)
        {"python": self.list, "folder": self.folder, "arguments": self.arguments, "reads": self.reads}[field].setFocus()
        self.prober.ask(*(known.path for known in self._known), again=True)

    def _retell(self) -> None:
        words = self._words
        self.setAccessibleName(words("ui.setup.title"))
        for name, label in self.labels.items():
            label.setText(words(f"ui.setup.{name}"))
        named = {"python": self.list, "folder": self.folder, "arguments": self.arguments, "reads": self.reads}
        for name, widget in named.items():
            widget.setAccessibleName(words(f"ui.setup.{name}"))
        self.arguments.setPlaceholderText("--lr 0.1")
        self.reads.setPlaceholderText(words("ui.setup.reads_hint"))
        self.line.setAccessibleName(words("ui.setup.line"))
        for name in ("other", "browse", "copy", "cancel", "run"):
            button = getattr(self, name)
            button.setText(words(f"ui.setup.{name}"))
            button.setAccessibleName(words(f"ui.setup.{name}"))

    def _fill(self, chosen: str) -> None:
        self.list.clear()
        for known in self._known:
            item = QListWidgetItem(self._described(known))
            item.setData(PATH_ROLE, known.path)
            item.setToolTip(known.path)
            self.list.addItem(item)
            if known.path == chosen:
                self.list.setCurrentItem(item)
        if self.list.currentRow() < 0:
            self.list.setCurrentRow(0)
        self._show_problem()

    def _described(self, known: Interpreter) -> str:
        words, report = self._words, self.prober.reports.get(known.path)
        if report is None:
            has = words("ui.setup.checking")
        elif report.problem == "broken":
            has = words("ui.setup.no_python")
        elif report.problem == "python_old":
            has = f"Python {report.python} · {words('ui.setup.too_old')}"
        elif report.torch:
            has = f"Python {report.python} · torch {report.torch}"
        else:
            has = f"Python {report.python} · {words('ui.setup.no_torch')}"
        mark = "✖ " if report is not None and report.problem else ""
        kind = words(f"ui.setup.kind.{known.kind}")
        return f"{mark}{known.name} · {has} · {kind}"

    def _told(self, path: str, report: object) -> None:
        for row, known in enumerate(self._known):
            if known.path == path and (item := self.list.item(row)) is not None:
                item.setText(self._described(known))
                if row == self.list.currentRow():
                    self._show_problem()

    def _show_problem(self, row: int = -1) -> None:
        """What keeps the chosen one from running the program, and the line that mends it."""
        path = self._chosen()
        shown = self.path.fontMetrics().elidedText(path, Qt.TextElideMode.ElideMiddle, WIDE - 200)
        self.path.setText(shown)
        report = self.prober.reports.get(path, Report())
        self.problem.setText(sentence(self._words, report))
        self.problem.setVisible(bool(report.problem))
        self.line.setText(report.line)
        self.line.setCursorPosition(0)
        for widget in (self.line, self.copy):
            widget.setVisible(bool(report.line))

    def _chosen(self) -> str:
        item = self.list.currentItem()
        return str(item.data(PATH_ROLE)) if item is not None else sys.executable

    # ---- changing

    def _choose_other(self) -> None:
        path = self._port.ask_path("python", "", saving=False)
        if path:
            if path not in (known.path for known in self._known):
                self._known.append(Interpreter(path, "chosen", name_of(path)))
            self._fill(path)
            self.list.scrollToBottom()
            self.prober.ask(path, again=True)

    def _choose_folder(self) -> None:
        path = self._port.ask_path("folder", self.folder.text(), saving=False)
        if path:
            self.folder.setText(path)

    def _run(self) -> None:
        words, folder = self._words, self.folder.text().strip()
        python = self._chosen()
        setup = Setup(
            "" if python == sys.executable else python, folder, self.arguments.text(), self.reads.toPlainText()
        )
        try:
            split(setup.arguments)
        except ValueError:
            self.wrong.setText(words("ui.setup.quotes"))
            return
        if folder and not Path(folder).is_dir():
            self.wrong.setText(words("ui.setup.no_folder"))
            return
        program = self._port.session.view.program
        remember(program.path, setup)
        self.dismiss()
        self._port.session.update(program=replace(program, setup=setup))
        self._port.run_program()

    def explain(self, detail: str) -> None:
        """The recorder could not start: say what its Python lacks, if that is why, else what it said itself."""

        def tell(report: Report) -> None:
            if report.problem:
                self._port.offer(lambda words: _explained(words, report), "ui.setup.choose", self.open)
            else:
                key = "ui.banner.start" if detail else "ui.banner.start_unknown"
                self._port.tell(key, warn=True, again=True, detail=detail)

        once(self.prober, self._setup.python or sys.executable, tell)


def _explained(words: Words, report: Report) -> str:
    told = sentence(words, report)
    return words("ui.setup.type", sentence=told, line=report.line) if report.line else told
