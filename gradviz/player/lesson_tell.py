"""A checkpoint as it stands in a recording: its step, and its words with the numbers of this run."""

from __future__ import annotations

from gradviz.player.lesson_steps import SelectorError, step_of
from gradviz.player.lesson_values import TemplateError, answered, replaced
from gradviz.player.lessons import Checkpoint
from gradviz.trace import Trace


def place(trace: Trace, checkpoint: Checkpoint) -> int | None:
    """The step of a checkpoint; None where this recording has none: the program was changed, or still runs."""
    try:
        return step_of(trace, checkpoint.selector)
    except SelectorError:
        return None


def told(trace: Trace, checkpoint: Checkpoint, language: str) -> str:
    """The words, still Markdown, after the action's code. What this recording cannot answer is "…"."""
    words = checkpoint.words.get(language) or checkpoint.words["en"]
    step = place(trace, checkpoint)

    def answer(template: str) -> str:
        if step is None:
            return "…"
        try:
            return answered(trace, step, template)
        except TemplateError:
            return "…"

    said = replaced(words.text, answer)
    return f"```python\n{checkpoint.action}\n```\n\n{said}" if checkpoint.action else said
