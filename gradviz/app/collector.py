"""Keeps Python's garbage collector out of a recording. It walks through all that lives: a fifth of a second at a
million events, again and again while they come; and nothing in a recording goes round in circles."""

from __future__ import annotations

import gc

from gradviz.player.view import ViewState

EVERY = 20_000
"""After so many new events, what there is by then is walked through no more."""


def spare(old: ViewState, new: ViewState) -> None:
    """A listener of the session: spares what has been recorded; with another recording, looks at everything again."""
    known = old.events
    if old.revision != new.revision:
        known = 0
        gc.unfreeze()
    if new.events // EVERY > known // EVERY:
        gc.freeze()
