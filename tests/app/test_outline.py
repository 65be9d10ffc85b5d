"""The tree and the canvas share one selection; the tree is the recording, nothing added or left out."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gradviz.app.outline import Item, Outline, tree_of
from gradviz.app.search import Search
from gradviz.session import Session
from gradviz.trace import Trace
from gradviz.trace.events import Header, Node, Op, Scope, Tensor
from tests.scene.one_layer import recording

pytestmark = pytest.mark.qt_log_ignore("propagateSizeHints", extend=True)  # said by the offscreen platform


@pytest.fixture
def outline(qtbot: QtBot) -> Outline:
    session = Session()
    widget = Outline(session)
    qtbot.addWidget(widget)
    widget.resize(320, 500)
    widget.show()
    return widget


def flat(item: Item) -> list[str]:
    return [key for child in item.children for key in (child.key, *flat(child))]


def text(outline: Outline, key: str, column: int = 0) -> str:
    index = outline.model.find(key)
    assert index.isValid()
    return str(outline.model.data(index.siblingAtColumn(column)))


def test_empty_then_full(outline: Outline) -> None:
    assert outline.empty.isVisible() and outline.empty.text()
    outline.session.begin(recording(1))
    assert outline.tree.isVisible() and not outline.empty.isVisible()


def test_holds_every_op_and_node_once() -> None:
    trace = recording(1)
    keys = flat(tree_of(trace))
    assert len(keys) == len(set(keys))
    assert {f"op:{op.id}" for op in trace.ops} <= set(keys)
    assert {f"node:{n.id}" for n in trace.nodes if n.op is not None} <= set(keys)
    assert {"tensor:2", "tensor:3"} <= set(keys) and "tensor:0" not in keys


def test_modules_nest() -> None:
    trace = Trace(
        [
            Header(),
            Scope(0, True, "net", "Net"),
            Scope(1, True, "net.fc", "Linear", parent=0),
            Node(0, "AddmmBackward0", op=0),
            Tensor(0, (1,), op=0, node=0),
            Op(0, "linear", outputs=(0,), nodes=(0,), scope=1),
            Scope(1, False),
            Scope(0, False),
        ]
    )
    root = tree_of(trace)
    net = root.children[0]
    assert (net.text, net.children[0].text, net.children[0].children[0].key) == ("net", "fc", "op:0")
    assert net.nodes == [0]


def test_what_ran_inside_an_operation_stands_below_it() -> None:
    trace = Trace(
        [
            Header(),
            Scope(0, True, "net", "Net"),
            Scope(1, True, "Outer.forward", "Outer", parent=0),
            Scope(2, True, "Inner.forward", "Inner", parent=1),
            Op(0, "mul", outputs=(0,), scope=2),
            Scope(2, False),
            Op(1, "Inner", outputs=(0,), first=0, scope=1),
            Scope(1, False),
            Node(0, "OuterBackward", op=2),
            Op(2, "Outer", outputs=(0,), nodes=(0,), first=0, scope=0),
            Scope(0, False),
        ]
    )
    root = tree_of(trace)
    expected = ["scope:0", "op:2", "node:0", "scope:1", "op:1", "scope:2", "op:0"]
    assert flat(root) == expected
    assert root.children[0].children[0].children[1].nodes == []


def test_selection_goes_both_ways(outline: Outline, qtbot: QtBot) -> None:
    session = outline.session
    session.begin(recording(1))
    session.update(selection="node:1")
    assert outline.tree.currentIndex().data() == "MmBackward0"
    QTest.keyClick(outline.tree, Qt.Key.Key_Down)
    assert session.view.selection == "node:2"
    session.update(selection="result:6")
    assert outline.model._item(outline.tree.currentIndex()).key == "op:6"
    session.update(selection=None)
    assert not outline.tree.currentIndex().isValid()


def test_states_follow_the_step(outline: Outline) -> None:
    session = outline.session
    session.begin(recording(1, retain=False))
    session.update(step=7)
    before = text(outline, "node:5", 1)
    session.update(step=9)
    running = text(outline, "node:5", 1)
    session.update(step=14)
    assert len({before, running, text(outline, "node:5", 1)}) == 3
    assert "None" not in text(outline, "tensor:3", 1)
    session.update(step=8)
    assert text(outline, "tensor:3", 1) == ".grad None"


def test_growing_keeps_what_is_open(outline: Outline, qtbot: QtBot) -> None:
    whole = recording(1)
    session = outline.session
    session.begin(Trace(whole.events[:30]))
    index = outline.model.find("op:4")
    outline.tree.expand(index)
    session.append(whole.events[30:])
    qtbot.waitUntil(lambda: outline.model.find("op:6").isValid())
    assert outline.tree.isExpanded(outline.model.find("op:4"))
    assert outline.model.parent(outline.model.find("node:1")) == outline.model.find("op:4")
    assert outline.model.rowCount(QModelIndex()) == len(outline.model.root.children)


def test_search_field_counts_walks_and_ends(qtbot: QtBot) -> None:
    session = Session()
    search = Search(session)
    qtbot.addWidget(search)
    search.show()
    session.begin(recording(1), step=14)
    QTest.keyClicks(search.line, "op:add or op:matmul")
    QTest.keyClick(search.line, Qt.Key.Key_Return)
    assert session.view.search == "op:add or op:matmul" and session.view.selection == "op:4"
    assert search.count.text().startswith("2 ")
    QTest.keyClick(search.line, Qt.Key.Key_Return)
    assert session.view.selection == "op:5"
    QTest.keyClick(search.line, Qt.Key.Key_Up)
    assert session.view.selection == "op:4"
    session.update(search="nowhere")
    assert search.count.text() == "Nothing found"
    session.update(language="zh")
    assert search.count.text() == "没有找到"
    session.update(search="|grad| <", language="en")
    assert "|grad| <" in search.count.text()
    QTest.keyClick(search.line, Qt.Key.Key_Escape)
    assert session.view.search == "" and search.line.text() == "" and not search.count.isVisible()
