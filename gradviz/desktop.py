"""Makes gradviz known to a Linux desktop: an entry in its menu, a type for `.gradviz` files, an icon for both.

Written into the person's own folders alone, after the Desktop Entry and Shared MIME-info specifications of freedesktop.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from gradviz import assets

_FILES = {
    "applications/gradviz.desktop": ("desktop", "gradviz.desktop"),
    "mime/packages/gradviz.xml": ("desktop", "gradviz.xml"),
    "icons/hicolor/scalable/apps/gradviz.svg": ("icons", "logo.svg"),
    "icons/hicolor/scalable/mimetypes/application-x-gradviz.svg": ("icons", "logo.svg"),
}
"""Below the data folder -> which resource."""
_CACHES = (("update-mime-database", "mime"), ("update-desktop-database", "applications"))


def data_home() -> Path:
    """Where this person's desktop looks for entries: XDG_DATA_HOME, where that is an absolute path."""
    given = Path(os.environ.get("XDG_DATA_HOME", ""))
    return given if given.is_absolute() else Path.home() / ".local" / "share"


def install() -> list[Path]:
    """Write the entry, the type and the icons; gives their paths. The entry starts this very Python.

    Raises:
        OSError: one of them cannot be written.
    """
    home = data_home()
    for name, resource in _FILES.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = assets.text(*resource)
        if path.suffix == ".desktop":
            text = re.sub("^Exec=.*$", lambda _: f"Exec={command()}", text, flags=re.MULTILINE)
        path.write_text(text, "utf-8")
    _refresh(home)
    return [home / name for name in _FILES]


def remove() -> list[Path]:
    """Take away what `install` wrote; gives what was there.

    Raises:
        OSError: one of them cannot be removed.
    """
    home = data_home()
    found = [path for name in _FILES if (path := home / name).exists()]
    for path in found:
        path.unlink()
    _refresh(home)
    return found


def command(python: str | None = None) -> str:
    """The value of `Exec`: an argument in quotes escapes four characters, the key's own rules double the backslashes,
    and a percent sign is doubled."""
    quoted = re.sub(r'(["`$\\])', r"\\\1", python or sys.executable).replace("\\", "\\\\").replace("%", "%%")
    return f'"{quoted}" -m gradviz %f'


def _refresh(home: Path) -> None:
    """Have the desktop read its folders anew, where it has a program for that."""
    for program, folder in _CACHES:
        found = shutil.which(program)
        if found and (home / folder).is_dir():
            subprocess.run([found, str(home / folder)], capture_output=True, check=False)
