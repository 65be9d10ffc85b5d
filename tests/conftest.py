"""What all tests share: no display, no settings of the person who runs them, fixtures of more than one folder."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from gradviz.app import launch
from gradviz.trace import Trace
from tests import forked
from tests.lesson_runs import record_lessons

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.pop("GRADVIZ", None)

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def own_settings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings, caches and data of the person who runs the tests are neither read nor written."""
    home = tmp_path_factory.mktemp("home")
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(home / name.split("_")[1].lower()))


@pytest.fixture(autouse=True)
def quick_recorders(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recorders of windows are forked from one that has imported PyTorch, but for a test that is marked `cold`."""
    if request.node.get_closest_marker("cold") is None:
        stand_in = SimpleNamespace(**vars(subprocess) | {"Popen": forked.popen(subprocess.Popen)})
        monkeypatch.setattr(launch, "subprocess", stand_in)


@pytest.fixture(scope="session")
def programs() -> Path:
    """Folder of the example programs."""
    return ROOT / "resources" / "programs"


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory, programs: Path) -> Callable[[str], Path]:
    """Recording of an example program by its name, made by PyTorch once for all tests."""
    made: dict[str, Path] = {}
    folder = tmp_path_factory.mktemp("recordings")

    def record(name: str) -> Path:
        if name not in made:
            path = folder / f"{name}.gradviz"
            ran = forked.record("-o", path, programs / f"{name}.py")
            assert path.exists(), ran.stderr
            made[name] = path
        return made[name]

    return record


@pytest.fixture(scope="session")
def lesson_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Trace]:
    """Recording of a lesson's program and actions by the lesson's id."""
    runs: dict[str, Trace] = {}

    def run(ident: str) -> Trace:
        if not runs:
            runs.update(record_lessons(tmp_path_factory.mktemp("lessons")))
        return runs[ident]

    return run
