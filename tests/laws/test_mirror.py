"""Tests lie where one looks for them: each part of the package has the folder or file that mirrors it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = {"__init__": "test_public.py", "__main__": "test_cli.py"}
"""Modules whose tests have another name."""


def parts() -> list[str]:
    package = ROOT / "gradviz"
    folders = [path.parent.name for path in package.glob("*/__init__.py")]
    return sorted([*folders, *(path.stem for path in package.glob("*.py"))])


def is_tested(part: str) -> bool:
    tests = ROOT / "tests"
    if part in ELSEWHERE:
        return (tests / ELSEWHERE[part]).exists()
    return (tests / f"test_{part}.py").exists() or any((tests / part).glob("test_*.py"))


def test_every_part_has_its_tests() -> None:
    missing = [part for part in parts() if not is_tested(part)]
    assert not missing, f"without tests in the place that mirrors them: {missing}"


def test_the_law_bites() -> None:
    assert "trace" in parts()
    assert is_tested("trace")
    assert not is_tested("nowhere")
