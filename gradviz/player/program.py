"""The program that is shown and run: a value, and what becomes of it when somebody edits it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import PurePath

from gradviz.player.forms import Form


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


def script(text: str, lines: Iterable[tuple[str, bool]]) -> str:
    """A program that does what a session did: its text, then the lines that were sent (line, whether it raised). One
    that raised is kept in a `try`, since the session went on after it."""
    parts = [text.rstrip("\n")]
    for line, raised in lines:
        parts.append(_guarded(line) if raised else line)
    return "\n".join(parts) + "\n"


def _guarded(line: str) -> str:
    body = "\n".join(f"    {part}" for part in line.splitlines())
    return f'try:\n{body}\nexcept Exception as error:\n    print(f"{{type(error).__name__}}: {{error}}")'
