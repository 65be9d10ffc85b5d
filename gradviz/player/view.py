"""Where a person is: one small frozen value, and the pure functions that make the next one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from gradviz.player.engine import Game
from gradviz.player.experiments import Broken
from gradviz.player.forms import Seed
from gradviz.player.lessons import Lesson
from gradviz.player.program import Program
from gradviz.player.quiz import Asked, Level, Quiz
from gradviz.player.show import Show

Mode = Literal["both", "forward", "autograd"]
Live = Literal["none", "starting", "running", "ready", "gone"]
SPEEDS: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
STEP_SECONDS = 0.9
"""How long one step takes while playing at speed 1."""


@dataclass(frozen=True, slots=True)
class ViewState:
    """All that the window shows apart from the recording itself. Panels compare two of these to know what to redraw.

    Selections and folds are keys: "op:3", "node:5", "tensor:2", "fold:blocks.7".
    """

    step: int = 0
    steps: int = 0
    """Steps known so far; grows while the program runs."""
    events: int = 0
    """Events known so far: output and the end of a cell arrive without a step."""
    revision: int = 0
    """Counts recordings: a new one begins with another number."""
    alpha: float = 1.0
    """How far the motion of this step has got, 0 to 1. Runs while playing even where motion is reduced: the time that a
    step stands is the same, only nothing is drawn on its way."""
    playing: bool = False
    following: bool = False
    """Stick to the newest step while the program runs."""
    speed: float = 1.0
    selection: str | None = None
    hover: str | None = None
    folded: frozenset[str] = frozenset()
    unfolded: frozenset[str] = frozenset()
    mode: Mode = "both"
    ghosts: bool = False
    search: str = ""
    theme: str = "light"
    language: str = "en"
    reduced_motion: bool = False
    presenter: bool = False
    retain_graph: bool = True
    create_graph: bool = False
    seed: Seed = Seed()
    """Gradient argument of the next backward call on a root that is no scalar."""
    device: str = "cpu"
    program: Program = Program()
    """The text that is shown and that a run would run; what was recorded is in the recording's header."""
    busy: tuple[Literal["reading", "layout"], int] | None = None
    """What takes its time, and how many percent of it are done; None: nothing does."""
    live: Live = "none"
    """The recorder process: none (a file is shown), starting, running a cell, ready for a line, gone."""
    actions: tuple[str, ...] = ()
    """Lines that were sent to the live process after the program, in order."""
    typed: frozenset[str] = frozenset()
    """Which of these were typed by hand: their values are printed, as a console does."""
    breaks: frozenset[str] = frozenset()
    """Where the playhead stops: "line:7", "node:5", "op:3"."""
    comparing: bool = False
    """The run is shown beside another one."""
    compared: int = 0
    """Counts what it was compared with."""
    scanned: int = 0
    """Up to this moment of a comparison, differences were looked for."""
    moment: int | None = None
    """Where the common clock of a comparison stands; None: where this run makes its step."""
    editing: bool = False
    left: Literal["program", "build", "outline"] = "program"
    """Which panel stands on the left."""
    lesson: Lesson | None = None
    """The lesson that is open..."""
    checkpoint: int = 0
    """...and which of its checkpoints is told."""
    level: Level = "off"
    """How often a question is asked before a step."""
    quiz: Quiz | None = None
    """The question that stands..."""
    asked: tuple[Asked, ...] = ()
    """...and those that are over."""

    engine: Game | None = None
    """The pass that a person plays the engine of."""
    experiment: Broken | None = None
    """The program was broken on purpose; what it was before is in there."""
    show: Show = Show()
    """How presenter mode looks."""

    @property
    def running(self) -> bool:
        """The program has not ended yet: more is being recorded, or soon will be."""
        return self.live in ("starting", "running")

    @property
    def hides(self) -> bool:
        """A question stands and is not answered yet, or a person is the engine: what comes may not be shown."""
        return (self.quiz is not None and not self.quiz.revealed) or self.engine is not None


def go(view: ViewState, step: int, *, animate: bool = False) -> ViewState:
    """Move to a step; steps outside the recording are taken as the nearest one inside it."""
    step = max(0, min(step, view.steps))
    alpha = 0.0 if animate and not view.reduced_motion and step != view.step else 1.0
    return replace(view, step=step, alpha=alpha)


def advance(view: ViewState, seconds: float) -> ViewState:
    """Let time pass: motion inside the step goes on; a playing view goes to the next step when it is over."""
    alpha = view.alpha + seconds * view.speed / STEP_SECONDS
    if alpha < 1.0:
        return replace(view, alpha=alpha)
    if not view.playing:
        return replace(view, alpha=1.0)
    if view.step >= view.steps:
        return replace(view, alpha=1.0, playing=False)
    return replace(view, step=view.step + 1, alpha=0.0)
