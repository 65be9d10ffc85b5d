"""Questions that are offered make sense: each is answered, none twice, and every question of the list is reached."""

from __future__ import annotations

import pytest

from gradviz.explain import why
from gradviz.explain.answers import QUESTIONS
from gradviz.explain.labels import tensor_label
from gradviz.explain.offers import offers, step_says
from gradviz.player.subject import asked_at
from tests.explain.case_programs import trace_of

ROWS = ("A1", "A3", "A9", "A11", "A17", "A26", "A55", "A67_zero")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("row", ROWS)
def test_each_question_that_is_offered_is_the_one_that_is_answered(row: str, language: str) -> None:
    trace = trace_of(row)
    for step in range(1, trace.steps + 1):
        found = offers(trace, step, asked_at(trace, step), language)
        assert found
        assert len({(o.target, o.question) for o in found}) == len(found)
        for offer in found:
            answer = why(trace, step, offer.target, offer.question, language)
            assert answer.question == offer.text
            assert answer.sentences
            assert "{" not in offer.text + "".join(answer.sentences)


def test_the_likeliest_question_comes_first() -> None:
    trace = trace_of("A1")
    for step in range(1, trace.steps + 1):
        target = asked_at(trace, step)
        assert offers(trace, step, target)[0].text == why(trace, step, target).question


def test_every_question_can_be_chosen_somewhere() -> None:
    chosen = set()
    for row in ROWS:
        trace = trace_of(row)
        keys = [asked_at(trace, s) for s in range(1, trace.steps + 1)]
        keys += [f"tensor:{t}" for t in trace.tensors] + [f"node:{n.id}" for n in trace.nodes]
        chosen |= {o.question for s in range(1, trace.steps + 1) for key in keys for o in offers(trace, s, key)}
    assert chosen == {question for asked in QUESTIONS.values() for question in asked}


def test_none_and_number_are_offered_as_things_stand() -> None:
    trace = trace_of("A1")
    x = trace.named("x")
    for step in range(trace.steps + 1):
        asked = {o.question for o in offers(trace, step, f"grad:{x}")}
        assert x is not None
        assert ("none" in asked) == (trace.at(step).grad_data(x) is None)
        assert ("number" in asked) != ("none" in asked)


def test_a_step_is_told_by_the_program_s_own_text() -> None:
    trace = trace_of("A9")
    said = [step_says(trace, step) for step in range(1, trace.steps + 1)]
    assert any("add_(1" in text for text in said)
    assert all(said)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("row", ["A1", "A9", "A13", "A15"])
def test_why_on_an_error_says_more_than_its_card(row: str, language: str) -> None:
    trace = trace_of(row)
    fault = trace.faults[-1]
    answer = why(trace, trace.steps, f"fault:{fault.id}", language=language)
    more = answer.sentences[answer.on_card :]
    assert more
    assert fault.node is not None
    assert any(trace.nodes[fault.node].name in text for text in more)
    if fault.code == "version_mismatch":
        assert fault.tensor is not None
        assert any(tensor_label(trace, fault.tensor) in t and str(fault.facts["version"]) in t for t in more)
    assert len(answer.steps_to_jump) > 1
