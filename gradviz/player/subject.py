"""What a question is about: the leaf that is selected, or that the step changes."""

from __future__ import annotations

from gradviz.player.view import ViewState
from gradviz.trace import Trace
from gradviz.trace.events import Grad, NodeRan


def leaf_of(trace: Trace, view: ViewState) -> int | None:
    """The leaf that requires grad which is selected, or whose `.grad` the step is about; None for anything else."""
    kind, _, rest = (view.selection or "").partition(":")
    ident, event = rest.partition("@")[0], trace.event_at(view.step)
    if kind:
        tensor = int(ident) if kind in ("tensor", "leaf", "result", "grad") and ident.isdigit() else None
    elif isinstance(event, NodeRan):
        tensor = trace.nodes[event.node].leaf
    else:
        tensor = event.tensor if isinstance(event, Grad) else None
    told = None if tensor is None else trace.tensor(tensor, view.step)
    return tensor if told is not None and told.is_leaf and told.requires_grad else None
