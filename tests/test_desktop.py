"""The desktop entry, the type of recordings and the icons: written where a Linux desktop looks, and taken away."""

from __future__ import annotations

import configparser
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from gradviz import desktop
from gradviz.cli import main

pytestmark = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="for desktops that follow freedesktop")
MIME = "{http://www.freedesktop.org/standards/shared-mime-info}"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def test_what_is_installed_starts_gradviz_and_goes_again(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["desktop", "install"]) == 0
    paths = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert len(paths) == 4 and all(path.is_file() and path.is_relative_to(home) for path in paths)
    entry = configparser.ConfigParser(interpolation=None, strict=True)
    entry.optionxform = str  # type: ignore[assignment, method-assign]
    entry.read(home / "applications" / "gradviz.desktop", "utf-8")
    section = entry["Desktop Entry"]
    words = shlex.split(section["Exec"])
    assert words[-1] == "%f"
    ran = subprocess.run([*words[:-1], "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("gradviz ")
    types = ET.parse(home / "mime" / "packages" / "gradviz.xml").getroot()
    kind = types.find(f"{MIME}mime-type")
    assert kind is not None and kind.attrib["type"] in section["MimeType"].split(";")
    glob = kind.find(f"{MIME}glob")
    assert glob is not None and glob.attrib["pattern"] == "*.gradviz"
    icons = home / "icons" / "hicolor" / "scalable"
    assert (icons / "apps" / f"{section['Icon']}.svg").is_file()
    assert (icons / "mimetypes" / f"{kind.attrib['type'].replace('/', '-')}.svg").is_file()
    assert main(["desktop", "remove"]) == 0
    assert not any(path.exists() for path in paths) and main(["desktop", "remove"]) == 0


def test_an_odd_path_is_quoted() -> None:
    assert (
        desktop.command('/opt/a "b" $c\\d 100%/python')
        == '"/opt/a \\\\"b\\\\" \\\\$c\\\\\\\\d 100%%/python" -m gradviz %f'
    )


def test_a_relative_data_home_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "data")
    assert desktop.data_home() == Path.home() / ".local" / "share"


def test_where_it_cannot_be_written_one_sentence_says_so(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home.write_text("in the way")
    assert main(["desktop", "install"]) == 1
    assert str(home) in capsys.readouterr().err
