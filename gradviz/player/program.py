"""The program that is shown and run: a value, and what becomes of it when somebody edits it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

from gradviz.player.forms import Form
from gradviz.player.lines import Act
from gradviz.player.setup import Setup


@dataclass(frozen=True, slots=True)
class Program:
    """A program's text and where it comes from."""

    text: str = ""
    name: str = ""
    """As shown in the title and written into recordings: a file name, or the title of an example."""
    path: str | None = None
    """The file that it was read from or saved to."""
    form: Form | None = None
    """The form that wrote it; None once a person has changed it by hand."""
    saved: str | None = None
    """The text that the file holds; None: there is no file."""
    setup: Setup = Setup()
    """With what it is run."""

    @property
    def modified(self) -> bool:
        """The text is a person's own and no file holds it."""
        return self.form is None and self.text != (self.saved or "")

    @property
    def file_name(self) -> str:
        """A file name for it, with ".py"."""
        if self.path:
            return PurePath(self.path).name
        return f"{self.form.key}.py" if self.form else "program.py"


def edited(program: Program, text: str) -> Program:
    """The program with another text: no longer what its form wrote."""
    if text == program.text:
        return program
    return replace(program, text=text, form=None, name=PurePath(program.path).name if program.path else "program.py")


def saved_as(program: Program, path: str) -> Program:
    """The program once a file holds it."""
    return replace(program, path=path, name=PurePath(path).name, saved=program.text, form=None)


def from_form(form: Form) -> Program:
    """The program that a form writes."""
    return Program(text=form.source(), name=form.file_name, form=form)


def script(text: str, acts: Iterable[Act]) -> str:
    """A program that does what a session did: its text, then the lines that were sent. One that raised is kept in a
    `try`, since the session went on after it; one that was typed prints its values, as the console did; one that was
    stopped, or is no Python, did nothing that could be repeated and is a comment."""
    parts = [text.rstrip("\n")]
    shows = False
    for act in acts:
        body = _parsed(act.text)
        if body is None or act.stopped:
            parts.append("\n".join(f"# {line}" for line in act.text.splitlines()))
            continue
        told = _showing(act.text, body) if act.origin == "console" else act.text
        if told != act.text and not shows:
            parts.append("import sys")
            shows = True
        parts.append(_guarded(told) if act.failed else told)
    return "\n".join(parts) + "\n"


def _parsed(text: str) -> list[ast.stmt] | None:
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _showing(line: str, body: list[ast.stmt]) -> str:
    """The line with every statement that is an expression handed to what a console shows values with."""
    rows = [row.encode() for row in line.split("\n")]
    for statement in reversed([*_expressions(body)]):
        last = (statement.end_lineno or statement.lineno) - 1
        end, start = statement.end_col_offset or 0, statement.col_offset
        rows[last] = rows[last][:end] + b")" + rows[last][end:]
        first = rows[statement.lineno - 1]
        rows[statement.lineno - 1] = first[:start] + b"sys.displayhook(" + first[start:]
    return b"\n".join(rows).decode()


def _expressions(body: list[ast.stmt]) -> Iterator[ast.Expr]:
    """The statements that a console prints the values of, in order: not those inside functions and classes."""
    for statement in body:
        if isinstance(statement, ast.Expr):
            yield statement
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for name in ("body", "handlers", "orelse", "finalbody", "cases"):
                for part in getattr(statement, name, ()):
                    yield from _expressions([part] if isinstance(part, ast.stmt) else part.body)


def _guarded(line: str) -> str:
    body = "\n".join(f"    {part}" for part in line.splitlines())
    return f'try:\n{body}\nexcept Exception as error:\n    print(f"{{type(error).__name__}}: {{error}}")'
