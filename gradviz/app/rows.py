"""What a sheet of facts consists of: plain rows, each of which can lead to a step or a selection."""

from __future__ import annotations

from dataclasses import dataclass

from gradviz.trace.events import Data

Go = str | int | None
"""Where a click leads: a selection key, a step, or nowhere."""


@dataclass(frozen=True, slots=True)
class Title:
    """Name of the thing, in the colour of its meaning, and a line about it."""

    text: str
    token: str = "text"
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """Beginning of a section, with a line above. `ask`: what a question mark beside it asks, as "tensor:3 none"."""

    text: str
    right: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """A name and what it is; `right` stands at the right edge."""

    label: str
    value: str = ""
    right: str = ""
    ink: str = "text"
    right_ink: str = "text_dim"
    go: Go = None
    struck: bool = False


@dataclass(frozen=True, slots=True)
class Numbers:
    """A tensor as coloured cells, with its numbers where they fit. None: an empty slot. `name` tells clicks apart."""

    data: Data | None
    name: str = ""
    chosen: tuple[int, ...] | None = None
    faint: bool = False
    """Shown pale: it is not there, and is shown all the same."""


@dataclass(frozen=True, slots=True)
class Note:
    """A paragraph."""

    text: str
    token: str = "text_dim"
    go: Go = None
    mono: bool = False


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula in TeX, with the text to show should TeX fail."""

    tex: str
    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the ledger or of the versions: step, source, amount or counter, sum or value. `heading`: it names the
    columns; `ink` is the colour of the third."""

    step: str
    source: str
    amount: str
    total: str
    go: Go = None
    heading: bool = False
    marked: bool = False
    ink: str = "gradient"


@dataclass(frozen=True, slots=True)
class Swatch:
    """A colour and what it means."""

    token: str
    text: str


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a `Terms` row; the pointer on it lights what `key` is about."""

    text: str
    key: str = ""
    ink: str = "text"
    below: str = ""
    """Said in small letters after it: a shape."""


@dataclass(frozen=True, slots=True)
class Terms:
    """A formula in pieces."""

    label: str
    parts: tuple[Part, ...]


Row = Terms | Title | Head | Pair | Numbers | Note | Formula | Entry | Swatch


def spoken(rows: list[Row]) -> str:
    """The rows as lines of text, for screen readers and the clipboard."""
    return "\n".join(line for row in rows if (line := _said(row)))


def _said(row: Row) -> str:
    if isinstance(row, Title):
        return f"{row.text}. {row.detail}".strip()
    if isinstance(row, Head):
        return f"{row.text} {row.right}".strip()
    if isinstance(row, Pair):
        return " ".join(part for part in (row.label, row.value, row.right) if part)
    if isinstance(row, Entry):
        return " ".join(part for part in (row.step, row.source, row.amount, row.total) if part)
    if isinstance(row, Terms):
        return " ".join((row.label, *(f"{part.text}{part.below}".strip() for part in row.parts)))
    if isinstance(row, Formula):
        return f"{row.label} {row.text}".strip()
    return "" if isinstance(row, Numbers) else row.text
