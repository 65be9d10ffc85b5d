"""Panels and sizes of presenter mode."""

from __future__ import annotations

from gradviz.player.show import LOW, MOST, PANELS, SCALES, Show, fitting, panels_of, scaled, toggled


def test_panels_come_and_go() -> None:
    show = Show()
    for panel in PANELS:
        assert (panel in toggled(show, panel).panels) != (panel in show.panels)
        assert toggled(toggled(show, panel), panel) == show
    assert toggled(show, "no such panel") == show
    assert panels_of(("left", "cellar")) == {"left"}


def test_letters_have_sizes_with_ends() -> None:
    show = Show()
    for _ in range(10):
        show = scaled(show, 1)
    assert show.scale == SCALES[-1]
    for _ in range(10):
        show = scaled(show, -1)
    assert show.scale == SCALES[0]


def test_letters_take_the_same_share_of_every_wall() -> None:
    assert fitting(LOW) == fitting(600) == SCALES[0]
    assert fitting(1080) == 1.25 and fitting(1200) == 1.5
    assert fitting(4000) == MOST < SCALES[-1], "the largest is for those who ask for it"
