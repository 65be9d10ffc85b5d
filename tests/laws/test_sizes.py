"""Files and functions stay short enough to be read in one go."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE, LONGEST_FUNCTION = 600, 60
SOURCES = sorted([*(ROOT / "gradviz").rglob("*.py"), *(ROOT / "tests").rglob("*.py")])


def long_functions(source: str) -> list[tuple[int, str, int]]:
    """Line, name and length of every function that is too long."""
    return [
        (node.lineno, node.name, length)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > LONGEST_FUNCTION
    ]


def test_no_file_is_too_long() -> None:
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in SOURCES}
    assert not {name: count for name, count in lengths.items() if count > LONGEST_FILE}


def test_no_function_is_too_long() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} {name} has {length} lines"
        for path in SOURCES
        for line, name, length in long_functions(path.read_text("utf-8"))
    ]
    assert not found, "\n".join(found)


def test_the_law_bites() -> None:
    body = "\n".join("    pass" for _ in range(LONGEST_FUNCTION))
    assert long_functions(f"def f():\n{body}\n") == [(1, "f", LONGEST_FUNCTION + 1)]
    assert not long_functions("def f():\n    pass\n")
