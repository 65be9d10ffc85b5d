"""Be the engine: the nodes of a pass to pick from, what arrives, and a line for the result that a person works out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gradviz.app.paint import color
from gradviz.app.panel import Panel, differ
from gradviz.explain import node_label, rule, tensor_label, value_text
from gradviz.explain.asking import Asker
from gradviz.explain.labels import joined, one_line, saved_data
from gradviz.player.engine import Game, Task, answer, finish, is_over, pick, plan_of, run_of, task
from gradviz.player.view import ViewState
from gradviz.trace.values import number, shape_text

if TYPE_CHECKING:
    from gradviz.session import Session

NODE = int(Qt.ItemDataRole.UserRole)
MOST_SAVED, SHOWN = 4, 8
"""So many saved tensors are listed, those of up to so many elements in full."""


class EnginePanel(Panel):
    """Visible while a person is the engine. A node is picked here by keyboard, or by a click on the canvas."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._game: Game | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 14, 12)
        column.setSpacing(8)
        self.title, self.call, self.intro = self._label("title"), self._label("mono"), self._label("dim")
        self.list = QListWidget()
        self.list.setObjectName("code")
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.itemActivated.connect(self._activated)
        self.list.itemClicked.connect(self._activated)
        self.message = QFrame()
        inside = QVBoxLayout(self.message)
        inside.setContentsMargins(12, 6, 10, 6)
        self.said = self._label("")
        inside.addWidget(self.said)
        self.arrives, self.rule, self.asks = self._label("mono"), self._label("mono"), self._label("title")
        self.line = QLineEdit()
        self.line.returnPressed.connect(self._check)
        self.check, self.skip, self.leave = QPushButton(), QPushButton(), QPushButton()
        self.check.setObjectName("primary")
        self.check.clicked.connect(self._check)
        self.skip.clicked.connect(self._skip)
        self.leave.clicked.connect(session.leave_engine)
        buttons = QHBoxLayout()
        buttons.addWidget(self.check)
        buttons.addWidget(self.skip)
        buttons.addStretch(1)
        self.tally = self._label("dim")
        self._asked = QWidget()
        asked = QVBoxLayout(self._asked)
        asked.setContentsMargins(0, 0, 0, 0)
        asked.setSpacing(6)
        for widget in (self.arrives, self.rule, self.asks, self.line):
            asked.addWidget(widget)
        asked.addLayout(buttons)
        for widget in (self.title, self.call, self.intro):
            column.addWidget(widget)
        column.addWidget(self.list, 1)
        column.addWidget(self.message)
        column.addWidget(self._asked)
        column.addWidget(self.tally)
        column.addWidget(self.leave, 0, Qt.AlignmentFlag.AlignLeft)
        self.setFocusProxy(self.list)
        self.hide()
        self.begin()

    def _label(self, style: str) -> QLabel:
        label = QLabel()
        label.setObjectName(style)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label

    # ---- hands

    def _activated(self, item: QListWidgetItem) -> None:
        node = item.data(NODE)
        if isinstance(node, int):
            self.session.move_engine(lambda trace, game: pick(trace, game, node))
            self.session.update(selection=f"node:{node}")

    def _check(self) -> None:
        text = self.line.text()
        if text.strip():
            self.session.move_engine(lambda trace, game: answer(trace, game, text))
        else:
            self._skip()

    def _skip(self) -> None:
        self.session.move_engine(finish)

    def _clicked_on_canvas(self, key: str | None) -> None:
        game = self.session.view.engine
        node = None if game is None or key is None else self._node_of(game, key)
        if node is not None and game is not None and node not in (game.picked, game.tried):
            self.session.move_engine(lambda trace, now: pick(trace, now, node))

    def _node_of(self, game: Game, key: str) -> int | None:
        """The node that a selection means: a leaf's card is its AccumulateGrad, an operation's the node that is next
        among those it left behind."""
        trace, plan = self.session.trace, plan_of(self.session.trace, game.within)
        kind, _, ident = key.partition(":")
        if not ident.isdigit():
            return None
        found = [int(ident)] if kind == "node" else []
        if kind == "op" and int(ident) < len(trace.ops):
            found = [n for n in reversed(trace.ops[int(ident)].nodes) if n in plan]
        elif kind in ("tensor", "leaf"):
            found = [n for n in plan if trace.nodes[n].leaf == int(ident)]
        return next((n for n in found if n not in game.done), found[0] if found else None)

    # ---- what it says

    def retell(self) -> None:
        words = self.words
        self.setAccessibleName(words("ui.engine.title"))
        self.title.setText(words("ui.engine.title"))
        self.intro.setText(words("ui.engine.intro"))
        self.list.setAccessibleName(words("ui.engine.list"))
        self.line.setAccessibleName(words("ui.engine.line"))
        self.line.setPlaceholderText(words("ui.engine.placeholder"))
        for button, key in ((self.check, "check"), (self.skip, "skip"), (self.leave, "leave")):
            button.setText(words(f"ui.engine.{key}"))
            button.setAccessibleName(words(f"ui.engine.{key}"))
        self._game = None

    def refresh(self, old: ViewState | None, new: ViewState) -> None:
        if old is not None and new.engine is not None and old.selection != new.selection:
            self._clicked_on_canvas(new.selection)
            new = self.session.view
        if new.engine is None:
            self._game = None
            self.setVisible(False)
        elif new.engine != self._game or differ(old, new, "language", "theme"):
            fresh = self._game is None or self._game.within != new.engine.within
            before, self._game = self._game, new.engine
            self._tell(new.engine)
            self.setVisible(True)
            self._point(before, new.engine, fresh=fresh)

    def _point(self, before: Game | None, game: Game, *, fresh: bool) -> None:
        """The keys go to where the next thing is to be done."""
        if game.picked is not None and (before is None or before.picked != game.picked):
            self.line.clear()
            self.line.setFocus(Qt.FocusReason.OtherFocusReason)
        elif fresh or (before is not None and before.picked is not None and game.picked is None):
            self.list.setFocus(Qt.FocusReason.OtherFocusReason)

    def _name(self, node: int) -> str:
        return Asker(self.session.trace, 0, self.session.view.language).node(node)

    def _tell(self, game: Game) -> None:
        trace, words = self.session.trace, self.words
        call = trace.passes[game.within]
        self.call.setText(one_line(call.text))
        self.call.setVisible(bool(call.text))
        self.intro.setVisible(not game.done)
        self._fill(game)
        self._judge(game)
        asked = task(trace, game)
        self._asked.setVisible(asked is not None)
        if asked is not None:
            self._ask(game, asked)
        over = is_over(trace, game)
        said = words("ui.engine.tally", done=len(game.done), count=len(plan_of(trace, game.within)),
                     right=game.right, answered=game.answered, refused=game.refused)  # fmt: skip
        self.tally.setText(said)
        self.leave.setText(words("ui.engine.finish" if over else "ui.engine.leave"))

    def _fill(self, game: Game) -> None:
        """All nodes in the order in which they were born: that is nobody's order of running."""
        trace, theme = self.session.trace, self.theme
        nodes = sorted(plan_of(trace, game.within))
        if [self.list.item(k).data(NODE) for k in range(self.list.count())] != nodes:
            self.list.clear()
            for node in nodes:
                item = QListWidgetItem()
                item.setData(NODE, node)
                self.list.addItem(item)
        for k, node in enumerate(nodes):
            item, done = self.list.item(k), node in game.done
            mark = f"{game.done.index(node) + 1}. " if done else "▸ " if node == game.picked else "   "
            item.setText(mark + self._name(node))
            item.setForeground(color(theme.text_faint if done else theme.text))
            if node == (game.picked if game.picked is not None else game.tried):
                self.list.setCurrentRow(k)

    def _judge(self, game: Game) -> None:
        text, style = self._verdict(game)
        self.message.setVisible(bool(text))
        self.said.setText(text)
        self.message.setObjectName(style)
        for widget in (self.message, self.said):
            widget.style().unpolish(widget)
            widget.style().polish(widget)
        self.setAccessibleDescription(text)

    def _verdict(self, game: Game) -> tuple[str, str]:
        """What is said about the last move, and whether it was a good one."""
        words, trace = self.words, self.session.trace
        if game.raised is not None:
            return words("ui.engine.raises", node=self._name(game.raised)), "bad"
        if game.refusal and game.tried is not None:
            names = joined([self._name(n) for n in game.missing[:3]], self.session.view.language)
            return words(f"ui.engine.refused_{game.refusal}", node=self._name(game.tried), missing=names), "bad"
        if is_over(trace, game):
            same = list(game.done) == trace.order(game.within)
            return words("ui.engine.over_same" if same else "ui.engine.over_other"), "good"
        verdict = game.verdict
        if verdict is not None:
            said = words(f"ui.engine.{verdict.grade}", difference=number(verdict.difference))
            return said, "good" if verdict.grade in ("exact", "close") else "bad"
        if game.picked is not None and game.other is not None:
            return words("ui.engine.legal", node=self._name(game.picked), other=self._name(game.other)), "good"
        return "", ""

    def _ask(self, game: Game, asked: Task) -> None:
        trace, words, language = self.session.trace, self.words, self.session.view.language
        run = run_of(trace, game.within, asked.node)
        came = ", ".join(value_text(data) for data in run.gin) if run else ""
        self.arrives.setText(words("ui.engine.arrives", gradient=came))
        element = f"[{', '.join(map(str, asked.place))}]" if asked.place else ""
        if asked.leaf is not None:
            name = tensor_label(trace, asked.leaf)
            old = trace.at(self.session.view.step).grad_data(asked.leaf)
            self.rule.setText(words("ui.engine.before", name=name, value=value_text(old)))
            self.asks.setText(words("ui.engine.ask_leaf", name=f"{name}.grad{element}"))
            return
        view, edges = rule(trace, asked.node, language), trace.nodes[asked.node].edges
        edge = next(i for i, (target, _) in enumerate(edges) if target == asked.target)
        rows = view.rows[edge : edge + 1] if len(view.rows) == len(edges) else view.rows
        self.rule.setText("\n".join([*(f"{name}: {text}" for name, text, _ in rows), *self._saved(asked.node)]))
        target = node_label(trace, asked.target) if asked.target is not None else ""
        key = "ui.engine.ask_element" if element else "ui.engine.ask"
        shape = shape_text(asked.data.shape)
        self.asks.setText(words(key, target=target, element=element, shape=shape))

    def _saved(self, node: int) -> list[str]:
        """What the node kept for its rule, with its numbers."""
        lines = []
        for saved in self.session.trace.nodes[node].saved[:MOST_SAVED]:
            kept = saved.kind == "tensor"
            data = saved_data(self.session.trace, node, saved, self.session.view.step) if kept else None
            if data is not None:
                lines.append(f"{saved.name} = {value_text(data, SHOWN)}")
            elif saved.kind == "scalar" and saved.text and "_sym_" not in saved.name:
                lines.append(f"{saved.name} = {saved.text}")
        return lines
