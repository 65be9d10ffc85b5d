"""What gradviz remembers from one start to the next. Values only: where they are kept is the window's business."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from gradviz.player.quiz import level_of

RECENT = 10
THEMES: tuple[str, ...] = ("light", "dark", "projector")
LANGUAGES: tuple[str, ...] = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Settings:
    """One field for each thing that is remembered."""

    theme: str = "light"
    language: str = "en"
    reduced_motion: bool = False
    wheel_zooms: bool = True
    speed: float = 1.0
    greeted: bool = False
    """The card with the three first keys was dismissed."""
    recent: tuple[str, ...] = ()
    """Files opened last, newest first."""
    lessons: tuple[str, ...] = ()
    """How far each lesson was read: its id, a space, the number of checkpoints seen."""
    panels: tuple[str, ...] = ("toolbar", "left")
    """Panels that presenter mode shows."""
    level: str = "off"
    """How often a question is asked before a step: "off", "light" or "lecture"."""


def opened(settings: Settings, path: str) -> Settings:
    """The settings after a file was opened."""
    return replace(settings, recent=(path, *(p for p in settings.recent if p != path))[:RECENT])


def read(settings: Settings, lesson: str) -> int:
    """How many checkpoints of a lesson were seen."""
    for line in settings.lessons:
        ident, _, seen = line.partition(" ")
        if ident == lesson and seen.isdecimal():
            return int(seen)
    return 0


def noted(settings: Settings, lesson: str, seen: int) -> Settings:
    """The settings once so many checkpoints of a lesson were seen; what was seen before is not forgotten."""
    if seen <= read(settings, lesson):
        return settings
    others = tuple(line for line in settings.lessons if line.partition(" ")[0] != lesson)
    return replace(settings, lessons=(*others, f"{lesson} {seen}"))


def to_texts(settings: Settings) -> dict[str, str]:
    """Every field as text, for an INI file."""
    return {f.name: _text(getattr(settings, f.name)) for f in fields(settings)}


def from_texts(texts: dict[str, str]) -> Settings:
    """Settings from an INI file. What cannot be read there has its default: a file from elsewhere must not hurt."""
    default = Settings()
    found: dict[str, Any] = {}
    for field in fields(default):
        if field.name in texts:
            value = _value(texts[field.name], getattr(default, field.name))
            if value is not None:
                found[field.name] = value
    settings = replace(default, **found)
    if settings.theme not in THEMES or settings.language not in LANGUAGES:
        settings = replace(settings, theme=default.theme, language=default.language)
    settings = replace(settings, level=level_of(settings.level))
    return settings if 0.05 <= settings.speed <= 64 else replace(settings, speed=default.speed)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "\n".join(value) if isinstance(value, tuple) else str(value)


def _value(text: str, default: Any) -> Any:
    if isinstance(default, bool):
        return text == "true" if text in ("true", "false") else None
    if isinstance(default, float):
        try:
            return float(text)
        except ValueError:
            return None
    return tuple(line for line in text.split("\n") if line) if isinstance(default, tuple) else text
