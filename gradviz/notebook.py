"""A recording as a notebook shows it: the last step as a picture, and a slider to walk. No network, no IPython."""

from __future__ import annotations

import json
from html import escape
from uuid import uuid4

from gradviz.export.svg import to_svg
from gradviz.trace import Trace

MOST_PICTURES = 120
"""A recording of more steps shows this many of them, evenly spread, first and last included."""

_PAGE = """<div id="{id}" style="font:13px sans-serif">
<div class="picture" style="overflow:auto;max-height:640px">{last}</div>
<label>step <input type="range" min="0" max="{top}" value="{top}" style="width:60%;vertical-align:middle">
<output>{step} of {steps}</output></label>
<script type="application/json">{data}</script>
<script>(function () {{
  const root = document.getElementById("{id}");
  const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
  const slider = root.querySelector("input");
  slider.addEventListener("input", function () {{
    root.querySelector(".picture").innerHTML = data.pictures[slider.value];
    root.querySelector("output").textContent = data.steps[slider.value] + " of " + data.last;
  }});
}})();</script></div>"""


def bundle(trace: Trace) -> dict[str, str]:
    """Media types and contents for a notebook: a page with a slider."""
    steps = shown_steps(trace.steps)
    pictures = [_svg(trace, step) for step in steps]
    data = json.dumps({"steps": steps, "last": trace.steps, "pictures": pictures}).replace("<", "\\u003c")
    page = _PAGE.format(
        id=escape(f"gradviz-{uuid4().hex}"),
        last=pictures[-1],
        top=len(steps) - 1,
        step=trace.steps,
        steps=trace.steps,
        data=data,
    )
    return {"text/html": page}


def shown_steps(last: int) -> list[int]:
    """The steps that get a picture."""
    if last < MOST_PICTURES:
        return list(range(last + 1))
    return sorted({round(k * last / (MOST_PICTURES - 1)) for k in range(MOST_PICTURES)})


def _svg(trace: Trace, step: int) -> str:
    """Without the XML declaration, which has no place inside a page."""
    return to_svg(trace, step).split("?>\n", 1)[-1]
