"""A lesson as a file: Markdown with a head, a program, and checkpoints with words in every language.

What may stand in it is told to teachers in docs/lessons.md. Reading runs nothing; whether a lesson is true of its
program is for `lesson_check`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from gradviz.player.view import Mode

LANGUAGES: tuple[str, ...] = ("en", "zh")
MODES: tuple[str, ...] = ("both", "forward", "autograd")
SUFFIX = ".md"
_KEYS = ("id", "program", "seed", "view", "raises", *(f"title.{language}" for language in LANGUAGES))
_OPTIONS = ("select", "view")
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PAIR = re.compile(r"([\w.]+):\s*(.*)")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong with a lesson: a whole sentence, and the line of the file that it is about."""

    line: int
    text: str


class LessonError(ValueError):
    """The file is no lesson that can be shown. `problems` says why, in the order of the lines."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(" ".join(f"Line {problem.line}: {problem.text}" for problem in problems))
        self.problems = sorted(problems, key=lambda problem: problem.line)


@dataclass(frozen=True, slots=True)
class Words:
    """What a checkpoint says in one language: Markdown with templates such as `{grad w}` still open."""

    text: str
    line: int
    """Line of the file where the text begins."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A place in the recording and what is said there."""

    selector: str
    line: int
    words: dict[str, Words] = field(default_factory=dict)
    action: str = ""
    """Python that is sent to the live process after the program, as a button of the window would; "" for none."""
    select: str = ""
    """Name of the tensor that is selected there; "" for none."""
    view: Mode | None = None
    """The view that is shown from here on; None: as it is."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson as its file has it."""

    id: str
    titles: dict[str, str]
    program: str
    """The program's text."""
    program_name: str
    seed: int | None
    view: Mode
    raises: tuple[str, ...]
    """Codes of the faults that end the program or an action, in order: they are what the lesson shows."""
    checkpoints: tuple[Checkpoint, ...]
    path: str = ""

    @property
    def actions(self) -> tuple[str, ...]:
        """The lines that are sent after the program, in order."""
        return tuple(checkpoint.action for checkpoint in self.checkpoints if checkpoint.action)


def load(path: str | Path) -> Lesson:
    """Read a lesson, and its program where that is a file of its own beside it.

    Raises:
        OSError: the file, or its program, cannot be read.
        UnicodeDecodeError: it is not UTF-8.
        LessonError: it is no lesson.
    """
    file = Path(path)
    return parse(file.read_text("utf-8"), str(path), folder=file.parent)


def parse(text: str, path: str = "", *, folder: Path | None = None) -> Lesson:
    """A lesson from its text. A program named in the head is read from `folder`.

    Raises:
        OSError: the program cannot be read.
        LessonError: the text is no lesson.
    """
    reader = _Reader(text.splitlines())
    reader.read()
    lesson = reader.lesson(path, folder)
    if reader.problems or lesson is None:
        raise LessonError(reader.problems)
    return lesson


@dataclass(slots=True)
class _Section:
    """A `## selector` with all that stands under it, while it is read."""

    selector: str
    line: int
    options: dict[str, tuple[int, str]] = field(default_factory=dict)
    action: str = ""
    words: dict[str, Words] = field(default_factory=dict)


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.problems: list[Problem] = []
        self.head: dict[str, tuple[int, str]] = {}
        self.program = ""
        self.program_line = 0
        self.sections: list[_Section] = []

    def wrong(self, line: int, text: str) -> None:
        self.problems.append(Problem(line, text))

    # ---- the lines

    def read(self) -> None:
        """Take the lines apart: head, program, sections."""
        begin = self._read_head()
        pieces = list(self._pieces(begin))
        first = pieces[0][0] if pieces else len(self.lines) + 1
        self._read_intro(begin, first - 1)
        for line, title, end in pieces:
            self.sections.append(self._section(line, title, end))
        if not self.sections:
            self.wrong(len(self.lines), "The lesson has no checkpoint: a checkpoint begins with “## ” and a selector.")

    def _read_head(self) -> int:
        """Index of the line after the head."""
        if not self.lines or self.lines[0].strip() != "---":
            self.wrong(1, "A lesson begins with its head: a line “---”, then “key: value” lines, then “---” again.")
            return 0
        for index, line in enumerate(self.lines[1:], 1):
            if line.strip() == "---":
                return index + 1
            if not line.strip():
                continue
            self._pair(index + 1, line, _KEYS, self.head, "head")
        self.wrong(1, "The head has no end: a second line “---” is missing.")
        return len(self.lines)

    def _pair(
        self, number: int, line: str, known: tuple[str, ...], into: dict[str, tuple[int, str]], where: str
    ) -> None:
        found = _PAIR.fullmatch(line.strip())
        if found is None:
            self.wrong(number, f"“{line.strip()}” is no “key: value” line.")
        elif found[1] not in known:
            self.wrong(number, f"The {where} has no key “{found[1]}”: it knows {', '.join(known)}.")
        elif found[1] in into:
            self.wrong(number, f"“{found[1]}” was given before, in line {into[found[1]][0]}.")
        else:
            into[found[1]] = (number, found[2].strip())

    def _pieces(self, begin: int) -> Iterator[tuple[int, str, int]]:
        """(line, title, index after the last line) of each `## ` heading outside code."""
        heads = [(i, line[3:].strip()) for i, line in self._outside(begin) if line.startswith("## ")]
        for (index, title), after in zip(heads, [*heads[1:], (len(self.lines), "")], strict=False):
            yield index + 1, title, after[0]

    def _outside(self, begin: int, end: int | None = None) -> Iterator[tuple[int, str]]:
        """Index and text of the lines that are in no fenced block."""
        fenced = False
        for index in range(begin, len(self.lines) if end is None else end):
            if self.lines[index].startswith("```"):
                fenced = not fenced
            elif not fenced:
                yield index, self.lines[index]

    def _blocks(self, begin: int, end: int) -> Iterator[tuple[int, str]]:
        """(line of the fence, text) of each fenced block."""
        start = None
        for index in range(begin, end):
            if not self.lines[index].startswith("```"):
                continue
            if start is None:
                start = index
            else:
                yield start + 1, "\n".join(self.lines[start + 1 : index])
                start = None
        if start is not None:
            self.wrong(start + 1, "This code block has no end: a line “```” is missing.")

    def _read_intro(self, begin: int, end: int) -> None:
        """What stands between the head and the first checkpoint: the program."""
        for line, text in self._blocks(begin, end):
            if self.program_line:
                self.wrong(line, "There is a second program: only one block may stand before the first checkpoint.")
            else:
                self.program, self.program_line = text.rstrip() + "\n", line
        for index, text in self._outside(begin, end):
            if text.strip() and not text.startswith(("# ", "<!--")):
                self.wrong(index + 1, "Words stand under a checkpoint: nothing but the program may come before it.")
                break

    def _section(self, line: int, title: str, end: int) -> _Section:
        section = _Section(title, line)
        heads = [(i, text[4:].strip()) for i, text in self._outside(line, end) if text.startswith("### ")]
        self._read_options(section, line, heads[0][0] if heads else end)
        for (index, language), following in zip(heads, [*heads[1:], (end, "")], strict=False):
            body = self.lines[index + 1 : following[0]]
            while body and not body[0].strip():
                body, index = body[1:], index + 1
            text = "\n".join(body).rstrip()
            if language not in LANGUAGES:
                self.wrong(index + 1, f"There is no language “{language}”: it is one of {', '.join(LANGUAGES)}.")
            elif language in section.words:
                self.wrong(index + 1, f"“### {language}” stands twice under this checkpoint.")
            elif text:
                section.words[language] = Words(text, index + 2)
        for language in LANGUAGES:
            if language not in section.words:
                self.wrong(line, f"The checkpoint “{title}” says nothing in {language}: “### {language}” is missing.")
        return section

    def _read_options(self, section: _Section, begin: int, end: int) -> None:
        """What stands between a checkpoint's heading and its words: options and an action."""
        for line, text in self._blocks(begin, end):
            if section.action:
                self.wrong(line, "A checkpoint has one action: put both lines into one block.")
            section.action = text.strip()
            self._parses(text, line)
        for index, text in self._outside(begin, end):
            if text.strip() and not text.startswith("<!--"):
                self._pair(index + 1, text, _OPTIONS, section.options, "checkpoint")

    def _parses(self, text: str, line: int) -> None:
        try:
            ast.parse(text)
        except SyntaxError as error:
            self.wrong(line + (error.lineno or 1), f"This is no Python: {error.msg}.")

    # ---- the lesson

    def lesson(self, path: str, folder: Path | None) -> Lesson | None:
        """What was read, as a lesson; None where it cannot be one."""
        titles = {language: self._value(f"title.{language}") for language in LANGUAGES}
        for key in ("id", *(f"title.{language}" for language in LANGUAGES)):
            if not self._value(key):
                self.wrong(1, f"The head lacks “{key}”.")
        ident = self._value("id")
        if ident and not _ID.fullmatch(ident):
            self.wrong(self.head["id"][0], f"“{ident}” is no id: small letters, digits and single hyphens.")
        program, name = self._program(folder, f"{ident or 'lesson'}.py")
        seed = self._seed(program)
        raises = tuple(part.strip() for part in self._value("raises").split(",") if part.strip())
        if self.problems:
            return None
        view = self._mode(self.head.get("view")) or "both"
        checkpoints = tuple(self._checkpoint(section) for section in self.sections)
        return Lesson(ident, titles, program, name, seed, view, raises, checkpoints, path)

    def _value(self, key: str) -> str:
        return self.head[key][1] if key in self.head else ""

    def _checkpoint(self, section: _Section) -> Checkpoint:
        select = section.options["select"][1] if "select" in section.options else ""
        view = self._mode(section.options.get("view"))
        return Checkpoint(section.selector, section.line, section.words, section.action, select, view)

    def _mode(self, given: tuple[int, str] | None) -> Mode | None:
        if given is None:
            return None
        if given[1] not in MODES:
            self.wrong(given[0], f"There is no view “{given[1]}”: it is one of {', '.join(MODES)}.")
            return None
        return cast("Mode", given[1])

    def _program(self, folder: Path | None, name: str) -> tuple[str, str]:
        """The program's text and file name: a block of the lesson, or a file beside it."""
        named = self._value("program")
        if named and self.program_line:
            self.wrong(self.program_line, f"The program is both here and in {named}: give one of the two.")
        if not named:
            if not self.program_line:
                self.wrong(1, "The lesson has no program: a “```python” block after the head, or “program: FILE.py”.")
            self._parses(self.program, self.program_line)
            return self.program, name
        line = self.head["program"][0]
        file = Path(named)
        if file.name != named or not named.endswith(".py"):
            self.wrong(line, f"“{named}” is no program beside the lesson: it is a file name that ends in .py.")
            return "", name
        if folder is None or not (folder / named).is_file():
            self.wrong(line, f"There is no file {named} beside the lesson.")
            return "", name
        return (folder / named).read_text("utf-8"), named

    def _seed(self, program: str) -> int | None:
        given = self._value("seed")
        if not given:
            return None
        line = self.head["seed"][0]
        if not given.isdecimal():
            self.wrong(line, f"“{given}” is no seed: it is a whole number.")
            return None
        if program and f"torch.manual_seed({int(given)})" not in program:
            self.wrong(line, f"The program does not set this seed: it lacks “torch.manual_seed({int(given)})”.")
        return int(given)
