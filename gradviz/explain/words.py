"""Every sentence of gradviz in each of its languages, by key. A sentence is a whole one: nothing is glued together."""

from __future__ import annotations

import tomllib
from functools import cache
from typing import Any, ClassVar

from gradviz import assets

LANGUAGES: tuple[str, ...] = ("en", "zh")
DEFAULT = "en"


class _Fields(dict[str, object]):
    """A field that nobody filled stays visible as `{name}` instead of taking the window down."""

    def __missing__(self, key: str) -> str:
        return "{" + key + "}"


@cache
def table(language: str) -> dict[str, str]:
    """Dotted key -> sentence, as the file of that language has it. Empty for a language that is not there."""
    path = assets.path("locale", f"{language}.toml")
    return _flat(tomllib.loads(path.read_text("utf-8")), "") if path.exists() else {}


def _flat(tree: dict[str, Any], prefix: str) -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = str(value)
    return flat


class Words:
    """The sentences of one language; the same object for the same language. What it lacks is said in English, and
    what English lacks as the key itself."""

    _made: ClassVar[dict[str, Words]] = {}
    language: str

    def __new__(cls, language: str = DEFAULT) -> Words:
        if language not in cls._made:
            made = super().__new__(cls)
            made.language = language
            cls._made[language] = made
        return cls._made[language]

    def __call__(self, key: str, **fields: object) -> str:
        """The sentence of a key with its fields filled in."""
        text = self.raw(key)
        return text.format_map(_Fields(fields)) if text is not None else key

    def raw(self, key: str) -> str | None:
        """The sentence with its fields still open; None for a key that no file has."""
        return table(self.language).get(key) or table(DEFAULT).get(key)

    def __contains__(self, key: str) -> bool:
        return self.raw(key) is not None
