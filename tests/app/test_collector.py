"""The garbage collector does not walk through a recording that grows, and looks at everything again after it."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from gradviz.app import collector
from gradviz.session import Session
from gradviz.trace import Trace
from gradviz.trace.trace import History
from tests.long_runs import loop


@pytest.fixture
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def walked(trace: Trace) -> int:
    """How many histories of a recording the collector looks at."""
    mine = {id(history) for history in trace.tensors.values()}
    return sum(type(known) is History and id(known) in mine for known in gc.get_objects())


@pytest.mark.usefixtures("thawed")
def test_what_was_recorded_is_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "EVERY", 1000)
    session, long = Session(), loop(200)
    session.listen(collector.spare)
    session.begin(Trace())
    grown = session.trace
    session.append(long.events[:900])
    before = walked(grown)
    assert before > 100
    session.append(long.events[900:1100])
    assert walked(grown) == 0
    session.append(long.events[1100:])
    assert walked(grown) == 0 and len(grown.tensors) > 2 * before
    session.begin(Trace())
    assert walked(grown) == len(grown.tensors)
