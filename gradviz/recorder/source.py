"""Where an operation stands in the user's text: exact span, sub-expression, and the name that its result is bound to.

Read from the frame's code object and instruction offset alone: no tracing, no `f_locals` (which would keep the
program's deleted locals alive).
"""

from __future__ import annotations

import ast
import bisect
import dis
import io
import linecache
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch

from gradviz.trace.events import File, Span

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_PATHS = sysconfig.get_paths()
_LIBRARIES = tuple({_PATHS[k] + os.sep for k in ("stdlib", "platstdlib", "purelib", "platlib")})
_IGNORED = frozenset(("CACHE", "NOP", "EXTENDED_ARG", "RESUME", "PRECALL"))
_STORES = frozenset(("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF"))

Names = tuple[Any, ...]
"""Names in the order in which values are taken apart: None where one goes elsewhere, a tuple where one is taken apart
itself."""
NO_NAMES: Names = ()


class Step(NamedTuple):
    """An instruction of a code object; those that do two things are two."""

    opname: str
    arg: int | None
    argval: Any
    offset: int


class Site:
    """One place in a program: a code object and an instruction. `names` are what its value is bound to; `returns`
    says that the value leaves the function at once, so that the caller's site names it."""

    __slots__ = ("names", "returns", "span", "text", "unpacks")

    def __init__(self, span: Span, text: str, names: Names, returns: bool, unpacks: bool) -> None:
        self.span = span
        self.text = text
        self.names = names
        self.returns = returns
        self.unpacks = unpacks


class Sources:
    """Finds sites and numbers the files that they name; a new file is told to `emit` before its first span."""

    def __init__(self, emit: Callable[[File], object]) -> None:
        self._emit = emit
        self._files: dict[str, int] = {}
        self._sites: dict[tuple[int, int], Site] = {}
        self._handing: dict[tuple[int, int], bool] = {}
        self._foreign: dict[int, int] = {}
        self._tables: dict[int, tuple[list[Any], list[Any], list[int]]] = {}
        self._codes: list[CodeType] = []  # held, since the tables go by `id`: equal code objects may differ in file
        self._paths: dict[str, tuple[str, str]] = {}
        self._pairs: dict[str, dict[tuple[int, ...], tuple[str | None, ...]]] = {}

    def register(self, filename: str, path: str, text: str) -> int:
        """Tell under which path and with which text code compiled as `filename` is shown; gives the file id."""
        self._paths[filename] = path, text
        return self.file(filename)

    def file(self, filename: str) -> int:
        """The id of a file; its event is written the first time."""
        known = self._files.get(filename)
        if known is None:
            known = self._files[filename] = len(self._files)
            path, text = self._paths.get(filename) or (filename, "".join(linecache.getlines(filename)))
            self._emit(File(known, path, text))
        return known

    def here(self, depth: int) -> tuple[Site | None, FrameType | None]:
        """The nearest site of the user's own code, seen from `depth` frames above the caller, and its frame."""
        frame: FrameType | None = sys._getframe(depth + 1)
        fallback: FrameType | None = None
        foreign = self._foreign
        while frame is not None:
            kind = foreign.get(id(frame.f_code))
            if kind is None:
                kind = self._owner(frame.f_code)
            if kind == 0:
                return self.site(frame), frame
            if kind == 1 and fallback is None:
                fallback = frame
            frame = frame.f_back
        return (self.site(fallback), fallback) if fallback is not None else (None, None)

    def site(self, frame: FrameType) -> Site:
        """The site at which a frame stands now."""
        return self._sites.get((id(frame.f_code), frame.f_lasti)) or self._at(frame.f_code, frame.f_lasti)

    def raised(self, error: BaseException) -> Site | None:
        """The site in the user's own code that an exception came from or went through last."""
        trace, found = error.__traceback__, None
        while trace is not None:
            if self._owner(trace.tb_frame.f_code) == 0:
                found = trace
            trace = trace.tb_next
        return None if found is None else self._at(found.tb_frame.f_code, found.tb_lasti)

    def _at(self, code: CodeType, last: int) -> Site:
        key = id(code), last
        site = self._sites.get(key)
        if site is None:
            self._owner(code)
            site = self._sites[key] = self._resolve(code, last)
        return site

    def _owner(self, code: CodeType) -> int:
        """Whose code it is, see `_kind`."""
        kind = self._foreign.get(id(code))
        if kind is None:
            self._codes.append(code)
            kind = self._foreign[id(code)] = _kind(code.co_filename, self._paths)
        return kind

    def names(self, site: Site, frame: FrameType) -> Site:
        """The site whose `names` name the value of `site`: itself, or the call from which it is returned."""
        above: FrameType | None = frame
        while site.returns and above is not None:
            above = above.f_back
            while above is not None and self._owner(above.f_code) != 0:
                above = above.f_back
            if above is None:
                break
            site = self.site(above)
        return site

    def hands_up(self, frame: FrameType, depth: int = 1) -> bool:
        """Every function of a library between the caller and the user's `frame` returns at once what it was given, so
        that the user's statement names it. `nn.Linear(3, 1)` or the inside of `nn.Sequential` do not."""
        inner: FrameType | None = sys._getframe(depth + 1)
        while inner is not None and inner is not frame:
            code = inner.f_code
            kind = self._foreign.get(id(code)) or self._owner(code)
            if kind != 3 and code.co_name not in _DISPATCHERS and not self._returns(code, inner.f_lasti):
                return False
            inner = inner.f_back
        return True

    def _returns(self, code: CodeType, last: int) -> bool:
        known = self._handing.get((id(code), last))
        if known is None:
            self._owner(code)  # keeps the code object, and with it its id
            instructions = _steps(code)
            position = bisect.bisect_right([i.offset for i in instructions], last)
            known = self._handing[id(code), last] = _targets(instructions, position)[1]
        return known

    def _resolve(self, code: CodeType, last: int) -> Site:
        table = self._tables.get(id(code))
        if table is None:
            instructions = _steps(code)
            table = self._tables[id(code)] = list(code.co_positions()), instructions, [i.offset for i in instructions]
        positions, instructions, offsets = table
        line, end_line, column, end_column = positions[last // 2] if 0 <= last // 2 < len(positions) else (None,) * 4
        line = line or code.co_firstlineno
        position = bisect.bisect_right(offsets, last)
        names, returns, unpacks = _targets(instructions, position)
        span, text = self._text(code.co_filename, line, end_line or line, column, end_column)
        if position and instructions[position - 1].opname.startswith(("STORE_", "DELETE_")):
            names, returns, text = NO_NAMES, False, self._line(code.co_filename, line) or text
        elif not (names or returns or unpacks):
            names = self._paired(code.co_filename).get(span[1:], NO_NAMES)
        return Site(span, text, names, returns, unpacks)

    def _paired(self, filename: str) -> dict[tuple[int, ...], tuple[str | None, ...]]:
        """Expressions of a file that are one of several on the right of `a, b = x, y`, and the name each is given."""
        known = self._pairs.get(filename)
        if known is None:
            known = self._pairs[filename] = _paired("".join(self._lines(filename)))
        return known

    def _lines(self, filename: str) -> list[str]:
        known = self._paths.get(filename)
        return list(io.StringIO(known[1])) if known else linecache.getlines(filename)

    def _line(self, filename: str, line: int) -> str:
        lines = self._lines(filename)
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""

    def _text(
        self, filename: str, line: int, end_line: int, column: int | None, end_column: int | None
    ) -> tuple[Span, str]:
        file = self.file(filename)
        lines = self._lines(filename)
        if column is None or end_column is None or not 0 < line <= end_line <= len(lines):
            text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
            return (file, line, -1, end_line, -1), text
        first, final = lines[line - 1].encode(), lines[end_line - 1].encode()
        start = len(first[:column].decode(errors="replace"))
        stop = len(final[:end_column].decode(errors="replace"))
        chosen = lines[line - 1 : end_line]
        if line == end_line:
            text = chosen[0][start:stop]
        else:
            text = "".join([chosen[0][start:], *chosen[1:-1], chosen[-1][:stop]])
        return (file, line, start, end_line, stop), text[:2000]


def bound(site: Site, result: Any) -> list[tuple[str, Any]]:
    """Each name that a statement binds to a tensor of what was returned, and the tensor."""
    if site.unpacks:
        return list(_taken_apart(site.names, result))
    return [(name, result) for name in site.names] if isinstance(result, torch.Tensor) else []


def _taken_apart(names: Names, values: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(values, list | tuple) or len(values) != len(names):
        return
    for name, value in zip(names, values, strict=True):
        if isinstance(name, tuple):
            yield from _taken_apart(name, value)
        elif name is not None and isinstance(value, torch.Tensor):
            yield name, value


def is_own(filename: str) -> bool:
    """The file belongs to the recorder."""
    return filename.startswith(_OWN)


_DISPATCHERS = ("handle_torch_function", "__torch_function__")
"""They keep the result in a variable for a moment before they return it."""


def _kind(filename: str, known: dict[str, Any]) -> int:
    """0: the user's own; 1: a library's; 2: PyTorch's or Python's inner parts; 3: the recorder's. 2 and 3 are never
    shown."""
    if filename in known:
        return 0
    if filename.startswith(_OWN):
        return 3
    if filename.startswith((_TORCH, "<frozen")):
        return 2
    return 1 if filename.startswith(_LIBRARIES) else 0


_PARSING = threading.Lock()
"""CPython counts the depth of the tree it builds once per interpreter: two threads that parse at a time raise a
SystemError ("AST constructor recursion depth mismatch")."""


def _parse(text: str) -> ast.Module | None:
    """The tree of a file; None if there is none. It only names things: no failure here may reach the program."""
    for _ in range(3):
        try:
            with _PARSING:
                return ast.parse(text)
        except SystemError:  # the program's own threads parse too, and know nothing of our lock
            continue
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    return None


def _paired(text: str) -> dict[tuple[int, ...], tuple[str | None, ...]]:
    found: dict[tuple[int, ...], tuple[str | None, ...]] = {}
    tree = _parse(text)
    if tree is None:
        return found
    lines = text.split("\n")
    for statement in ast.walk(tree):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Tuple):
            continue
        for target in statement.targets:
            if isinstance(target, ast.Tuple) and len(target.elts) == len(statement.value.elts):
                for name, value in zip(target.elts, statement.value.elts, strict=True):
                    if isinstance(name, ast.Name | ast.Attribute):
                        found[_place(value, lines)] = (ast.unparse(name),)
    return found


def _place(node: ast.expr, lines: list[str]) -> tuple[int, ...]:
    """Lines and columns of an expression as a `Span` has them; the tree counts columns in bytes."""
    end_line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
    start = len(lines[node.lineno - 1].encode()[: node.col_offset].decode(errors="replace"))
    return node.lineno, start, end_line, len(lines[end_line - 1].encode()[:end].decode(errors="replace"))


def _steps(code: CodeType) -> list[Step]:
    found: list[Step] = []
    for one in dis.get_instructions(code):
        name = one.opname
        if name in _IGNORED:
            continue
        first, both, second = name.partition("_FAST_")
        if both and second.endswith("_FAST"):  # Python 3.13 stores twice, or stores and loads, in one instruction
            for part, value in zip((f"{first}_FAST", second), one.argval, strict=True):
                found.append(Step(part, one.arg, value, one.offset))
        else:
            found.append(Step(name, one.arg, one.argval, one.offset))
    return found


def _targets(instructions: list[Step], position: int) -> tuple[Names, bool, bool]:
    """Names that the value on top of the stack is stored to next; whether it is returned; whether it is unpacked."""
    if position >= len(instructions):
        return NO_NAMES, False, False
    name = instructions[position].opname
    if name.startswith("RETURN"):
        return NO_NAMES, True, False
    if name == "UNPACK_SEQUENCE":
        return _unpacked(instructions, position)[0], False, True
    names: list[str | None] = []
    while name in ("COPY", "DUP_TOP"):
        target, position = _target(instructions, position + 1)
        names.append(target)
        name = instructions[position].opname if position < len(instructions) else ""
    target, _ = _target(instructions, position)
    names.append(target)
    return tuple(n for n in names if n is not None), False, False


def _unpacked(instructions: list[Step], position: int) -> tuple[Any, int]:
    """The names of `a, (b, c.d) = …`, at whose UNPACK_SEQUENCE `position` stands, and where its last target ends."""
    found: list[Any] = []
    count = instructions[position].arg or 0
    position += 1
    while len(found) < count and position < len(instructions):
        nested = instructions[position].opname == "UNPACK_SEQUENCE"
        target, position = (_unpacked if nested else _target)(instructions, position)
        if target is None:
            break  # where this target ends is not known
        found.append(target)
    return (*found, *[None] * (count - len(found))), position


def _target(instructions: list[Step], position: int) -> tuple[Any, int]:
    if position >= len(instructions):
        return None, position
    instruction = instructions[position]
    if instruction.opname in _STORES:
        return str(instruction.argval), position + 1
    if not instruction.opname.startswith("LOAD_"):
        return None, position
    text = str(instruction.argval)
    position += 1
    while position < len(instructions) and instructions[position].opname == "LOAD_ATTR":
        text += f".{instructions[position].argval}"
        position += 1
    if position < len(instructions) and instructions[position].opname == "STORE_ATTR":
        return f"{text}.{instructions[position].argval}", position + 1
    return None, position
