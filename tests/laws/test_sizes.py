"""Files and functions stay short enough to be read in one go."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE, LONGEST_FUNCTION = 600, 60
SOURCES = sorted([*(ROOT / "gradviz").rglob("*.py"), *(ROOT / "tests").rglob("*.py")])


def length(node: ast.expr | ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def long_functions(source: str) -> list[tuple[int, str, int]]:
    """Line, name and length of every function that is too long. A text of many lines counts as one."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            texts = (n for n in ast.walk(node) if isinstance(n, ast.expr) and _is_text(n))
            lines = length(node) - sum(length(n) - 1 for n in texts)
            if lines > LONGEST_FUNCTION:
                found.append((node.lineno, node.name, lines))
    return found


def _is_text(node: ast.AST) -> bool:
    """A string or an f-string; the pieces of an f-string do not count again, since they have one line each."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def test_no_file_is_too_long() -> None:
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in SOURCES}
    assert not {name: count for name, count in lengths.items() if count > LONGEST_FILE}


def test_no_function_is_too_long() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} {name} has {lines} lines"
        for path in SOURCES
        for line, name, lines in long_functions(path.read_text("utf-8"))
    ]
    assert not found, "\n".join(found)


def test_the_law_bites() -> None:
    body = "\n".join("    pass" for _ in range(LONGEST_FUNCTION))
    assert long_functions(f"def f():\n{body}\n") == [(1, "f", LONGEST_FUNCTION + 1)]
    assert not long_functions("def f():\n    pass\n")
