"""With what a program is run: split as a shell does, read back from any file."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.player.setup import Setup, from_plain, split, to_plain


@given(st.lists(st.text(max_size=8)))
def test_arguments_are_split_as_a_shell_does(arguments: list[str]) -> None:
    assert split(shlex.join(arguments)) == tuple(arguments)


def test_an_open_quotation_is_told() -> None:
    with pytest.raises(ValueError, match="quotation"):
        split('--name "a b')


def test_there_and_back() -> None:
    setup = Setup("/x/python", "/y", "--lr 0.1", "a\nb")
    assert from_plain(to_plain(setup)) == setup and to_plain(Setup()) == {}


@pytest.mark.parametrize("value", [None, 3, [], {"python": 3}, {"other": "x"}, {"python": "a\0b"}])
def test_whatever_a_file_holds_is_harmless(value: object) -> None:
    assert from_plain(value) == Setup()
