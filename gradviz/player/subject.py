"""What a step or a question is about, as a key of selections."""

from __future__ import annotations

from gradviz.player.view import ViewState
from gradviz.trace import Trace
from gradviz.trace.events import Backward, Fault, Grad, NodeRan, Op


def key_of_step(trace: Trace, step: int) -> str | None:
    """The key of what a step is about; None at step 0."""
    event = trace.event_at(step)
    if isinstance(event, NodeRan):
        leaf = trace.nodes[event.node].leaf
        return f"node:{event.node}" if leaf is None else f"tensor:{leaf}"
    if isinstance(event, Op):
        return f"op:{event.id}"
    if isinstance(event, Backward):
        return f"pass:{event.id}"
    if isinstance(event, Grad):
        return f"tensor:{event.tensor}"
    return f"fault:{event.id}" if isinstance(event, Fault) else None


def asked_at(trace: Trace, step: int) -> str:
    """What somebody who asks why at a step asks about: the gradient that was written, the root of a pass, the node that
    ran, also where it is a leaf's; "" at step 0."""
    event = trace.event_at(step)
    if isinstance(event, NodeRan):
        return f"node:{event.node}"
    if isinstance(event, Grad):
        return f"grad:{event.tensor}"
    if isinstance(event, Backward):
        return f"tensor:{event.tensors[0]}" if event.tensors else ""
    return key_of_step(trace, step) or ""


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
