"""The programs of all lessons, recorded once."""

from __future__ import annotations

import json
from pathlib import Path

from gradviz.app.shelf import shelf
from gradviz.trace import Trace, open_trace
from tests import forked


def record_lessons(folder: Path) -> dict[str, Trace]:
    """Recording of program and actions by the lesson's id: what `gradviz.app.rehearse` would give."""
    runs = {}
    for lesson in shelf():
        program, out = folder / f"{lesson.id}.py", folder / f"{lesson.id}.gradviz"
        program.write_text(lesson.program, "utf-8")
        lines = [{"cell": k, "source": source, "origin": "action"} for k, source in enumerate(lesson.actions, 1)]
        sent = "".join(json.dumps(line) + "\n" for line in lines)
        forked.record("--live", "-o", out, "--display-path", lesson.program_name, program, sent=sent)
        runs[lesson.id] = open_trace(out)
    return runs
