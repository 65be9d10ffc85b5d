"""Themes hold every token, keep to the visual grammar, and can be read."""

import pytest

from gradviz.scene.theme import NAMES, TOKENS, contrast, load_theme, mix

GRAMMAR = {
    "forward": ("#0072B2", "#56B4E9"),
    "gradient": ("#C05300", "#FF9A4D"),
    "leaf": ("#00795A", "#2BC9A0"),
    "saved": ("#9B4F82", "#D99CC4"),
    "freed": ("#8A6D00", "#F0E442"),
    "error": ("#B3261E", "#FF8A80"),
    "idle": ("#6B6B6B", "#A8A8A8"),
}
MEANINGS = tuple(GRAMMAR)
GROUNDS = ("panel", "canvas", "card")


@pytest.mark.parametrize("name", NAMES)
def test_every_token_is_a_colour(name: str) -> None:
    theme = load_theme(name)
    assert theme.name == name
    for token in TOKENS:
        assert len(theme.color(token)) == 7
        int(theme.color(token)[1:], 16)


@pytest.mark.parametrize("meaning", MEANINGS)
def test_colours_of_the_visual_grammar(meaning: str) -> None:
    assert (load_theme("light").color(meaning), load_theme("dark").color(meaning)) == GRAMMAR[meaning]


@pytest.mark.parametrize("name", NAMES)
def test_text_can_be_read_on_every_ground(name: str) -> None:
    theme = load_theme(name)
    pairs = [(theme.color(t), theme.color(g)) for t in ("text", "text_dim", "text_faint") for g in (*GROUNDS, "window")]
    pairs += [(theme.color(m), theme.color(g)) for m in MEANINGS for g in GROUNDS]
    pairs += [(theme.ink(m), theme.color(f"{m}_fill")) for m in MEANINGS]
    assert [(*pair, contrast(*pair)) for pair in pairs if contrast(*pair) < 4.5] == []
    assert contrast(theme.accent_text, theme.accent) >= 4.5
    assert contrast(theme.text, theme.current_line) >= 4.5
    assert contrast(theme.text_dim, theme.forward_fill) >= 4.5


def test_contrast_of_known_pairs() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)


def test_mix_and_unknown_names() -> None:
    assert mix("#000000", "#FFFFFF", 0.5) == "#808080"
    assert mix("#102030", "#FFFFFF", 0) == "#102030"
    with pytest.raises(KeyError):
        load_theme("../light")
    with pytest.raises(KeyError):
        load_theme("light").color("name")
