"""Settings survive the way to a text file and back, whatever stands in that file."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gradviz.settings import RECENT, Settings, from_texts, opened, to_texts


def test_there_and_back() -> None:
    settings = Settings("dark", "zh", True, False, 2.0, True, ("/a/b.py", "/c d/e.gradviz"))
    assert from_texts(to_texts(settings)) == settings
    assert from_texts(to_texts(Settings())) == Settings() == from_texts({})


@given(st.dictionaries(st.sampled_from([*to_texts(Settings()), "other"]), st.text(max_size=20)))
def test_any_file_gives_usable_settings(texts: dict[str, str]) -> None:
    settings = from_texts(texts)
    assert settings.theme in ("light", "dark", "projector") and settings.language in ("en", "zh")
    assert 0.05 <= settings.speed <= 64 and isinstance(settings.wheel_zooms, bool)


def test_recent_files_are_few_and_newest_first() -> None:
    settings = Settings()
    for k in range(20):
        settings = opened(settings, f"/{k}.py")
    settings = opened(settings, "/15.py")
    assert settings.recent[:3] == ("/15.py", "/19.py", "/18.py") and len(settings.recent) == RECENT
    assert len(set(settings.recent)) == RECENT
