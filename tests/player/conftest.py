"""Small programs recorded on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gradviz.trace import Trace, open_trace
from tests import forked


def _recorded(text: str, stem: Path) -> Trace:
    program, out = stem.with_suffix(".py"), stem.with_suffix(".gradviz")
    program.write_text(text, "utf-8")
    ran = forked.record("-o", out, program)
    assert out.exists(), ran.stderr
    return open_trace(out)


@pytest.fixture
def record_text(tmp_path: Path) -> Callable[[str], Trace]:
    """Records the text of a program, whether it raises or not."""

    def record(text: str) -> Trace:
        return _recorded(text, tmp_path / "program")

    return record


@pytest.fixture(scope="module")
def record_many(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[str]], list[Trace]]:
    """Records texts of programs, each in a process of its own."""

    def record(texts: list[str]) -> list[Trace]:
        folder = tmp_path_factory.mktemp("many")
        return [_recorded(text, folder / f"p{k}") for k, text in enumerate(texts)]

    return record
