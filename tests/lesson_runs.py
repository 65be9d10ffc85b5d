"""The programs of all lessons, recorded once: one process imports PyTorch and is forked for each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from gradviz.app.shelf import shelf
from gradviz.trace import Trace, open_trace

_FORKING = """
import json, os, sys
from gradviz.recorder.process import main
for program, commands, out, name in json.load(sys.stdin):
    child = os.fork()
    if not child:
        try:
            os.dup2(os.open(commands, os.O_RDONLY), 0)
            main(["--live", "-o", out, "--display-path", name, program])
        finally:
            os._exit(0)
    os.waitpid(child, 0)
"""


def record_lessons(folder: Path) -> dict[str, Trace]:
    """Recording of program and actions by the lesson's id: what `gradviz.app.rehearse` would give."""
    jobs = []
    for lesson in shelf():
        program, commands = folder / f"{lesson.id}.py", folder / f"{lesson.id}.jsonl"
        program.write_text(lesson.program, "utf-8")
        lines = [{"cell": k, "source": source, "origin": "action"} for k, source in enumerate(lesson.actions, 1)]
        commands.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        jobs.append([str(program), str(commands), str(folder / f"{lesson.id}.gradviz"), lesson.program_name])
    command = [sys.executable, "-c", _FORKING]
    subprocess.run(command, input=json.dumps(jobs).encode(), check=True, capture_output=True)
    return {lesson.id: open_trace(folder / f"{lesson.id}.gradviz") for lesson in shelf()}
