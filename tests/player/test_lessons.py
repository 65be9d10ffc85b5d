"""Lesson files: what is read from them, and that every mistake is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradviz.player.lessons import LessonError, load, parse

HEAD = """---
id: a-lesson
title.en: A lesson
title.zh: 一课
seed: 3
view: autograd
raises: freed_graph
---
"""
PROGRAM = """
```python
import torch
torch.manual_seed(3)
a = torch.ones(2, requires_grad=True)
```
"""
POINT = """
## end
select: a

```python
a.sum().backward()
```

### en

The end,
in English: {grad a}.

### zh
结束。
"""
LESSON = HEAD + PROGRAM + POINT


def problems(text: str, folder: Path | None = None) -> list[tuple[int, str]]:
    with pytest.raises(LessonError) as caught:
        parse(text, folder=folder)
    return [(problem.line, problem.text) for problem in caught.value.problems]


def test_all_that_a_file_says() -> None:
    lesson = parse(LESSON, "here.md")
    assert (lesson.id, lesson.titles) == ("a-lesson", {"en": "A lesson", "zh": "一课"})
    assert (lesson.seed, lesson.view, lesson.raises, lesson.path) == (3, "autograd", ("freed_graph",), "here.md")
    assert lesson.program == "import torch\ntorch.manual_seed(3)\na = torch.ones(2, requires_grad=True)\n"
    assert lesson.program_name == "a-lesson.py"
    assert lesson.actions == ("a.sum().backward()",)
    (point,) = lesson.checkpoints
    lines = LESSON.splitlines()
    assert (point.selector, point.select, point.view) == ("end", "a", None)
    assert lines[point.line - 1] == "## end"
    assert point.words["en"].text == "The end,\nin English: {grad a}."
    assert lines[point.words["en"].line - 1] == "The end,"
    assert point.words["zh"].text == "结束。"


def test_the_program_may_lie_beside_the_lesson(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("import torch\ntorch.manual_seed(3)\n", "utf-8")
    file = tmp_path / "lesson.md"
    file.write_text(HEAD.replace("view:", "program: own.py\nview:") + POINT, "utf-8")
    lesson = load(file)
    assert (lesson.program, lesson.program_name) == ("import torch\ntorch.manual_seed(3)\n", "own.py")


def test_code_in_the_words_is_neither_action_nor_checkpoint() -> None:
    words = "Look:\n\n```python\n## end\n### zh\nx = 1\n```\n\nand on.\n"
    lesson = parse(LESSON.replace("The end,\nin English: {grad a}.\n", words))
    assert lesson.actions == ("a.sum().backward()",)
    assert len(lesson.checkpoints) == 1
    assert lesson.checkpoints[0].words["en"].text.endswith("and on.")


@pytest.mark.parametrize(
    ("old", "new", "at", "said"),
    [
        ("---\nid", "id", "id: a-lesson", "begins with its head"),
        ("title.zh: 一课\n", "", "---", "lacks “title.zh”"),
        ("id: a-lesson", "id: A lesson", "id: A lesson", "no id"),
        ("seed: 3", "sed: 3", "sed: 3", "no key “sed”"),
        ("seed: 3", "seed: 4", "seed: 4", "torch.manual_seed(4)"),
        ("seed: 3", "seed: x", "seed: x", "no seed"),
        ("view: autograd", "view: all", "view: all", "no view “all”"),
        ("view: autograd", "view: both\nview: both", "view: both", "given before"),
        ("raises: freed_graph", "raises freed_graph", "raises freed_graph", "no “key: value” line"),
        ("view: autograd", "program: gone.py", "```python", "both here and in gone.py"),
        ("import torch\n", "import torch =\n", "import torch =", "no Python"),
        ("a.sum().backward()", "a.sum(", "a.sum(", "no Python"),
        ("## end\n", "Words.\n\n## end\n", "Words.", "nothing but the program"),
        ("select: a", "choose: a", "choose: a", "no key “choose”"),
        ("### zh\n结束。\n", "", "## end", "says nothing in zh"),
        ("### zh", "### fr", "### fr", "no language “fr”"),
        ("结束。", "", "## end", "says nothing in zh"),
        ("结束。", "结束。\n\n### zh\n又。", "### zh", "stands twice"),
        ("## end\nselect: a\n", "", "```python", "second program"),
    ],
)
def test_a_mistake_is_named_with_its_line(old: str, new: str, at: str, said: str) -> None:
    assert old in LESSON
    text = LESSON.replace(old, new, 1)
    found = problems(text)
    lines = text.splitlines()
    assert any(said in sentence and lines[line - 1].startswith(at) for line, sentence in found), found


def test_a_lesson_without_its_parts(tmp_path: Path) -> None:
    said = " ".join(text for _, text in problems("", tmp_path))
    assert "head" in said and "no program" in said and "no checkpoint" in said
    named = HEAD.replace("view:", "program: own.py\nview:") + POINT
    assert any("no file own.py" in text for _, text in problems(named, tmp_path))
    outside = HEAD.replace("view:", "program: ../own.py\nview:") + POINT
    assert any("no program beside" in text for _, text in problems(outside, tmp_path))
    assert any("no end" in text for _, text in problems(LESSON.replace("=True)\n```", "=True)")))
