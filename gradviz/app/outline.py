"""The recording as a tree of modules, operations and nodes: the canvas for the keyboard and for screen readers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QPersistentModelIndex, QPoint, Qt, QTimer
from PySide6.QtGui import QBrush, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QLabel, QStackedLayout, QTreeView, QWidget

from gradviz.app.paint import color, font
from gradviz.explain import Words, tensor_label
from gradviz.player.subject import key_of_step
from gradviz.player.view import ViewState
from gradviz.scene.theme import Theme, load_theme
from gradviz.session import Session
from gradviz.trace import Trace
from gradviz.trace.events import Op
from gradviz.trace.values import number, shape_text

Index = QModelIndex | QPersistentModelIndex
REBUILD_MS = 150
PAUSE_EVERY = 256
SLICE_SECONDS = 0.02


@dataclass(slots=True)
class Item:
    """A line of the tree. `nodes` are all that it holds, those of what is inside included."""

    key: str
    text: str
    token: str
    detail: str = ""
    parent: Item | None = None
    row: int = 0
    children: list[Item] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)

    def add(self, item: Item) -> Item:
        """Put an item in, at the end."""
        item.parent, item.row = self, len(self.children)
        self.children.append(item)
        return item


def tree_of(trace: Trace) -> Item:
    """Leaves first, then modules and operations in order of time, each operation with the nodes it left behind."""
    root = Item("", "", "text")
    for _ in grow_tree(trace, root):
        pass
    return root


def grow_tree(trace: Trace, root: Item) -> Iterator[None]:
    """Fill `root`, with a pause now and then for other work."""
    leaves = Item("leaves", "", "leaf")
    of_leaf: dict[int, Item] = {}
    for tensor in trace.names_of:
        told = trace.tensor(tensor)
        if told and told.is_leaf and told.requires_grad and tensor not in trace.grad_tensors:
            item = Item(f"tensor:{tensor}", tensor_label(trace, tensor), "leaf", shape_text(told.shape))
            of_leaf[tensor] = leaves.add(item)
    if leaves.children:
        root.add(leaves)
    open_: dict[int, Item] = {}
    holders: dict[int, Item] = {}
    for op in trace.ops:
        if not op.quiet or op.nodes:
            _put_op(trace, op, open_, holders, root)
        if op.id % PAUSE_EVERY == PAUSE_EVERY - 1:
            yield
    for node in trace.nodes:
        if node.leaf in of_leaf:
            of_leaf[node.leaf].nodes.append(node.id)


def _put_op(trace: Trace, op: Op, open_: dict[int, Item], holders: dict[int, Item], root: Item) -> None:
    """The line of an operation. Those inside which it ran are told after it, and made before it."""
    if op.id in holders:
        return
    chain = [op.id]
    while (outer := trace.outer_op.get(chain[-1])) is not None and outer not in holders:
        chain.append(outer)
    for ident in reversed(chain):
        told, outer = trace.ops[ident], trace.outer_op.get(ident)
        base, stop = (root, None) if outer is None else (holders[outer], trace.ops[outer].scope)
        item = _scope(trace, told.scope, open_, base, stop).add(
            Item(f"op:{ident}", _op_text(trace, told), "forward", _op_detail(trace, told))
        )
        if ident != op.id:
            holders[ident] = item
        _put_nodes(trace, told, item)


def _put_nodes(trace: Trace, op: Op, item: Item) -> None:
    born = [n for n in op.nodes if n < len(trace.nodes)]
    for node in born:
        item.add(Item(f"node:{node}", trace.nodes[node].name, "gradient", nodes=[node]))
    over: Item | None = item
    while over is not None:
        over.nodes += born
        over = over.parent


def _scope(trace: Trace, scope: int | None, open_: dict[int, Item], base: Item, stop: int | None) -> Item:
    """The line of a module's call, made together with those around it where it is not there yet; `base` stands in the
    scope `stop`."""
    missing: list[int] = []
    while scope not in (None, stop) and scope not in open_ and scope in trace.scopes:
        missing.append(scope)
        scope = trace.scopes[scope].parent
    place = open_.get(scope, base) if scope is not None and scope != stop else base
    for ident in reversed(missing):
        told = trace.scopes[ident]
        name = (told.path.rpartition(".")[2] or told.cls) if told.path else told.cls
        place = open_[ident] = place.add(Item(f"scope:{ident}", name, "text", told.cls if told.path else ""))
    return place


def _op_text(trace: Trace, op: Op) -> str:
    names = [name for t in op.outputs if (name := trace.name(t))]
    return f"{op.name} → {', '.join(names)}" if names else op.name


def _op_detail(trace: Trace, op: Op) -> str:
    made = trace.tensor(op.outputs[0]) if op.outputs else None
    return shape_text(made.shape) if made else ""


class OutlineModel(QAbstractItemModel):
    """The tree for Qt. The second column tells the state at the session's step, asked when it is painted."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.root = Item("", "", "text")
        self.of_key: dict[str, Item] = {}
        self.hits: frozenset[str] = frozenset()

    def take(self, root: Item) -> None:
        """Show another tree."""
        self.beginResetModel()
        self.root = root
        self.of_key = {}
        self.endResetModel()

    def item(self, key: str) -> Item | None:
        """The line of a key. Looked for by name once, then kept."""
        if not self.of_key:
            open_ = [self.root]
            while open_:
                item = open_.pop()
                self.of_key[item.key] = item
                open_ += item.children
        return self.of_key.get(key)

    def find(self, key: str | None) -> QModelIndex:
        """Where a selection key is; nowhere for an unknown one."""
        if not key:
            return QModelIndex()
        kind, _, rest = key.partition(":")
        ident = rest.partition("@")[0]
        item = self.item(f"tensor:{ident}" if kind in ("leaf", "result", "tensor") else key)
        if item is None and kind in ("result", "tensor", "leaf") and ident.isdigit():
            told = self.session.trace.tensor(int(ident))
            item = self.item(f"op:{told.op}") if told and told.op is not None else None
        return self.createIndex(item.row, 0, item) if item is not None and item is not self.root else QModelIndex()

    # ---- Qt

    def _item(self, index: Index) -> Item:
        return index.internalPointer() if index.isValid() else self.root

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        """The line `row` inside `parent`."""
        children = self._item(parent).children
        return self.createIndex(row, column, children[row]) if 0 <= row < len(children) else QModelIndex()

    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        """The line around a line."""
        over = self._item(index).parent
        return QModelIndex() if over is None or over is self.root else self.createIndex(over.row, 0, over)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Lines inside a line."""
        return len(self._item(parent).children) if parent.column() <= 0 else 0

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Name and state."""
        return 2

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, tooltip, colour and font of a line."""
        item = self._item(index)
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            words = Words(self.session.view.language)
            name = words("ui.outline.leaves") if item.key == "leaves" else item.text
            if role == Qt.ItemDataRole.ToolTipRole:
                return f"{name}  {item.detail}\n{self.state(item)}".strip()
            return name if index.column() == 0 else self.state(item) or item.detail
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{item.text} {item.detail} {self.state(item)}"
        theme = load_theme(self.session.view.theme)
        if role == Qt.ItemDataRole.ForegroundRole:
            return QBrush(color(self._ink(item, index.column(), theme)))
        if role == Qt.ItemDataRole.FontRole:
            current = item.key in self._now()
            if index.column() == 0:
                return font("mono", 12, 700 if current or item.key in self.hits else 400)
            return font("sans", 11, 400)
        if role == Qt.ItemDataRole.BackgroundRole and item.key in self._now():
            return QBrush(color(theme.current_line))
        return None

    def _ink(self, item: Item, column: int, theme: Theme) -> str:
        if column == 1:
            return theme.text_dim
        if self.hits and item.key not in self.hits and not item.children:
            return theme.text_faint
        return theme.color(item.token)

    def _now(self) -> tuple[str, ...]:
        event = self.session.frame.event
        node = getattr(event, "node", None)
        key = key_of_step(self.session.trace, self.session.view.step) or ""
        return (key, f"node:{node}") if isinstance(node, int) else (key,)

    def state(self, item: Item) -> str:
        """What a line says about the step: state of a node, how many have run, norm of a leaf's `.grad`."""
        frame, words = self.session.frame, Words(self.session.view.language)
        if item.key.startswith("tensor:"):
            grad = frame.grad_data(int(item.key[7:]))
            return ".grad None" if grad is None else f"‖∇‖ {number(grad.norm)}" if grad.norm is not None else ""
        if item.key.startswith("node:"):
            return words("ui.inspector.state." + frame.status(item.nodes[0]).replace(" ", "_"))
        if not item.nodes:
            return ""
        done = int((frame.last_run[item.nodes] >= 0).sum())
        return words("ui.outline.ran", done=f"{done:,}", count=f"{len(item.nodes):,}") if done else ""


class Outline(QWidget):
    """The tree; its current line is the session's selection."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.model = OutlineModel(session)
        self.tree = QTreeView()
        self.tree.setModel(self.model)
        self.tree.setHeaderHidden(True)
        self.tree.setUniformRowHeights(True)
        self.tree.setFrameShape(QTreeView.Shape.NoFrame)
        self.tree.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.tree.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        header = self.tree.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Fixed)
        header.resizeSection(1, 116)
        self.empty = QLabel()
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setMargin(24)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.tree)
        self.setFocusProxy(self.tree)
        self._late = QTimer(self)
        self._late.setSingleShot(True)
        self._late.setInterval(REBUILD_MS)
        self._late.timeout.connect(self._rebuild)
        self._slices = QTimer(self)
        self._slices.setInterval(0)
        self._slices.timeout.connect(self._slice)
        self._work: Iterator[None] | None = None
        self._making = Item("", "", "text")
        self._stale = False
        self._showing = False
        selection = self.tree.selectionModel()
        selection.currentChanged.connect(self._current)
        self.destroyed.connect(session.listen(self._changed))
        self._rebuild()

    def _changed(self, old: ViewState, new: ViewState) -> None:
        if (old.hides, old.language) != (new.hides, new.language):
            self._settle()
        if old.revision != new.revision:
            self._rebuild()
        elif old.events != new.events:
            self._late.start()
        if old.selection != new.selection:
            self._select()
        if old.search != new.search or (new.search and old.step != new.step):
            self._find()
        if (old.step, old.theme, old.language, old.search) != (new.step, new.theme, new.language, new.search):
            self._speak()
            self.tree.viewport().update()

    def _rebuild(self) -> None:
        """Read the recording again, in slices; hidden, only once it is shown."""
        self._stale = not self.isVisible() and self.session.view.steps > PAUSE_EVERY
        if not self._stale:
            self._making = Item("", "", "text")
            self._work = grow_tree(self.session.trace, self._making)
            self._slice()

    def _slice(self) -> None:
        end = time.perf_counter() + SLICE_SECONDS
        while self._work is not None:
            if next(self._work, self) is self:
                self._work = None
                self._take(self._making)
            elif time.perf_counter() > end:
                self._slices.start()
                return
        self._slices.stop()

    def _take(self, root: Item) -> None:
        """Show the new tree; what was open stays open."""
        opened = self._opened(self.model.root)
        top = self.tree.indexAt(QPoint(4, 4))
        kept = self.model._item(top).key if top.isValid() else None
        self._showing = True
        self.model.take(root)
        for key in opened or {item.key for item in root.children[:200] if len(item.children) <= 30}:
            if (index := self.model.find(key)).isValid():
                self.tree.expand(index)
        if kept and (index := self.model.find(kept)).isValid():
            self.tree.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtTop)
        self._showing = False
        self._settle()
        self._select()

    def _opened(self, root: Item) -> set[str]:
        """Keys of the open lines; what is inside a closed one is not looked at."""
        found = {item.key for item in root.children if item.children and self._is_open(item)}
        return found.union(*(self._opened(item) for item in root.children if item.key in found))

    def showEvent(self, event: QShowEvent) -> None:
        """What was put off while hidden is done now."""
        super().showEvent(event)
        if self._stale:
            self._rebuild()

    def _is_open(self, item: Item) -> bool:
        return item is not self.model.root and self.tree.isExpanded(self.model.createIndex(item.row, 0, item))

    def _settle(self) -> None:
        """The tree, or a sentence instead: it tells what comes, which nobody may see while a question stands."""
        shown = self.model.root.children and not self.session.view.hides
        self._stack.setCurrentWidget(self.tree if shown else self.empty)
        self._speak()

    def _speak(self) -> None:
        words = Words(self.session.view.language)
        self.tree.setAccessibleName(words("ui.outline.name"))
        self.empty.setText(words("ui.outline.hidden" if self.session.view.hides else "ui.outline.empty"))

    def _select(self) -> None:
        index = self.model.find(self.session.view.selection)
        self._showing = True
        if index.isValid():
            self.tree.setCurrentIndex(index)
            self.tree.scrollTo(index)
        else:
            self.tree.selectionModel().clear()
        self._showing = False

    def _find(self) -> None:
        self.model.hits = frozenset(self.session.hits.keys)

    def _current(self, now: QModelIndex, before: QModelIndex) -> None:
        if self._showing or not now.isValid():
            return
        key = self.model._item(now).key
        if key.partition(":")[0] in ("op", "node", "tensor"):
            self.session.update(selection=key)
