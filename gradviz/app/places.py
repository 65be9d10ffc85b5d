"""Where gradviz keeps what it remembers. Knows nothing of Qt: the recorder is started before Qt is imported."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def folder() -> Path:
    """The folder of the settings file; GRADVIZ_CONFIG_DIR names another one."""
    named = os.environ.get("GRADVIZ_CONFIG_DIR")
    return Path(named) if named else Path(platformdirs.user_config_dir("gradviz", appauthor=False))
