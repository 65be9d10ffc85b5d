"""A theme as Qt has it: palette and style sheet. Qt's own dark mode is not used: many platforms have none."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import QApplication

from gradviz.app.fonts import MONO, SANS, load_fonts
from gradviz.app.icons import picture
from gradviz.player.view import ViewState
from gradviz.scene.theme import Theme, load_theme, mix

TEXT_PX = 13
PRESENTER_PX = 17
BAR = 56
"""Height of the toolbar."""
SIDES = (300, 860, 330)
"""Widths of left column, canvas and inspector before anybody moves the borders."""
CODE = 420
"""As far as a wide window widens the left column, for the lines of the program."""
TIMELINE = 226
"""Height of the timeline, likewise."""
DRESSED = "dressed"
"""The application's property that tells what it was dressed in."""


def dress(app: QApplication, name: str, *, larger: float = 0.0) -> None:
    """Give every window the colours of a theme; `larger` (1 or more) makes the letters for a lecture hall."""
    if app.property(DRESSED) == (worn := f"{name} {larger}"):
        return  # Qt would style every widget again, for a second
    app.setProperty(DRESSED, worn)
    theme = load_theme(name)
    load_fonts()
    if app.style().objectName().lower() != "fusion":
        app.setStyle("fusion")
    size = round(PRESENTER_PX * larger) if larger else TEXT_PX
    font = QFont([*SANS])
    font.setPixelSize(size)
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    app.setFont(font)
    app.setPalette(palette(theme))
    app.setStyleSheet(sheet(theme.name, size))


def larger(view: ViewState) -> float:
    """How much larger than at a desk panels paint their letters."""
    return PRESENTER_PX / TEXT_PX * view.show.scale if view.presenter else 1.0


def palette(theme: Theme) -> QPalette:
    """All roles that Fusion draws with."""
    made, role, group = QPalette(), QPalette.ColorRole, QPalette.ColorGroup
    colors = {
        role.Window: theme.panel,
        role.WindowText: theme.text,
        role.Base: theme.panel,
        role.AlternateBase: theme.window,
        role.Text: theme.text,
        role.Button: theme.panel,
        role.ButtonText: theme.text,
        role.BrightText: theme.error,
        role.ToolTipBase: theme.panel,
        role.ToolTipText: theme.text,
        role.PlaceholderText: theme.text_faint,
        role.Highlight: mix(theme.panel, theme.forward, 0.28),
        role.HighlightedText: theme.text,
        role.Link: theme.forward,
        role.LinkVisited: theme.forward,
        role.Light: theme.panel,
        role.Midlight: theme.border,
        role.Mid: theme.border,
        role.Dark: theme.card_border,
        role.Shadow: theme.card_border,
        role.Accent: theme.accent,
    }
    for key, value in colors.items():
        made.setColor(key, QColor(value))
    for key in (role.WindowText, role.Text, role.ButtonText):
        made.setColor(group.Disabled, key, QColor(theme.text_faint))
    return made


@cache
def _drawn(name: str, color: str) -> str:
    """A style sheet takes pictures from files only."""
    path = Path(_folder().name) / f"{name}-{color[1:]}.png"
    picture(name, color).save(str(path))
    return path.as_posix()


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="gradviz-", ignore_cleanup_errors=True)


@cache
def sheet(name: str, size: int = TEXT_PX) -> str:
    """The style sheet of a theme."""
    t = load_theme(name)
    mono = ", ".join(f'"{family}"' for family in MONO)
    hover = mix(t.panel, t.text, 0.06)
    check = _drawn("check", t.accent_text)
    down, up = _drawn("down", t.text_dim), _drawn("up", t.text_dim)
    faint = mix(t.panel, t.text_faint, 0.7)
    return f"""
QToolTip {{ color: {t.text}; background: {t.panel}; border: 1px solid {t.card_border}; padding: 4px 6px; }}
QMainWindow, QWidget#center {{ background: {t.canvas}; }}
QWidget#bar {{ background: {t.panel}; border-bottom: 1px solid {t.border}; }}
QWidget#left, QWidget#right {{ background: {t.panel}; }}
QWidget#lesson {{ background: {t.panel}; border-bottom: 1px solid {t.border}; }}
QWidget#lesson QTextBrowser {{ background: transparent; }}
QWidget#line {{ background: {t.border}; }}
QSplitter::handle {{ background: {t.border}; }}
QSplitter::handle:hover {{ background: {t.card_border}; }}
QStatusBar {{ background: {t.window}; border-top: 1px solid {t.border}; color: {t.text_dim}; }}
QStatusBar::item {{ border: none; }}
QStatusBar QLabel {{ color: {t.text_dim}; padding: 0 6px; }}
QLabel#title {{ font-weight: 600; }}
QLabel#heading, QToolButton#heading {{ font-weight: 600; color: {t.text_dim}; }}
QLabel#dim {{ color: {t.text_dim}; }}
QLabel#mono {{ font-family: {mono}; }}
QToolButton#heading {{ border: none; border-bottom: 2px solid transparent; padding: 2px 0 4px 0; background: none; }}
QToolButton#heading:checked {{ color: {t.text}; border-bottom-color: {t.accent}; }}
QToolButton#heading:hover {{ color: {t.text}; }}
QToolButton#link {{ border: none; color: {t.forward}; background: none; padding: 2px; font-weight: 500; }}
QToolButton#link:hover, QToolButton#link:focus {{ text-decoration: underline; }}
QToolButton#link:disabled {{ color: {t.text_faint}; }}
QToolButton#plain {{ border: none; border-radius: 6px; padding: 5px; background: transparent; color: {t.text_dim};
    font-weight: 500; }}
QToolButton#plain:hover {{ background: {hover}; }}
QToolButton#plain::menu-indicator {{ image: url({down}); width: 12px; height: 12px; subcontrol-position: right center;
    right: 2px; }}
QToolButton#name {{ border: none; border-radius: 6px; padding: 5px 18px 5px 4px; background: transparent;
    color: {t.text}; font-weight: 600; font-size: {size + 1}px; }}
QToolButton#name:hover {{ background: {hover}; }}
QToolButton#name::menu-indicator {{ image: url({down}); width: 12px; height: 12px; subcontrol-position: right center;
    right: 2px; }}
QToolButton#plain[popupMode="2"] {{ padding-right: 16px; }}
QToolButton#box, QToolButton#code, QPushButton, QComboBox {{ border: 1px solid {t.card_border}; border-radius: 6px;
    padding: 5px 10px; background: {t.panel}; color: {t.text}; font-weight: 600; min-height: 18px; }}
QPushButton#opens {{ margin: 6px 18px; }}
QToolButton#code {{ font-family: {mono}; font-weight: 400; }}
QToolButton#box:hover, QToolButton#code:hover, QPushButton:hover, QComboBox:hover {{ background: {hover}; }}
QToolButton#box:focus, QToolButton#code:focus, QPushButton:focus, QComboBox:focus, QToolButton#plain:focus,
QToolButton#name:focus,
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QToolButton#primary:focus, QToolButton#backward:focus {{
    border: 1px solid {t.forward}; }}
QToolButton#box:disabled, QToolButton#code:disabled, QPushButton:disabled {{ color: {faint}; }}
QToolButton#code::menu-indicator, QToolButton#box::menu-indicator {{ image: url({down}); width: 12px; height: 12px;
    subcontrol-position: right center; right: 5px; }}
QToolButton#code[popupMode="2"], QToolButton#box[popupMode="2"] {{ padding-right: 20px; }}
QToolButton#primary, QPushButton#primary {{ border: 1px solid {t.accent}; border-radius: 6px; padding: 5px 12px;
    background: {t.accent}; color: {t.accent_text}; font-weight: 600; min-height: 18px; }}
QToolButton#primary:hover, QPushButton#primary:hover {{ background: {mix(t.accent, t.text, 0.12)}; }}
QToolButton#primary:disabled, QPushButton#primary:disabled {{ background: {hover}; border-color: {t.card_border};
    color: {faint}; }}
QToolButton#backward {{ border: 1px solid {t.accent}; border-radius: 6px; padding: 5px 10px; min-height: 18px;
    background: {t.gradient_fill}; color: {t.ink("gradient")}; font-family: {mono}; font-weight: 600; }}
QToolButton#backward:hover {{ background: {mix(t.gradient_fill, t.accent, 0.15)}; }}
QToolButton#backward:disabled {{ border-color: {t.card_border}; background: {t.panel}; color: {faint}; }}
QCheckBox {{ spacing: 6px; color: {t.text}; }}
QCheckBox#code {{ font-family: {mono}; }}
QCheckBox::indicator {{ width: 15px; height: 15px; border: 1px solid {t.idle}; border-radius: 4px;
    background: {t.panel}; }}
QCheckBox::indicator:checked {{ background: {t.accent}; border-color: {t.accent}; image: url({check}); }}
QCheckBox:focus {{ color: {t.forward}; }}
QComboBox#code {{ font-family: {mono}; font-weight: 400; }}
QComboBox::drop-down {{ border: none; width: 20px; }}
QComboBox::down-arrow {{ image: url({down}); width: 12px; height: 12px; }}
QComboBox QAbstractItemView {{ background: {t.panel}; border: 1px solid {t.card_border}; color: {t.text};
    selection-background-color: {hover}; selection-color: {t.text}; outline: none; }}
QLineEdit, QSpinBox, QDoubleSpinBox {{ border: 1px solid {t.card_border}; border-radius: 6px; padding: 4px 8px;
    background: {t.panel}; color: {t.text}; min-height: 18px; }}
QSpinBox, QDoubleSpinBox {{ padding: 4px 22px 4px 8px; }}
QSpinBox::up-button, QDoubleSpinBox::up-button {{ border: none; width: 20px; subcontrol-position: top right; }}
QSpinBox::down-button, QDoubleSpinBox::down-button {{ border: none; width: 20px; subcontrol-position: bottom right; }}
QSpinBox::up-arrow, QDoubleSpinBox::up-arrow {{ image: url({up}); width: 12px; height: 12px; }}
QSpinBox::down-arrow, QDoubleSpinBox::down-arrow {{ image: url({down}); width: 12px; height: 12px; }}
QPlainTextEdit, QListView, QTreeView, QTableView {{ border: none; background: {t.panel}; color: {t.text}; }}
QPlainTextEdit#field {{ border: 1px solid {t.card_border}; border-radius: 6px; padding: 2px 4px; }}
QPlainTextEdit#field:focus {{ border: 1px solid {t.forward}; }}
QPlainTextEdit#code, QListView#code {{ font-family: {mono}; font-size: {size - 1}px; }}
QListView::item {{ padding: 3px 4px; border-radius: 4px; }}
QListView::item:hover {{ background: {hover}; }}
QListView::item:selected {{ background: {mix(t.panel, t.forward, 0.16)}; color: {t.text}; }}
QHeaderView::section {{ background: {t.panel}; color: {t.text_dim}; border: none; padding: 3px; }}
QMenu {{ background: {t.panel}; border: 1px solid {t.card_border}; padding: 4px; }}
QMenu::item {{ padding: 5px 28px 5px 22px; border-radius: 4px; color: {t.text}; }}
QMenu::item:selected {{ background: {hover}; }}
QMenu::item:disabled {{ color: {faint}; }}
QMenu::separator {{ height: 1px; background: {t.border}; margin: 4px 6px; }}
QMenuBar {{ background: {t.panel}; color: {t.text}; }}
QMenuBar::item:selected {{ background: {hover}; }}
QFrame#card {{ background: {t.panel}; border: 1px solid {t.card_border}; border-radius: 8px; }}
QFrame#errorcard {{ background: {t.panel}; border: 1px solid {t.error}; border-left: 5px solid {t.error};
    border-radius: 8px; }}
QPushButton#choice {{ text-align: left; font-weight: 400; padding: 0; }}
QPushButton#choice:checked {{ border: 2px solid {t.forward}; background: {t.forward_fill}; }}
QPushButton#choice QLabel {{ background: transparent; }}
QFrame#good, QFrame#bad {{ border: none; border-radius: 6px; }}
QFrame#good {{ background: {t.leaf_fill}; border-left: 4px solid {t.leaf}; }}
QFrame#bad {{ background: {t.error_fill}; border-left: 4px solid {t.error}; }}
QFrame#good QLabel, QFrame#bad QLabel {{ background: transparent; color: {t.text}; }}
QLabel#counter {{ color: {t.text_dim}; font-size: {size + 9}px; font-weight: 600; background: transparent; }}
QLabel#keycaps {{ color: {t.panel}; background: {t.text}; border-radius: 8px; padding: 8px 16px;
    font-size: {size + 5}px; font-weight: 600; }}
QFrame#banner {{ background: {t.error_fill}; border-bottom: 1px solid {t.error}; }}
QFrame#banner QLabel {{ color: {t.ink("error")}; }}
QFrame#note {{ background: {t.forward_fill}; border-bottom: 1px solid {t.forward}; }}
QFrame#note QLabel {{ color: {t.ink("forward")}; }}
QToolButton#segment {{ border: 1px solid {t.card_border}; border-radius: 13px; padding: 4px 12px;
    background: {t.panel}; color: {t.text_dim}; font-weight: 500; }}
QToolButton#segment:hover {{ color: {t.text}; }}
QToolButton#segment:checked {{ background: {t.selection}; border-color: {t.selection}; color: {t.panel}; }}
QToolButton#tool {{ border: 1px solid {t.card_border}; border-radius: 13px; padding: 4px 8px; background: {t.panel}; }}
QToolButton#tool:hover {{ background: {hover}; }}
QToolButton#tool:checked {{ border: 2px solid {t.forward}; background: {t.forward_fill}; }}
QToolButton#tool:focus {{ border-color: {t.forward}; }}
QToolButton#segment:focus {{ border-color: {t.forward}; }}
QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0; }}
QScrollBar:horizontal {{ background: transparent; height: 10px; margin: 0; }}
QScrollBar::handle {{ background: {mix(t.panel, t.text, 0.22)}; border-radius: 4px; min-height: 24px; min-width: 24px;
    margin: 1px; }}
QScrollBar::handle:hover {{ background: {mix(t.panel, t.text, 0.38)}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: none; }}
QScrollArea {{ border: none; background: transparent; }}
"""
