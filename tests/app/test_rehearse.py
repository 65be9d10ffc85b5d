"""A rehearsal gives what the window would record."""

from __future__ import annotations

import pytest

from gradviz.app.rehearse import RehearsalError, rehearse
from gradviz.player.program import Program


def test_program_and_lines_in_one_recording() -> None:
    trace = rehearse(Program("a = 1\nprint(a)", "p.py"), ("print(a + 1)", "1 / 0", "print('on')"))
    printed = [output.text for output in trace.outputs if output.stream == "stdout"]
    assert "".join(printed) == "1\n2\non\n"
    assert [fault.type for fault in trace.faults] == ["ZeroDivisionError"]
    assert len(trace.cells) == 4 and trace.complete


def test_a_process_that_dies_is_said() -> None:
    with pytest.raises(RehearsalError, match="ended before this line was run: print"):
        rehearse(Program("import os\nos._exit(3)", "p.py"), ("print(1)",))


def test_one_that_takes_too_long_is_ended() -> None:
    with pytest.raises(RehearsalError):
        rehearse(Program("while True: pass", "p.py"), ("print(1)",), seconds=2.0)
