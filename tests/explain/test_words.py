"""Both languages say the same things: same keys, same fields, nothing empty, and every key that the code asks for."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest

from gradviz.explain import LANGUAGES, Words
from gradviz.explain.words import table

ROOT = Path(__file__).resolve().parents[2]
KEY = re.compile(r'"((?:ui|say|why|fault|rule|ledger)\.[a-z_]+(?:\.[a-z_0-9]+)*)"')


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_same_keys_and_fields() -> None:
    english, chinese = table("en"), table("zh")
    assert english.keys() == chinese.keys()
    different = [key for key, text in english.items() if fields(text) != fields(chinese[key])]
    assert not different


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_empty(language: str) -> None:
    assert [key for key, text in table(language).items() if not text.strip()] == []


def test_chinese_sentences_are_chinese() -> None:
    """A sentence of narration, a fault or an answer holds Chinese characters, save where it is a formula only."""
    formulas = {"say.made.value", "say.op.result", "fault.other.cause", "fault.operands.cause"}
    told = {k: v for k, v in table("zh").items() if k.startswith(("say.", "fault.", "why.")) and k not in formulas}
    assert [key for key, text in told.items() if not re.search("[一-鿿]", text)] == []


def test_a_missing_key_falls_back() -> None:
    words = Words("zh")
    assert words("no.such.key") == "no.such.key"
    assert "no.such.key" not in words
    assert Words("xx")("ui.toolbar.play") == table("en")["ui.toolbar.play"]
    assert Words("zh") is words


def test_every_key_in_the_code_exists() -> None:
    """Literal keys of the window and of this package. Keys made of parts are tested where they are made."""
    missing: list[str] = []
    for path in (ROOT / "gradviz").rglob("*.py"):
        for key in re.findall(
            r'"((?:ui|say|why|fault|rule|ledger)\.[a-z_]+(?:\.[a-z_0-9]+)*)"', path.read_text("utf-8")
        ):
            if key not in Words("en"):
                missing.append(f"{path.name}: {key}")
    assert missing == []


def test_every_action_has_a_title_and_a_sentence() -> None:
    from gradviz.actions import ACTIONS, MENUS

    words = Words("zh")
    keys = [key for action in ACTIONS for key in (action.title, action.sentence)] + [f"ui.menu.{m}" for m in MENUS]
    assert [key for key in keys if key not in words] == []
