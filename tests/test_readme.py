"""The README's table of keys is the one of the actions; its picture and files exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradviz import cli
from gradviz.actions import ACTIONS
from gradviz.explain import Words

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
CHINESE = (ROOT / "README.zh.md").read_text("utf-8")
BEGIN, END = "<!-- keys: checked against gradviz/actions.py -->\n", "<!-- keys end -->"


def table() -> str:
    words = Words("en")
    rows = [f"| {' · '.join(a.keys)} | {words(f'ui.action.{a.id}.title')} |" for a in ACTIONS if a.keys]
    return "\n".join(["| Key | What it does |", "|---|---|", *rows, ""])


def test_the_keys_are_those_of_the_actions() -> None:
    assert README.split(BEGIN)[1].split(END)[0] == table()


def test_what_it_points_at_is_there() -> None:
    assert (ROOT / "docs" / "window.png").stat().st_size > 10_000
    rows = README.split("## Map of the code")[1].split("## Versions")[0].splitlines()
    named = [part for row in rows for part in re.findall(r"^\| `([^`]+)`", row)]
    assert named
    assert all((ROOT / name).exists() for name in named)


@pytest.mark.parametrize("target", ["setup", "run", "test", "lint", "bench", "shots"])
def test_make_targets_exist(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


def test_its_commands_are_the_command_line() -> None:
    for command in cli.COMMANDS:
        assert f"gradviz {command} " in README
    shown = re.search(r"-o OUT\.\{([\w,]+)\}", README)
    assert shown is not None
    assert set(shown.group(1).split(",")) == set(cli.SUFFIXES)


def commands(text: str) -> list[str]:
    """Commands of the indented blocks, without what is said of them."""
    return [
        re.split(r" {2,}", line.strip())[0] for line in text.splitlines() if re.match(r" {4}(gradviz|make)\b", line)
    ]


def test_both_languages_name_the_same_commands_and_files() -> None:
    assert len(commands(README)) > 5
    assert commands(CHINESE) == commands(README)
    for text in (README, CHINESE):
        for target in re.findall(r"\]\(([^)]+)\)", text):
            assert (ROOT / target).exists(), target
    code = [re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0] for text in (README, CHINESE)]
    plain = [[line.split("  #")[0] for line in block.splitlines()] for block in code]
    assert plain[0] == plain[1]


def test_the_keys_that_the_chinese_one_names_are_those_of_the_actions() -> None:
    named = re.findall(r"\*\*((?:Ctrl\+|Shift\+)*[^*`\w]?\w+|Ctrl\+/)\*\*", CHINESE)
    known = {key for action in ACTIONS for key in action.keys}
    assert set(named) <= known, set(named) - known
    assert {"F7", "F8", "Ctrl+/", "Ctrl+Shift+L"} <= set(named)
