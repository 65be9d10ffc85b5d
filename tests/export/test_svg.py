"""The SVG of a step: valid XML, text as text, the same bytes each time."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from gradviz.export.svg import fit, to_svg
from gradviz.scene.theme import load_theme
from gradviz.trace import Trace
from gradviz.trace.events import Ended, Fault, Header, Op
from tests.scene.one_layer import recording

SVG = "{http://www.w3.org/2000/svg}"


def words(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg.encode()).iter(f"{SVG}text")]


@pytest.mark.parametrize("theme", ["light", "dark", "projector"])
@pytest.mark.parametrize("step", [0, 6, 10, 14])
def test_valid_and_the_same_each_time(theme: str, step: int) -> None:
    svg = to_svg(recording(), step, theme=theme)
    root = ET.fromstring(svg.encode())
    assert root.tag == f"{SVG}svg"
    assert svg == to_svg(recording(), step, theme=theme)
    assert load_theme(theme).canvas in svg


def test_text_is_text_in_named_fonts_with_fallbacks() -> None:
    svg = to_svg(recording(), 10)
    found = words(svg)
    assert {"matmul", "add", "AddBackward0", "loss", "z", "∇", ".grad", "None"} <= set(found)
    for element in ET.fromstring(svg.encode()).iter(f"{SVG}text"):
        assert element.get("font-family", "").endswith(("monospace", "sans-serif"))


def test_nothing_is_fetched() -> None:
    svg = to_svg(recording(), 10)
    assert svg.count("http") == 1, "only the name of the SVG language"
    assert "url(" not in svg
    assert "href" not in svg


def test_everything_lies_inside_the_picture() -> None:
    root = ET.fromstring(to_svg(recording(2), 18).encode())
    x, y, w, h = (float(v) for v in root.get("viewBox", "").split())
    for rect in root.iter(f"{SVG}rect"):
        left, top = float(rect.get("x", 0)), float(rect.get("y", 0))
        assert x <= left and left + float(rect.get("width", 0)) <= x + w + 0.01
        assert y <= top and top + float(rect.get("height", 0)) <= y + h + 0.01


def test_narration_can_be_left_out_and_spoken_in_chinese() -> None:
    plain = words(to_svg(recording(), 10, title=False))
    english = words(to_svg(recording(), 10))
    chinese = words(to_svg(recording(), 10, language="zh"))
    assert len(plain) < len(english)
    assert any(ord(letter) > 0x2E80 for text in chinese for letter in text)


def test_modes_show_their_half() -> None:
    forward = words(to_svg(recording(), 14, mode="forward", title=False))
    autograd = words(to_svg(recording(), 14, mode="autograd", title=False))
    assert "matmul" in forward
    assert "MmBackward0" not in forward
    assert "MmBackward0" in autograd
    assert "AccumulateGrad · w" in autograd


def test_steps_outside_are_the_nearest_inside() -> None:
    assert to_svg(recording(), 999) == to_svg(recording(), 14)
    assert to_svg(recording(), -5) == to_svg(recording(), 0)


def test_what_xml_cannot_hold_is_replaced() -> None:
    odd = "\0 \x1b[31m \ufffe \ud800"
    fault = Fault(0, odd, "")
    made = [Header(program=odd), Op(0, "ones", outputs=(0,)), fault, Ended(0, "error")]
    svg = to_svg(Trace(made), 2)
    assert "\ufffd[31m" in " ".join(words(svg)) and fit("é\t∇\n𝔘") == "é\t∇\n𝔘"
