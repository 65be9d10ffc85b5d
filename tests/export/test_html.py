"""The HTML player: one file, no network, and the same state as the recording at every step, in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest

from gradviz.app.shelf import shelf
from gradviz.export.html import MOST_STEPS, TooLong, to_html
from gradviz.player.lesson_markup import to_html as markup
from gradviz.player.lesson_steps import step_of
from gradviz.player.lesson_tell import told
from gradviz.trace import Trace
from gradviz.trace.events import Header, Op
from tests.scene.one_layer import SOURCE, recording

BROWSER = next((b for name in ("chromium", "chromium-browser", "google-chrome") if (b := shutil.which(name))), None)


def test_one_small_file_that_fetches_nothing() -> None:
    page = to_html(recording(2))
    assert len(page.encode()) < 1_000_000
    assert "http" not in page
    assert not re.search(r"""(src|href)\s*=|url\(|@import|import\s*\(|fetch\(|XMLHttp""", page)


def test_the_program_is_text_not_markup() -> None:
    trace = recording()
    shown = to_html(Trace([Header(program="<b>.py", source="if a < b: '</script>'"), *trace.events[1:]]))
    assert "<b>.py" not in shown
    assert shown.count("</script>") == 1
    assert "requires_grad=True" in to_html(trace)
    assert SOURCE.splitlines()[4] in to_html(trace)


def test_too_long_a_recording_is_refused_in_words() -> None:
    ops = [Op(i, "add", outputs=(i,)) for i in range(MOST_STEPS + 1)]
    with pytest.raises(TooLong, match="2000 steps at most"):
        to_html(Trace([Header(), *ops]))


def in_browser(tmp_path: Path, page: str, script: str) -> Any:
    """Load a page from disk in headless Chromium and give what an expression says there."""
    assert BROWSER is not None
    told = f"encodeURIComponent(JSON.stringify({script}))"
    probe = f"<script>document.documentElement.setAttribute('data-told', {told})</script>"
    file = tmp_path / "player.html"
    file.write_text(page.replace("</body>", probe + "</body>"), "utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        [*command, "--virtual-time-budget=2000", "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = re.search(r'data-told="([^"]*)"', done.stdout)
    assert found, done.stdout[:400]
    return json.loads(unquote(found[1]))


@pytest.mark.chromium
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_steps_in_a_real_browser_as_the_recording_says(tmp_path: Path) -> None:
    trace = recording(2, retain=True)
    steps = trace.steps
    script = f"Array.from({{length: {steps + 1}}}, (_, n) => window.gradviz.goto(n))"
    states = in_browser(tmp_path, to_html(trace), script)
    for n, state in enumerate(states):
        frame = trace.at(n)
        assert state["step"] == n
        assert state["nodes"] == {str(k): frame.status(k) for k in range(len(trace.nodes))}
        for name in ("w", "b"):
            want = frame.grad_data(2 if name == "w" else 3)
            held = state["grads"][name]
            exact = frame.grad(2 if name == "w" else 3)
            assert (held is None) == (want is None)
            if exact is not None:
                assert np.asarray(held, np.float32).tobytes() == exact.tobytes()


@pytest.mark.chromium
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_buttons_keys_and_bounds_in_a_real_browser(tmp_path: Path) -> None:
    script = """(() => {
      const seen = [], say = () => seen.push(window.gradviz.state().step);
      const key = (k) => document.dispatchEvent(new KeyboardEvent("keydown", {key: k, bubbles: true}));
      say(); document.getElementById("next").click(); say(); key("ArrowRight"); say(); key("ArrowLeft"); say();
      key("End"); say(); key("ArrowRight"); say(); key("Home"); say(); window.gradviz.goto(999); say();
      window.gradviz.goto(-3); say();
      seen.push(document.querySelectorAll("#drawing text").length); window.gradviz.goto(10);
      seen.push(document.querySelectorAll("#drawing text").length > 20);
      seen.push(document.querySelector("#code .now").dataset.line);
      return seen;
    })()"""
    seen = in_browser(tmp_path, to_html(recording(), step=3), script)
    assert seen == [3, 4, 5, 4, 14, 14, 0, 14, 0, 0, True, "9"]


def test_a_lesson_is_in_its_page(lesson_run: Callable[[str], Trace]) -> None:
    lesson = shelf()[0]
    page = to_html(lesson_run(lesson.id), language="zh", lesson=lesson)
    assert len(page.encode()) < 1_000_000
    assert "http" not in page
    assert "单层网络的前向传播" in page and "下一处" in page
    assert 'id="lesson"' not in to_html(lesson_run(lesson.id))


@pytest.mark.chromium
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize(("position", "language"), [(0, "en"), (2, "zh")])
def test_a_lesson_in_a_real_browser(
    tmp_path: Path, lesson_run: Callable[[str], Trace], position: int, language: str
) -> None:
    """At every step the state of the window's frame, and at every checkpoint its step and its words."""
    lesson = shelf()[position]
    trace = lesson_run(lesson.id)
    script = """(() => {
      const all = [], told = () => document.getElementById("told").textContent;
      const by = (id) => { document.getElementById(id).click(); return [window.gradviz.state(), told()]; };
      for (let n = 0; n <= window.gradviz.steps; n++) all.push(window.gradviz.goto(n));
      const visits = DATA.lesson.map((_, k) => [window.gradviz.checkpoint(k), told()]);
      window.gradviz.checkpoint(0);
      return [all, visits, DATA.lesson.slice(1).map(() => by("on")), by("back")];
    })()"""
    states, visits, walked, back = in_browser(tmp_path, to_html(trace, language=language, lesson=lesson), script)
    for n, state in enumerate(states):
        frame = trace.at(n)
        assert state["step"] == n
        assert state["nodes"] == {str(k): frame.status(k) for k in range(len(trace.nodes))}
        for name in ("w", "b"):
            exact = frame.grad_data(name) if name in trace.names and trace.named(name, n) is not None else None
            held = state["grads"][name]
            assert (held is None) == (exact is None)
            if exact is not None:
                assert np.asarray(held, np.float32).tobytes() == exact.raw
    assert len(visits) == len(lesson.checkpoints)
    for k, (state, words) in enumerate(visits):
        point = lesson.checkpoints[k]
        assert (state["checkpoint"], state["step"]) == (k, step_of(trace, point.selector))
        assert words == unescape(re.sub("<[^>]*>", "", markup(told(trace, point, language))))
    assert walked == visits[1:]
    assert back == visits[-2]
