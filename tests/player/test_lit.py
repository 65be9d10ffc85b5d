"""Where in the text that stands which the pointer is at elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from gradviz.player.lit import places_of
from gradviz.trace import Trace

TEXT = """import torch
w = torch.ones(2, requires_grad=True)
ww = torch.ones(2)
out = (w * ww + w).sum()
out.backward()
"""


def _texts(trace: Trace, key: str | None) -> list[tuple[int, str]]:
    file = trace.cells[0].file
    lines = trace.files[file].text.splitlines()
    spans = places_of(trace, key, file)
    return sorted((first, lines[first - 1][left:right]) for _, first, left, _, right in spans)


def test_made_and_used(record_text: Callable[[str], Trace]) -> None:
    trace = record_text(TEXT)
    w, ww = trace.named("w"), trace.named("ww")
    made = (2, "torch.ones(2, requires_grad=True)")
    assert _texts(trace, f"tensor:{w}") == [made, (4, "w"), (4, "w")]
    assert _texts(trace, f"leaf:{w}@op:2") == _texts(trace, f"tensor:{w}")
    assert _texts(trace, f"tensor:{ww}") == [(3, "torch.ones(2)"), (4, "ww")]
    mul = next(op for op in trace.ops if op.name == "mul")
    assert _texts(trace, f"op:{mul.id}") == _texts(trace, f"node:{mul.nodes[0]}") == [(4, "w * ww")]
    for key in (None, "", "fold:blocks", "tensor:999", "node:999", "op:999", f"pass:{0}"):
        assert _texts(trace, key) == []
    assert places_of(trace, f"tensor:{w}", 99) == ()
