"""The Markdown that lessons are written in, as HTML: paragraphs, lists, bold, code. Everything else stays as typed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

_INLINE = re.compile(r"`([^`]+)`|\*\*(.+?)\*\*")
_BREAK = re.compile(r"\s*\n\s*")
_HAN = re.compile("[\u2e80-\u2fff\u3040-\u9fff]")
_WIDE = re.compile("[\u3000-\u303f\uff00-\uffef“”]")
"""Punctuation that brings its own space."""


def to_html(text: str) -> str:
    """Blocks of HTML. Nothing in the text is taken as a tag."""
    return "".join(_blocks(text.split("\n")))


def plain(text: str) -> str:
    """The words without marks, for screen readers and titles."""
    return _INLINE.sub(lambda found: found[1] or found[2], text.replace("```python\n", "").replace("```", ""))


def _blocks(lines: list[str]) -> Iterator[str]:
    paragraph: list[str] = []
    items: list[list[str]] = []
    rest = iter(lines)
    for line in rest:
        if line.startswith("```"):
            yield from _close(paragraph, items)
            yield f"<pre>{escape(chr(10).join(_fenced(rest)))}</pre>"
        elif not line.strip():
            yield from _close(paragraph, items)
        elif line.startswith("- "):
            yield from _close(paragraph, [])
            items.append([line[2:]])
        elif items:
            items[-1].append(line.strip())
        else:
            paragraph.append(line.strip())
    yield from _close(paragraph, items)


def _fenced(rest: Iterator[str]) -> Iterator[str]:
    for line in rest:
        if line.startswith("```"):
            return
        yield line


def _close(paragraph: list[str], items: list[list[str]]) -> Iterator[str]:
    if paragraph:
        yield f"<p>{_inline(paragraph)}</p>"
        paragraph.clear()
    if items:
        yield "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>"
        items.clear()


def _inline(lines: list[str]) -> str:
    text = _BREAK.sub(_joint, "\n".join(lines))
    made, place = [], 0
    for found in _INLINE.finditer(text):
        made.append(escape(text[place : found.start()]))
        made.append(f"<code>{escape(found[1])}</code>" if found[1] else f"<b>{_inline([found[2]])}</b>")
        place = found.end()
    return "".join([*made, escape(text[place:])])


def _joint(found: re.Match[str]) -> str:
    """Where a line ends in a paragraph: a space, but none between Chinese characters or beside their punctuation."""
    before, after = found.string[found.start() - 1 : found.start()], found.string[found.end() : found.end() + 1]
    chinese = _HAN.match(before) and _HAN.match(after)
    wide = (_WIDE.match(before) and not before.isascii()) or (_WIDE.match(after) and not after.isascii())
    return "" if chinese or wide else " "
