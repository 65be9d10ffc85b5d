"""The command line in processes of its own, and its sentences where something is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from gradviz import __version__, cli
from gradviz.trace import write_trace
from gradviz.trace.events import Ended, Header

ROOT = Path(__file__).resolve().parents[1]


def run(*words: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gradviz", *map(str, words)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=environment)


def test_version() -> None:
    assert run("--version").stdout == f"gradviz {__version__}\n"


@pytest.mark.parametrize("out_first", [True, False])
def test_record_passes_arguments_output_and_status_on(tmp_path: Path, out_first: bool) -> None:
    program, out = tmp_path / "p.py", tmp_path / "p.gradviz"
    program.write_text("import sys, torch\nprint(sys.argv[1:], torch.ones(2).sum().item())\nsys.exit(7)\n")
    words = ["-o", str(out), str(program), "a", "--b"] if out_first else [str(program), "a", "--b", "-o", str(out)]
    ran = run("record", *words, cwd=tmp_path)
    assert ran.returncode == 7, ran.stderr
    assert ran.stdout == "['a', '--b'] 2.0\n"
    info = json.loads(run("info", out, "--json").stdout)
    assert info["complete"] and info["output"] == ran.stdout


def test_a_program_that_fails_has_its_recording_and_status_1(tmp_path: Path, programs: Path) -> None:
    out = tmp_path / "x.gradviz"
    ran = run("record", programs / "second_backward.py", "-o", out)
    assert ran.returncode == 1
    assert "RuntimeError: Trying to backward through the graph a second time" in ran.stderr
    (fault,) = json.loads(run("info", out, "--json").stdout)["faults"]
    assert fault["kind"] == "freed_graph"


def test_values_none_reads_none(tmp_path: Path, programs: Path) -> None:
    out = tmp_path / "x.gradviz"
    assert run("record", "--values", "none", "-o", out, programs / "one_layer.py").returncode == 0
    leaves = json.loads(run("info", out, "--json").stdout)["leaves"]
    (w,) = [leaf for leaf in leaves if "w" in leaf["names"]]
    assert w["grad"] is None and w["grad_captured"] is False


def test_info_for_people(recorded: Callable[[str], Path]) -> None:
    assert "backward passes  3" in run("info", recorded("accumulation")).stdout


@pytest.mark.parametrize(
    ("kind", "begins"),
    [
        ("svg", b"<?xml"),
        ("html", b"<!"),
        ("dot", b"digraph"),
        ("json", b"{"),
        ("graphml", b"<?xml"),
        ("png", b"\x89PNG"),
        ("pdf", b"%PDF"),
    ],
)
def test_export_by_suffix(tmp_path: Path, recorded: Callable[[str], Path], kind: str, begins: bytes) -> None:
    out = tmp_path / f"x.{kind}"
    ran = run("export", recorded("one_layer"), "-o", out, "--step", "3")
    assert ran.returncode == 0, ran.stderr
    assert out.read_bytes().startswith(begins)


def test_a_program_is_recorded_before_it_is_exported(tmp_path: Path, programs: Path) -> None:
    out = tmp_path / "x.dot"
    ran = run("export", programs / "one_layer.py", "-o", out)
    assert ran.returncode == 0, ran.stderr
    assert "BinaryCrossEntropyWithLogitsBackward0" in out.read_text("utf-8")


def test_diagnose_says_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADVIZ_CONFIG_DIR", str(tmp_path))
    told = run("--diagnose").stdout
    said = dict(line.split(maxsplit=1) for line in told.splitlines())
    assert said["torch"].startswith(version("torch"))
    assert said["settings"] == str(tmp_path)
    assert "JetBrains Mono" in said["fonts"]
    assert Path(said["resources"]).is_dir()
    assert "offscreen" in told


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["x.txt"], 2, "no program"),
        (["none.py"], 1, "There is no file none.py."),
        (["--nonsense"], 2, "nrecognized arguments"),
        (["record"], 2, "needs a program"),
        (["record", "x.py"], 2, "needs -o"),
        (["record", "--speed", "x.py"], 2, "has no option --speed"),
        (["record", "-o"], 2, "-o needs a value"),
        (["record", "x.py", "-o", ""], 2, "-o needs a value"),
        (["record", "none.py", "-o", "x.gradviz"], 1, "There is no file none.py."),
        (["record", "x.py", "-o", "y", "--values", "some"], 2, "--values is one of"),
        (["info"], 2, "required"),
        (["info", "none.gradviz"], 1, "cannot be read"),
        (["export", "none.gradviz", "-o", "x.bmp"], 2, "ends in none of"),
        (["export", "none.gradviz", "-o", "x.svg"], 1, "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], words: list[str], status: int, sentence: str
) -> None:
    assert cli.main(words) == status
    said = capsys.readouterr()
    assert sentence in said.err and said.err.count("\n") == 1
    assert not said.out


def test_steps_that_are_not_there(capsys: pytest.CaptureFixture[str], recorded: Callable[[str], Path]) -> None:
    assert cli.main(["export", str(recorded("one_layer")), "-o", "x.svg", "--step", "9999"]) == 2
    assert "There is no step 9999" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("out", "sentence"),
    [("folder", "folder cannot be written: Is a directory."), ("p.py", "would take the place of the program")],
)
def test_what_cannot_take_a_recording_is_left_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, out: str, sentence: str
) -> None:
    (tmp_path / "folder").mkdir()
    program = tmp_path / "p.py"
    program.write_text("import torch\n")
    assert cli.main(["record", str(program), "-o", str(tmp_path / out)]) == 1
    assert sentence in capsys.readouterr().err
    assert program.read_text() == "import torch\n"


def test_without_a_screen_the_window_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, programs: Path
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert cli.main([str(programs / "one_layer.py")]) == 1
    assert "no screen" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no such file")
def test_output_that_nobody_reads_or_takes_is_no_crash(recorded: Callable[[str], Path]) -> None:
    command = [sys.executable, "-m", "gradviz", "info", str(recorded("one_layer")), "--json"]
    unread, unheard = os.pipe()
    os.close(unread)
    closed = subprocess.run(command, stdout=unheard, stderr=subprocess.PIPE, text=True, check=False)
    os.close(unheard)
    assert (closed.returncode, closed.stderr) == (0, "")
    with Path("/dev/full").open("wb") as full:
        filled = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (filled.returncode, filled.stderr) == (
        1,
        "gradviz: The output cannot be written: No space left on device.\n",
    )


def test_names_that_the_terminal_lacks_are_no_crash(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "x.gradviz"
    write_trace(out, [Header(program="\u68af.py"), Ended(0, "ok", 0, final=True)])
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    assert "\\u68af.py" in run("info", out).stdout
    assert json.loads(run("info", out, "--json").stdout)["complete"]
