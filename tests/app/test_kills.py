"""The recorder dies at any moment: the window answers, the recording up to there stays, and the next run works."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from gradviz.app.window import Window
from gradviz.player.program import Program
from gradviz.player.setup import Setup
from gradviz.trace import Trace
from gradviz.trace.events import Ended, Fault, Gone, Header, Op, Scope
from tests.app.pulse import Pulse, queued

Opened = Callable[..., Window]

WAYS = ("outside", "kill", "exit", "segfault", "memory", "fork")
PLACES = ("start", "forward", "between", "backward", "hook")
TEXT = (Path(__file__).parent / "deadly.py").read_text("utf-8")
ROUNDS, PAUSE = 60, 0.005
ANSWERS = 0.1
"""Seconds within which the window answers."""
UNFLUSHED = 0.5
"""Seconds of which the end may be lost: a frame is handed over after 50 ms, and the machine may be busy."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@dataclass
class Death:
    way: str
    place: str
    round: int
    delay: float

    def plan(self, log: Path) -> dict[str, Any]:
        outside = self.way == "outside"
        return {
            "way": self.way,
            "place": "" if outside else self.place,
            "round": self.round,
            "rounds": ROUNDS,
            "pause": PAUSE,
            "log": str(log),
            "piece": random.Random(self.round).choice((64, 4096, 1 << 20)),
        }


def deaths(count: int, seed: int) -> list[Death]:
    chance = random.Random(seed)
    return [
        Death(WAYS[i % len(WAYS)], chance.choice(PLACES), chance.randrange(ROUNDS), chance.uniform(-2.0, 0.4))
        for i in range(count)
    ]


def told(trace: Trace) -> list[Any]:
    """What was recorded, without what differs from run to run."""
    return [e for e in trace.events if not isinstance(e, Header | Ended | Gone)]


class Ward:
    """A window in which one program after another dies."""

    def __init__(self, window: Window, folder: Path, qtbot: QtBot) -> None:
        self.window, self.folder, self.qtbot = window, folder, qtbot
        self.runs = 0

    def start(self, plan: dict[str, Any]) -> None:
        path = self.folder / f"plan{self.runs}.json"
        path.write_text(json.dumps(plan))
        self.runs += 1
        session = self.window.session
        program = Program(TEXT, "deadly.py", setup=Setup(arguments=str(path)))
        session.update(program=program, step=0)
        self.window.desk.port.run_program()

    def die(self, death: Death) -> float:
        """Run until it is dead; gives for how long the window was away at most."""
        log = self.folder / f"log{self.runs}"
        self.start(death.plan(log))
        session, recorder = self.window.session, self.window.desk.recorder
        pulse = Pulse()
        if death.way == "outside":
            if death.delay > 0:
                self.qtbot.waitUntil(log.exists, timeout=60_000)
            until = time.monotonic() + abs(death.delay)
            self.qtbot.waitUntil(lambda: time.monotonic() > until)
            assert recorder.pid is not None
            os.kill(recorder.pid, signal.SIGKILL)
            with log.open("a") as file:
                file.write(f"{time.monotonic()} end\n")
        self.qtbot.waitUntil(lambda: session.view.live in ("gone", "ready"), timeout=60_000)
        self.qtbot.wait(50)
        return max(pulse.stop(), self.look())

    def look(self) -> float:
        """Walk through what there is; gives the longest time until an action was done."""
        longest = 0.0
        for action in ("step.last", "step.previous", "step.first", "step.next"):
            began = time.perf_counter() - queued()
            self.window.trigger(action)
            longest = max(longest, time.perf_counter() - queued() - began)
            self.qtbot.wait(20)
        return longest

    def problem(self, death: Death, whole: list[Any]) -> str:
        """What is not as it should be."""
        trace = self.window.session.trace
        if trace.damage is not None:
            return trace.damage
        outside = death.way == "outside"
        if not trace.cells:
            return "" if outside else "nothing is left"
        state = trace.ended[0].status
        if state not in {"outside": ("killed", "ok"), "memory": ("killed", "error")}.get(death.way, ("killed",)):
            return f"ended as {trace.ended}"
        known = told(trace)
        if state == "error":
            known = known[: next(i for i, e in enumerate(known) if isinstance(e, Fault))]
            while isinstance(known[-1], Op | Scope) and getattr(known[-1], "error", True):
                known.pop()  # what it has left on the way out
        if known != whole[: len(known)]:
            return "it is not what was recorded"
        rounds = self.log()
        must = sum(when < rounds[-1][0] - UNFLUSHED for when, what in rounds)
        return "" if len(trace.passes) >= must else f"{len(trace.passes)} of {must} passes are left"

    def log(self) -> list[tuple[float, str]]:
        lines = (self.folder / f"log{self.runs - 1}").read_text().splitlines()
        return [(float(when), what) for when, what in (line.split() for line in lines)]


def kill_all(window: Window, folder: Path, qtbot: QtBot, some: list[Death], answers: float) -> None:
    ward = Ward(window, folder, qtbot)
    plain = {"way": "", "place": "", "round": 0, "rounds": ROUNDS, "pause": 0.0, "log": str(folder / "log")}
    ward.start(plain)
    assert window.wait_ready(60)
    whole = told(window.session.trace)
    ward.look()  # what is imported at first use is imported now
    bad = []
    for death in some:
        longest = ward.die(death)
        problem = ward.problem(death, whole) or (f"away for {longest * 1000:.0f} ms" if longest > answers else "")
        if problem:
            bad.append(f"{death}: {problem}")
    assert not bad, "\n".join(bad)
    ward.start({**plain, "rounds": 3})
    assert window.wait_ready(60) and window.session.view.live == "ready"
    assert window.trigger("run.backward") and window.wait_ready(20), "the process takes lines"


def test_six_deaths(open_on: Opened, tmp_path: Path, qtbot: QtBot, recorded: Callable[[str], Path]) -> None:
    kill_all(open_on(recorded("one_layer")), tmp_path, qtbot, deaths(6, 0), 3 * ANSWERS)


@pytest.mark.slow
@pytest.mark.cold
def test_two_hundred_deaths(open_on: Opened, tmp_path: Path, qtbot: QtBot, recorded: Callable[[str], Path]) -> None:
    kill_all(open_on(recorded("one_layer")), tmp_path, qtbot, deaths(200, 1), ANSWERS)
