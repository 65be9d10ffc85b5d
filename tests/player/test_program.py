"""A program as a value: where it comes from, and what an edit makes of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gradviz.player.forms import Accumulation
from gradviz.player.program import Program, edited, from_form, saved_as, script


def test_an_edit_makes_an_example_one_s_own() -> None:
    example = from_form(Accumulation())
    assert not example.modified and example.form == Accumulation()
    own = edited(example, example.text + "# mine\n")
    assert own.form is None and own.modified and own.name == "program.py"
    assert edited(example, example.text) is example


def test_a_file_keeps_its_name_and_is_modified_until_saved() -> None:
    program = Program("a = 1\n", "p.py", "/x/p.py", saved="a = 1\n")
    assert not program.modified
    changed = edited(program, "a = 2\n")
    assert changed.modified and changed.name == "p.py" and changed.file_name == "p.py"
    kept = saved_as(changed, "/y/q.py")
    assert not kept.modified and kept.name == "q.py" and kept.path == "/y/q.py"


def test_the_script_of_a_session_does_it_all_again(tmp_path: Path) -> None:
    text = "total = 0\n"
    lines = [("total += 2; total += 1", False), ("1 / 0", True), ("for k in range(2):\n    total += k", False)]
    path = tmp_path / "session.py"
    path.write_text(script(text, [*lines, ("print(total)", False)]))
    ran = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["ZeroDivisionError: division by zero", "4"]
