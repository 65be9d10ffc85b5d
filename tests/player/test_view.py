"""Time passes by argument: what a view is a moment later."""

from __future__ import annotations

from gradviz.player.view import STEP_SECONDS, ViewState, advance, go


def test_go_stays_inside_the_recording() -> None:
    view = ViewState(steps=5)
    assert [go(view, k).step for k in (-3, 0, 2, 5, 9)] == [0, 0, 2, 5, 5]


def test_motion_begins_only_where_something_moves() -> None:
    view = ViewState(steps=5)
    assert go(view, 1, animate=True).alpha == 0.0
    assert go(view, 0, animate=True).alpha == 1.0
    assert go(ViewState(steps=5, reduced_motion=True), 1, animate=True).alpha == 1.0


def test_playing_stands_on_each_step_for_its_time() -> None:
    view = ViewState(steps=2, playing=True, alpha=0.0)
    seen = []
    for _ in range(100):
        view = advance(view, STEP_SECONDS / 10)
        seen.append(view.step)
    assert view == ViewState(steps=2, step=2, playing=False)
    assert 9 <= seen.count(1) <= 11 and seen == sorted(seen)


def test_reduced_motion_plays_at_the_same_pace() -> None:
    plain = ViewState(steps=9, playing=True, alpha=0.0)
    reduced = ViewState(steps=9, playing=True, alpha=0.0, reduced_motion=True)
    for _ in range(37):
        plain, reduced = advance(plain, STEP_SECONDS / 7), advance(reduced, STEP_SECONDS / 7)
    assert plain.step == reduced.step == 5


def test_speed_is_a_factor() -> None:
    slow, fast = (ViewState(steps=50, playing=True, alpha=0.0, speed=s) for s in (1.0, 4.0))
    for _ in range(80):
        slow, fast = advance(slow, STEP_SECONDS / 8), advance(fast, STEP_SECONDS / 8)
    assert abs(fast.step - 4 * slow.step) <= 4 and slow.step >= 9


def test_a_view_at_rest_stays() -> None:
    view = ViewState(step=1, steps=3)
    assert advance(view, 10.0) == view
