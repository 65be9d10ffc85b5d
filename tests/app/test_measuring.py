"""A probe in the running program: copies are asked, and what they say stands in the inspector."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from gradviz.app.proberows import DIFFERENCE
from gradviz.app.rows import Note, spoken
from gradviz.app.window import Window
from gradviz.explain.difference import Difference, Lens


def _go(window: Window, qtbot: QtBot, action: str) -> None:
    assert window.trigger(action)
    measuring = window.desk.inspector.measuring
    assert measuring.is_busy
    qtbot.waitUntil(lambda: not measuring.is_busy, timeout=120_000)


@pytest.mark.slow
def test_difference_and_jacobian_of_a_pass_that_a_button_made(live: Window, qtbot: QtBot) -> None:
    session, inspector = live.session, live.desk.inspector
    assert live.trigger("run.backward") and live.wait_ready(20)
    leaf = session.trace.named("b")
    session.update(step=session.view.steps, selection=f"tensor:{leaf}", playing=False)
    inspector.element = (1,)
    _go(live, qtbot, "probe.difference")
    found = inspector.measuring.found
    assert isinstance(found, Difference) and found.kind == "agrees"
    assert found.plan.within == len(session.trace.passes) - 1
    assert found.slope == pytest.approx(found.plan.gradient, abs=found.tolerance)
    assert "They agree" in spoken(inspector.sheet.rows)
    _go(live, qtbot, "probe.jacobian")
    lens = inspector.measuring.found
    assert isinstance(lens, Lens)
    assert lens.product[1] == pytest.approx(found.plan.gradient, rel=1e-6)
    live.trigger("run.program")
    assert inspector.measuring.found is None


def test_no_probe_of_a_file(shown: Window) -> None:
    session = shown.session
    session.update(step=session.view.steps, selection=f"tensor:{session.trace.named('b')}")
    assert not shown.trigger("probe.difference"), "opening a file runs nothing"
    rows = shown.desk.inspector.sheet.rows
    assert not any(isinstance(row, Note) and row.go == DIFFERENCE for row in rows)
