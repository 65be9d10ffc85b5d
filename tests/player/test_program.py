"""A program as a value: where it comes from, and what an edit makes of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gradviz.player.forms import Accumulation
from gradviz.player.lines import Act
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


def ran(path: Path, text: str) -> list[str]:
    path.write_text(text)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def act(text: str, origin: str = "action", *, failed: bool = False, stopped: bool = False) -> Act:
    return Act(text, 1, 1, origin, failed, stopped)


def test_the_script_of_a_session_does_it_all_again(tmp_path: Path) -> None:
    lines = [act("total += 2; total += 1"), act("1 / 0", failed=True), act("for k in range(2):\n    total += k")]
    text = script("total = 0\n", [*lines, act("print(total)")])
    assert ran(tmp_path / "session.py", text) == ["ZeroDivisionError: division by zero", "4"]


def test_typed_lines_print_their_values_again_as_python_s_own_console(tmp_path: Path) -> None:
    typed = ["'é'; total + 1", "None", "for k in range(2):\n    k\n    [k,\n     k]", "def f():\n    3", "f()", "1 / 0"]
    console = subprocess.run(
        [sys.executable, "-i", "-c", "total = 0; import sys; sys.ps1 = sys.ps2 = ''"],
        input="".join(f"{line}\n\n" if "\n" in line else f"{line}\n" for line in typed),
        capture_output=True,
        text=True,
        check=True,
    )
    text = script("total = 0\n", [act(line, "console", failed=line == "1 / 0") for line in typed])
    *values, error = ran(tmp_path / "session.py", text)
    assert values == console.stdout.splitlines() == ["'é'", "1", "0", "[0, 0]", "1", "[1, 1]"]
    assert "ZeroDivisionError" in error


def test_what_was_stopped_or_is_no_python_is_not_repeated(tmp_path: Path) -> None:
    lines = [act("while True:\n    pass", stopped=True), act("x =", "console", failed=True), act("print(1)")]
    assert ran(tmp_path / "session.py", script("", lines)) == ["1"]
