"""Where settings and the window's shape are kept: an INI file in the folder that the platform has for such."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QSettings

from gradviz.app.places import folder
from gradviz.settings import Settings, from_texts, to_texts

VERSION = 1
"""Of the window's saved shape: an older one is not taken."""


class Store:
    """Reads at the start, writes when something has changed."""

    def __init__(self) -> None:
        self._file = QSettings(str(folder() / "gradviz.ini"), QSettings.Format.IniFormat)
        self.settings = self._read()

    def _read(self) -> Settings:
        self._file.beginGroup("settings")
        texts = {key: str(self._file.value(key)) for key in self._file.childKeys()}
        self._file.endGroup()
        return from_texts(texts)

    def write(self, settings: Settings) -> None:
        """Keep these settings."""
        if settings == self.settings:
            return
        self.settings = settings
        self._file.beginGroup("settings")
        for key, text in to_texts(settings).items():
            self._file.setValue(key, text)
        self._file.endGroup()
        self._file.sync()

    def shape(self, name: str) -> QByteArray | None:
        """The saved shape of a window or splitter."""
        value = self._file.value(f"window{VERSION}/{name}")
        return value if isinstance(value, QByteArray) else None

    def keep_shape(self, name: str, shape: QByteArray) -> None:
        """Keep the shape of a window or splitter."""
        self._file.setValue(f"window{VERSION}/{name}", shape)
