"""Which Pythons are found, and what is told of them. The probe runs in real interpreters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradviz.app.interpreters import NEEDS, Report, command, find, judge


def environment(place: Path) -> Path:
    """A folder that looks like a virtual environment of this Python; starting its binary starts one."""
    (place / "bin").mkdir(parents=True)
    (place / "pyvenv.cfg").write_text(
        f"home = {Path(sys.executable).resolve().parent}\ninclude-system-site-packages = false\n"
    )
    (place / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    return place / "bin" / "python"


def probe(path: Path | str) -> Report:
    ran = subprocess.run(command(str(path)), capture_output=True, check=False, timeout=60)
    return judge(str(path), ran.stdout)


def test_environments_are_found_where_people_have_them(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "home" / "project"
    beside, active = environment(project / ".venv"), environment(tmp_path / "active")
    conda = environment(tmp_path / "conda" / "ml")
    versions = [environment(home / ".pyenv" / "versions" / name) for name in ("3.9.1", "3.12.4")]
    listed, program = environment(tmp_path / "listed"), project / "src" / "train.py"
    (home / ".conda").mkdir()
    (home / ".conda" / "environments.txt").write_text(f"{listed.parent.parent}\n/nowhere\n")
    outside = environment(tmp_path / ".venv")
    environ = {"VIRTUAL_ENV": str(tmp_path / "active"), "CONDA_PREFIX": str(tmp_path / "conda" / "ml")}
    found = find(str(program), {**environ, "PATH": str(active.parent)}, home)
    told = [(known.kind, known.path) for known in found]
    assert told == [
        ("own", sys.executable),
        ("active", str(active)),
        ("conda", str(conda)),
        ("beside", str(beside)),
        ("conda", str(listed)),
        ("pyenv", str(versions[1])),
        ("pyenv", str(versions[0])),
    ], "each once, the newest pyenv first, nothing from above the home folder"
    assert str(outside) not in [path for _, path in told]
    assert [known.name for known in found][1:5] == ["active", "ml", ".venv", "listed"]


def test_this_python_will_do() -> None:
    report = probe(sys.executable)
    assert report.problem == "" and not report.lacking and not report.line
    assert report.python == ".".join(map(str, sys.version_info[:3])) and report.torch.count(".") >= 1


def test_a_bare_environment_gets_the_one_line_to_type(tmp_path: Path) -> None:
    path = environment(tmp_path / "bare one")
    report = probe(path)
    assert report.problem == "torch_missing" and set(report.lacking) == {"torch", *NEEDS}
    quoted = f"'{path}'"
    assert report.line == (f"{quoted} -m ensurepip && {quoted} -m pip install torch msgspec zstandard executing numpy")


def answer(python: list[int], found: dict[str, str], *, pip: bool = True) -> bytes:
    return json.dumps({"python": python, "found": found, "pip": pip}).encode()


GOOD = {"torch": "2.13.0+cpu", "msgspec": "0.19.0", "zstandard": "0.23.0", "executing": "2.1.0", "numpy": "2.0.0"}


@pytest.mark.parametrize(
    ("python", "change", "problem", "line"),
    [
        ([3, 12, 1], {}, "", ""),
        ([3, 10, 0], {}, "python_old", ""),
        ([3, 12, 1], {"torch": "2.5.1"}, "torch_old", "/p -m pip install --upgrade torch"),
        ([3, 12, 1], {"torch": None}, "torch_missing", "/p -m pip install torch"),
        ([3, 12, 1], {"torch": "version = '2.7.0a0+git'"}, "", ""),
        ([3, 12, 1], {"numpy": None}, "needs", "/p -m pip install msgspec zstandard executing numpy"),
        ([3, 12, 1], {"numpy": "1.9.3"}, "needs", "/p -m pip install --upgrade msgspec zstandard executing numpy"),
    ],
)
def test_what_is_missing_or_too_old_is_told(
    python: list[int], change: dict[str, str | None], problem: str, line: str
) -> None:
    found = {name: version for name, version in {**GOOD, **change}.items() if version is not None}
    report = judge("/p", answer(python, found))
    assert (report.problem, report.line) == (problem, line)
    assert "gradviz" not in report.line, "that name belongs to another project there"


@pytest.mark.parametrize("output", [b"", b"no", b"[]", b"{}", b'{"python": "x", "found": {}, "pip": 1}'])
def test_what_is_no_python_is_broken(output: bytes) -> None:
    assert judge("/p", output).problem == "broken"


def test_the_probe_runs_on_any_python_there_is() -> None:
    versions = Path.home() / ".pyenv" / "versions"
    old = [path for name in ("2.7", "3.6") for path in sorted(versions.glob(f"{name}*/bin/python"))]
    if not old or not os.access(old[0], os.X_OK):
        pytest.skip("no old Python here")
    for path in old:
        assert probe(path).problem == "python_old"
