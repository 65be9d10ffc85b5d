"""The one place where state lives: recording and view. Panels listen to it and keep nothing themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

from gradviz.explain.questions import Question, kinds_at, question
from gradviz.player.aligned import Aligned
from gradviz.player.breaks import Stops
from gradviz.player.compare import Comparison, compare
from gradviz.player.engine import Game, PlayedFrame, is_over
from gradviz.player.experiments import Broken, Experiment, experiments
from gradviz.player.lines import Leaf, Root, default_root, forward_source, leaves
from gradviz.player.query import Hits, find
from gradviz.player.quiz import Asked, Quiz, pick
from gradviz.player.subject import leaf_of
from gradviz.player.view import ViewState, go
from gradviz.trace import Frame, Trace
from gradviz.trace.codec import AnyItem

LOOK_SECONDS = 0.02
"""So long at most somebody waits for what differs; the rest is looked for in slices."""
Listener = Callable[[ViewState, ViewState], None]


class Session:
    """A recording, a view on it, and who wants to know when the view changes.

    Every change, the growth of the recording included (`view.steps`, `view.revision`), is a change of `view`.
    """

    def __init__(self, view: ViewState | None = None) -> None:
        self.trace = Trace()
        self.view = view or ViewState()
        self.unbroken: Trace | None = None
        """The recording that an experiment is compared with."""
        self.before: Trace | None = None
        """The run that this one is compared with: the one before it, or one that was opened for that."""
        self.before_name = ""
        """The file that it was opened from."""
        self.tape: list[bytes] | None = None
        """The bytes that the recording was decoded from, in order; None: it came some other way."""
        self._stops = Stops(self.trace, frozenset())
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Have `listener(old, new)` called after every change. Returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def update(self, **changes: Any) -> None:
        """Replace fields of the view. Listeners hear of it once, and only if something differs."""
        self.show(replace(self.view, **changes))

    def show(self, view: ViewState) -> None:
        """Make `view` the view."""
        old, self.view = self.view, _coherent(self.view, view)
        view = self.view
        if old != view:
            if (old.step, old.engine) != (view.step, view.engine):
                self.__dict__.pop("frame", None)
            if (old.comparing, old.live) != (view.comparing, view.live):
                self.__dict__.pop("aligned", None)
            if old.program is not view.program:
                self.__dict__.pop("breakable", None)
            if (old.quiz, old.language) != (view.quiz, view.language):
                self.__dict__.pop("question", None)
            if (old.live, old.experiment) != (view.live, view.experiment):
                self.__dict__.pop("comparison", None)
            if (old.step, old.search) != (view.step, view.search):
                self.__dict__.pop("hits", None)
            for listener in tuple(self._listeners):
                listener(old, view)

    def begin(self, trace: Trace, *, step: int = 0, tape: list[bytes] | None = None) -> None:
        """Take another recording. The one that was shown is kept to be compared with, unless a comparison is going on:
        then what that is with stays. `tape`: what it was decoded from; grows with it."""
        if self.trace.steps and not (self.view.comparing and self.before is not None):
            self.before, self.before_name = self.trace, ""
        self.trace, self.tape = trace, tape
        self._forget()
        self.update(
            revision=self.view.revision + 1,
            steps=trace.steps,
            events=len(trace.events),
            step=max(0, min(step, trace.steps)),
            alpha=1.0,
            playing=False,
            selection=None,
            hover=None,
            quiz=None,
            asked=(),
            engine=None,
            moment=None,
        )

    def compare_with(self, trace: Trace, name: str = "") -> None:
        """Compare with this recording from now on."""
        self.before, self.before_name = trace, name
        self.__dict__.pop("aligned", None)
        self.update(comparing=True, moment=None, compared=self.view.compared + 1)

    @cached_property
    def aligned(self) -> Aligned | None:
        """Both runs on one clock; None where nothing is compared, or the program has not ended yet."""
        view = self.view
        if not view.comparing or self.before is None or view.running:
            return None
        return Aligned(self.trace, self.before)

    @property
    def moment(self) -> int:
        """Where the common clock of a comparison stands."""
        if self.aligned is None:
            return 0
        return self.aligned.moment(self.view.step) if self.view.moment is None else self.view.moment

    def difference(self, way: int) -> int | None:
        """The next moment that differs (1), the one before (-1), or the first one (0); None where there is none."""
        if self.aligned is None:
            return None
        self.aligned.scan(LOOK_SECONDS)
        return self.aligned.previous(self.moment) if way < 0 else self.aligned.next(self.moment if way else 0)

    def to_moment(self, moment: int | None) -> None:
        """Go to a moment of the common clock."""
        if self.aligned is not None and moment is not None:
            self.update(playing=False, following=False, step=self.aligned.steps(moment)[0], alpha=1.0)
            self.update(moment=moment if self.aligned.pairs[moment][0] is None else None)

    def stop_at(self, way: int) -> int | None:
        """The next step at which a breakpoint stops (1), or the one before (-1)."""
        if self._stops.trace is not self.trace or self._stops.breaks != self.view.breaks:
            self._stops = Stops(self.trace, self.view.breaks)
        return self._stops.next(self.view.step) if way > 0 else self._stops.previous(self.view.step)

    def append(self, events: Iterable[AnyItem], **changes: Any) -> None:
        """Let the recording grow, and replace fields of the view in the same change."""
        self.trace.extend(events)
        self._forget()
        self.update(steps=self.trace.steps, events=len(self.trace.events), **changes)

    @cached_property
    def frame(self) -> Frame:
        """The recording at the view's step; while a person is the engine, with what that person has run."""
        game = self.view.engine
        return self.trace.at(self.view.step) if game is None else PlayedFrame(self.trace, game)

    @cached_property
    def hits(self) -> Hits:
        """What the view's search finds at its step, worked out once for all panels; empty where it searches nothing."""
        return find(self.frame, self.view.search) if self.view.search.strip() else Hits()

    @cached_property
    def forward(self) -> str | None:
        """The program's forward part, to run it again; None where it has none."""
        return forward_source(self.trace, self.trace.header.source)

    @cached_property
    def breakable(self) -> tuple[Experiment, ...]:
        """The experiments that the program of now has something for."""
        return experiments(self.trace, self.view.program.text)

    @property
    def no_leaf(self) -> str | None:
        """None where a leaf with a gradient is selected or stepped at; else the key of the sentence that says so."""
        leaf = leaf_of(self.trace, self.view)
        return "ui.reason.no_leaf_selected" if leaf is None or self.frame.grad_data(leaf) is None else None

    @cached_property
    def root(self) -> Root | None:
        """Where the next backward pass begins if nobody says otherwise."""
        return default_root(self.trace)

    @cached_property
    def leaves(self) -> list[Leaf]:
        """Leaves that a line of Python can reach, as things stand at the end of the recording."""
        return leaves(self.trace)

    # ---- predict, then reveal

    @cached_property
    def question(self) -> Question | None:
        """The question that stands, in the language of now."""
        quiz = self.view.quiz
        return question(self.trace, quiz.step, quiz.kind, self.view.language) if quiz else None

    def ask(self, step: int, kind: str | None = None) -> bool:
        """Put a question before a step, of a kind or of the one that is due; False where there is none to put."""
        if not 1 <= step <= self.trace.steps or (kind is None and self.view.level == "off"):
            return False
        chosen = kind or pick(kinds_at(self.trace, step), step, self.view.level, self.view.asked)
        if chosen is None or question(self.trace, step, chosen) is None:
            return False
        # The step first: a question goes when the step changes under it.
        self.update(step=step - 1, playing=False, following=False, alpha=1.0)
        self.update(quiz=Quiz(step, chosen))
        return True

    def choose(self, choice: int) -> None:
        """Take one of the choices; it can be changed until it is revealed."""
        quiz, asked = self.view.quiz, self.question
        if quiz and asked and not quiz.revealed and 0 <= choice < len(asked.choices):
            self.update(quiz=replace(quiz, chosen=choice))

    def reveal(self) -> None:
        """Go to the step and show the truth beside the prediction; a second time, put the question away."""
        quiz, asked = self.view.quiz, self.question
        if quiz is None or asked is None:
            return
        if quiz.revealed:
            self.update(quiz=None)
            return
        right = None if quiz.chosen is None else quiz.chosen == asked.truth
        view = replace(self.view, asked=(*self.view.asked, Asked(quiz.step, quiz.kind, right)))
        self.show(replace(go(view, quiz.step, animate=True), quiz=replace(quiz, revealed=True)))

    def skip(self) -> None:
        """Put the question away unanswered; it is not asked again."""
        quiz = self.view.quiz
        if quiz is not None:
            past = self.view.asked if quiz.revealed else (*self.view.asked, Asked(quiz.step, quiz.kind))
            self.update(quiz=None, asked=past)

    def see(self) -> None:
        """Go where the truth of a revealed question can be seen."""
        quiz, asked = self.view.quiz, self.question
        if quiz and asked and quiz.revealed and asked.reveal != self.view.step:
            self.show(replace(go(self.view, asked.reveal), quiz=replace(quiz, step=quiz.step)))

    # ---- be the engine

    def play_engine(self, within: int) -> None:
        """Let a person run the nodes of a pass, from its seed on."""
        self.update(step=int(self.trace.pass_step.view[within]), playing=False, following=False, alpha=1.0, quiz=None)
        self.update(engine=Game(within), selection=None)

    def move_engine(self, move: Callable[[Trace, Game], Game]) -> None:
        """Make a move of `gradviz.player.engine`; where it runs a node, its gradients travel."""
        game = self.view.engine
        if game is not None:
            after = move(self.trace, game)
            moves = len(after.done) > len(game.done) and not self.view.reduced_motion
            self.update(engine=after, alpha=0.0 if moves else 1.0)

    def leave_engine(self) -> None:
        """Be the engine no longer: a pass that is over is shown at its end."""
        game = self.view.engine
        if game is not None:
            self.update(engine=None, selection=None)
            if is_over(self.trace, game):
                self.update(step=self.trace.pass_end[game.within])

    def show_as(self, **changes: Any) -> None:
        """Change how presenter mode looks."""
        self.update(show=replace(self.view.show, **changes))

    # ---- break it

    def break_it(self, kind: str) -> Broken | None:
        """What to run for an experiment on the program of now; None where it has nothing for it. An experiment on a
        broken program begins at the unbroken one."""
        now = self.view.experiment
        trace = self.unbroken if now and self.unbroken else self.trace
        program, actions = (now.program, now.actions) if now else (self.view.program, self.view.actions)
        chosen = next((e for e in experiments(trace, program.text) if e.kind == kind), None)
        if chosen is None:
            return None
        self.unbroken = trace
        return Broken(chosen, program, actions)

    @cached_property
    def comparison(self) -> Comparison | None:
        """What the experiment changed, once its run is over; None before, and where there is none."""
        broken = self.view.experiment
        if broken is None or self.unbroken is None or self.view.running:
            return None
        if not self.trace.events or self.trace.header.source != broken.experiment.text:
            return None
        return compare(self.unbroken, self.trace, broken.experiment.line, broken.experiment.was)

    def _forget(self) -> None:
        """The recording is another or has grown: what was worked out from it holds no more."""
        for name in ("frame", "hits", "root", "leaves", "question", "comparison", "aligned", "forward", "breakable"):
            self.__dict__.pop(name, None)


def _coherent(old: ViewState, new: ViewState) -> ViewState:
    """A question goes when somebody moves on under it, and so do a played pass and a moment of the other
    run; an experiment goes with its program."""
    if new.experiment is not None and new.program.text != new.experiment.experiment.text:
        new = replace(new, experiment=None)  # another program
    if old.step == new.step:
        return new
    if new.moment == old.moment:
        new = replace(new, moment=None)
    quiz = None if new.quiz is old.quiz else new.quiz
    engine = None if new.engine is old.engine else new.engine
    return replace(new, quiz=quiz, engine=engine)
