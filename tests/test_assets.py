"""Resources are found, and the example programs have titles and are all there."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradviz import assets
from tests import forked

FAILING = {"inplace_error", "second_backward"}
NAMES = [path.stem for path, _ in assets.programs()]


def test_paths_and_texts() -> None:
    assert assets.path("themes", "dark.toml").is_file()
    assert "SIL Open Font License" in assets.text("fonts", "Inter-LICENSE.txt")
    with pytest.raises(FileNotFoundError):
        assets.text("no", "such.file")


def test_titles_are_sentences() -> None:
    assert {"one_layer", "accumulation"} <= set(NAMES)
    assert all(title.endswith(".") and len(title) > 20 for _, title in assets.programs())


@pytest.mark.parametrize("name", NAMES)
def test_programs_run_under_plain_python(name: str, programs: Path) -> None:
    ran = forked.python(programs / f"{name}.py")
    assert (ran.returncode != 0) == (name in FAILING), ran.stderr
    if name in FAILING:
        assert "RuntimeError" in ran.stderr
