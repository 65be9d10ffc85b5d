"""The rows of the inspector: what there is to know about a node, tensor, operation or fault at a step."""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import cached_property

from gradviz.app.historyrows import keeper_rows, saved_rows, version_rows
from gradviz.app.queuerows import queue_rows
from gradviz.app.rows import Entry, Formula, Head, Note, Numbers, Pair, Part, Row, Swatch, Terms, Title
from gradviz.explain import Words, fault_card, ledger, node_label, numbers, rule, tensor_label
from gradviz.explain.accounts import writes_near
from gradviz.explain.labels import spot
from gradviz.explain.rules import Term, terms
from gradviz.player.subject import key_of_step
from gradviz.player.view import ViewState
from gradviz.trace import Frame
from gradviz.trace.events import Data, Grad, NodeRan, Span, Tensor
from gradviz.trace.values import not_finite, number, shape_text

Element = tuple[int, ...] | None
MOST_LEAVES = 12
MOST_WRITES = 40
"""So many writes to a `.grad` are listed, those nearest to the step."""
LONG = 26
"""More letters of a formula than this get lines of their own."""
_LEGEND = (
    ("forward", "forward"),
    ("gradient", "gradient"),
    ("leaf", "leaf"),
    ("saved", "saved"),
    ("freed", "freed"),
    ("error", "error"),
    ("idle", "idle"),
)


def tensor_of(key: str | None) -> int | None:
    """The tensor that a key is about: "tensor:2", "leaf:2", "leaf:2@op:7", "result:4"; None for other keys."""
    kind, _, rest = (key or "").partition(":")
    ident = rest.partition("@")[0]
    return int(ident) if kind in ("tensor", "leaf", "result", "grad") and ident.isdigit() else None


class Facts:
    """Answers for one step of one recording, in one language."""

    def __init__(self, frame: Frame, view: ViewState, element: Element = None) -> None:
        self.frame = frame
        self.trace = frame.trace
        self.view = view
        self.words = Words(view.language)
        self.element = element

    def rows(self, more: list[Row] | None = None) -> list[Row]:
        """What the view selects, else what its step is about, and `more` of it; the leaves' gradients below."""
        key = self.view.selection or key_of_step(self.trace, self.frame.step)
        # Who is next is what a person who is asked, or who is the engine, has to say.
        queue = [] if self.view.hides else queue_rows(self.frame, self.view.language)
        return [*self.about(key), *(more or ()), *queue, *self.leaves()]

    def about(self, key: str | None) -> list[Row]:
        """The rows for a key; a legend where it means nothing here."""
        tensor = tensor_of(key)
        if tensor is not None:
            return self.tensor(tensor) if self.trace.tensor(tensor) else self.legend()
        kind, _, rest = (key or "").partition(":")
        if kind == "fold":
            name, _, made = rest.partition("…")[0].partition("@")
            return [Title(self._t("fold_title") if made and name == "loop" else name, "text", self._t("fold"))]
        if not rest.isdigit():
            return self.legend()
        ident = int(rest)
        trace = self.trace
        tables = {
            "node": (self.node, len(trace.nodes)),
            "op": (self.op, len(trace.ops)),
            "pass": (self.backward, len(trace.passes)),
            "fault": (self.fault, len(trace.faults)),
        }
        make, count = tables.get(kind, (self.node, 0))
        return make(ident) if ident < count else self.legend()

    def _t(self, key: str, **fields: object) -> str:
        return str(self.words(f"ui.inspector.{key}", **fields))

    def _line(self, span: Span | None) -> str:
        return spot(self.trace, span, self.words.language)

    # ---- node

    def node(self, ident: int) -> list[Row]:
        """Derivative, gradients in and out, what it keeps."""
        node = self.trace.nodes[ident]
        rows: list[Row] = [Title(node.name, "gradient" if node.leaf is None else "leaf", self._node_detail(ident))]
        rows += self._derivative(ident)
        run = self.frame.run(ident)
        rows += self._gradients_in(ident, run)
        rows += self._gradients_out(ident, run)
        rows += saved_rows(self.frame, ident, self.view.language)
        return rows

    def _node_detail(self, ident: int) -> str:
        node = self.trace.nodes[ident]
        op = self.trace.ops[node.op] if node.op is not None and node.op < len(self.trace.ops) else None
        parts = []
        made = [t for t in (op.outputs + op.writes if op else ()) if self._node_of(t) == ident]
        if made:
            parts.append(self._t("grad_fn_of", name=tensor_label(self.trace, made[0])))
        elif op:
            parts.append(self._t("left_by", name=op.name))
        if node.leaf is not None:
            parts.append(self._t("writes", name=tensor_label(self.trace, node.leaf)))
        if op:
            parts.append(self._line(op.span))
        if node.sequence is not None:
            parts.append(self._t("sequence", number=node.sequence))
        parts.append(self._place(ident))
        return " · ".join(part for part in parts if part)

    def _node_of(self, tensor: int) -> int | None:
        told = self.trace.tensor(tensor)
        return told.node if told else None

    def _place(self, ident: int) -> str:
        state = self.frame.status(ident)
        running = self.trace.pass_at(self.frame.step)
        planned = running.planned if running else ()
        if ident in planned and state in ("running", "pending", "done", "freed"):
            place = {"number": planned.index(ident) + 1, "count": len(planned)}
            return self._t(f"place.{state}", **place)
        return self._t("state." + state.replace(" ", "_"))

    def _derivative(self, ident: int) -> list[Row]:
        view = rule(self.trace, ident, self.view.language)
        rows: list[Row] = [Head(self._t("derivative"), view.origin, f"node:{ident} here")]
        for label, text, tex in view.rows:
            if not tex and ("\n" in text or len(text) > LONG):  # the source of a custom backward, a long formula
                rows += [Pair(label), Note(text, mono=True)]
            else:
                rows.append(Formula(tex, text, label) if tex else Pair(label, text))
        if view.note:
            rows.append(Note(view.note))
        pieces = terms(self.trace, self.frame.step, ident, self.view.language)
        if pieces and all(len(label) + sum(len(p.text) for p in parts) < 3 * LONG for label, parts in pieces):
            rows.append(Head(self._t("with_shapes")))
            rows += [Terms(label, tuple(_part(piece) for piece in parts)) for label, parts in pieces]
        said = numbers(self.trace, self.frame.step, ident, self.view.language)
        if said:
            rows.append(Head(self._t("with_numbers")))
            rows += [Note(line, "text", mono=True) for line in said]
        return rows

    def _gradients_in(self, ident: int, run: NodeRan | None) -> list[Row]:
        if run is None:
            return [Head(self._t("gradient_in"), "", f"node:{ident} when"), Note(self._t("not_arrived"), "text_faint")]
        rows: list[Row] = []
        for data in run.gin:
            asks = "nan" if not_finite(data) else "when"
            rows += [Head(self._t("gradient_in"), _kind(data), f"node:{ident} {asks}"), Numbers(data)]
        for before, after in zip(run.gin_before or (), run.gin, strict=False):
            if before != after:
                rows += [Note(self._t("hook_in"), "gradient"), Numbers(before)]
        return rows

    def _gradients_out(self, ident: int, run: NodeRan | None) -> list[Row]:
        node = self.trace.nodes[ident]
        if node.leaf is not None:
            return []
        rows: list[Row] = [Head(self._t("gradient_out"))]
        if not node.edges:
            return [*rows, Note(self._t("no_edges"), "text_faint")]
        for i, (target, number_) in enumerate(node.edges):
            if target is None:
                rows.append(Note(self._t("no_edge", input=self._input_name(ident, i)), "text_faint"))
                continue
            name = "→ " + self._target(target, number_)
            rows.append(Pair(name, go=f"node:{target}", ink="text_dim"))
            if run is not None and i < len(run.gout):
                rows.append(Numbers(run.gout[i]))
        for before, after in zip((run.gout_before or ()) if run else (), run.gout if run else (), strict=False):
            if before != after:
                rows += [Note(self._t("hook_out"), "gradient"), Numbers(before)]
        return rows

    def _input_name(self, ident: int, edge: int) -> str:
        op = self.trace.nodes[ident].op
        inputs = self.trace.ops[op].inputs if op is not None and op < len(self.trace.ops) else ()
        same = len(inputs) == len(self.trace.nodes[ident].edges)
        return tensor_label(self.trace, inputs[edge]) if same else str(edge)

    def _target(self, node: int, number_: int) -> str:
        told = self.trace.nodes[node]
        if told.leaf is not None:
            return f"AccumulateGrad · {tensor_label(self.trace, told.leaf)}"
        return f"{node_label(self.trace, node)}" + (f" [{number_}]" if number_ else "")

    # ---- tensor

    def tensor(self, ident: int) -> list[Row]:
        """Value, gradient, where it comes from; for a leaf the ledger."""
        told = self.trace.tensor(ident, self.frame.step)
        if told is None:
            label = tensor_label(self.trace, ident)
            return [Title(label, "text", self._t("not_yet"))]
        leaf = told.is_leaf and told.requires_grad
        rows: list[Row] = [Title(tensor_label(self.trace, ident), "leaf" if leaf else "forward", self._about(told))]
        value = self.frame.value_data(ident)
        asks = "nan" if not_finite(value) else "requires" if told.requires_grad else "not_requires"
        about = f"{shape_text(told.shape)} {told.dtype}"
        rows += [Head(self._t("value"), about, f"tensor:{ident} {asks}"), *self._content(value, "value")]
        if told.requires_grad:
            rows += self._grad(ident, told)
        if leaf:
            rows += self.ledger(ident)
        if told.op is not None and told.op < len(self.trace.ops):
            op = self.trace.ops[told.op]
            rows += [Head(self._t("made_by")), Pair(op.name, "", self._line(op.span), "forward", go=f"op:{op.id}")]
        if told.node is not None:
            rows += [
                Head("grad_fn", "", f"node:{told.node} here"),
                Pair(node_label(self.trace, told.node), ink="gradient", go=f"node:{told.node}"),
            ]
        rows += version_rows(self.frame, ident, self.view.language)
        rows += keeper_rows(self.frame, ident, self.view.language)
        return rows

    def _about(self, told: Tensor) -> str:
        parts = [self._t("leaf") if told.is_leaf else self._t("not_leaf")]
        parts.append(f"requires_grad={told.requires_grad}")
        if told.version is not None:
            parts.append(self._t("version", number=told.version))
        if told.device != "cpu":
            parts.append(told.device)
        if told.base is not None:
            parts.append(self._t("view_of", name=tensor_label(self.trace, told.base)))
        return " · ".join(parts)

    def _content(self, data: Data | None, name: str) -> list[Row]:
        if data is None:
            return [Note(self._t("no_value"), "text_faint")]
        rows: list[Row] = [Numbers(data, name, self.element if name == "grad" else None)]
        if data.missing:
            rows.append(Note(self._t("missing", reason=data.missing), "text_faint"))
        stats = [(k, v) for k, v in (("min", data.low), ("max", data.high), ("mean", data.mean)) if v is not None]
        size = len(data.shape) and max(data.shape) > 1
        text = " · ".join(f"{k}\u00a0{number(v)}" for k, v in [*stats, ("‖·‖", data.norm)] if v is not None and size)
        if text:
            rows.append(Note(text, "text_faint"))
        if data.nan or data.inf:
            rows.append(Note(self._t("not_finite", nan=f"{data.nan:,}", inf=f"{data.inf:,}"), "error"))
        return rows

    def _grad(self, ident: int, told: Tensor) -> list[Row]:
        grad = self.frame.grad_data(ident)
        norm = f"‖∇‖ {number(grad.norm)}" if grad is not None and grad.norm is not None else ""
        bad = not_finite(grad)
        asks = "none" if grad is None else "nan" if bad else "number"
        rows: list[Row] = [Head(".grad", norm, f"grad:{ident} {asks}")]
        if grad is None:
            had = self.frame.grad_event(ident) is not None
            why = "grad_dropped" if had else "grad_none" if told.is_leaf else "grad_not_kept"
            return [*rows, Numbers(None), Note(self._t(why), "text_faint")]
        return [*rows, *self._content(grad, "grad")]

    def ledger(self, ident: int) -> list[Row]:
        """Each write to a leaf's `.grad`, in order; a click leads to its step."""
        told = self.trace.tensor(ident, self.frame.step)
        element = self.element
        if element is None and told is not None and math.prod(told.shape) == 1:
            element = (0,) * len(told.shape)
        part, before, after = writes_near(self.trace, ident, self.frame.step, MOST_WRITES)
        entries = ledger(self.trace, ident, element, language=self.view.language, part=part)
        title = self._t("ledger", name=tensor_label(self.trace, ident))
        where = f"[{', '.join(map(str, element))}]" if element is not None else "‖·‖"
        rows: list[Row] = [Head(title, where)]
        if not entries:
            return [*rows, Note(self._t("ledger_empty"), "text_faint")]
        # Numbers add up to the sum beside them; norms do not, nor does the size of a complex number.
        adds = element is not None and told is not None and not told.dtype.startswith("complex")
        heads = (self._t("amount"), self._t("total")) if adds else (self._t("amount_norm"), self._t("total_norm"))
        rows.append(Entry(self._t("step"), self._t("source"), *heads, heading=True))
        if before:
            rows.append(Note(self._t("ledger_before", count=f"{before:,}"), "text_faint"))
        for row in entries:
            source = " · ".join(part for part in (row.source, row.path) if part)
            now = row.step == self.frame.step
            amount = _amount(row.amount, "+" if adds else "")
            rows.append(Entry(f"{row.step:,}", source, amount, _amount(row.total, ""), row.step, marked=now))
        if after:
            rows.append(Note(self._t("ledger_after", count=f"{after:,}"), "text_faint"))
        if element is None:
            rows.append(Note(self._t("ledger_hint"), "text_faint"))
        return rows

    # ---- operation, pass, fault

    def op(self, ident: int) -> list[Row]:
        """What went in, what came out, which nodes it left."""
        op = self.trace.ops[ident]
        rows: list[Row] = [Title(op.name, "forward", " · ".join(p for p in (op.func, self._line(op.span)) if p))]
        if op.text:
            rows.append(Note(op.text, "text", mono=True))
        rows += self._tensors("inputs", op.inputs)
        if op.arguments:
            rows.append(Head(self._t("arguments")))
            rows += [Pair(name or str(i), text) for i, (name, text) in enumerate(op.arguments)]
        rows += self._tensors("outputs", op.outputs)
        if op.writes:
            rows += self._tensors("changed_in_place", op.writes)
        rows.append(Head(self._t("left_behind"), "", f"op:{ident} here"))
        if not op.nodes:
            reason = self._t(f"untracked.{op.untracked}") if op.untracked else ""
            rows.append(Note(self._t("no_node", reason=reason).strip()))
        rows += [Pair(self.trace.nodes[n].name, "", self._place(n), "gradient", go=f"node:{n}") for n in op.nodes]
        for tensor in op.outputs[:1] or op.writes[:1]:
            rows += [Head(self._t("value"), tensor_label(self.trace, tensor))]
            rows += self._content(self.frame.value_data(tensor), "value")
        return rows

    def _tensors(self, key: str, tensors: tuple[int, ...]) -> list[Row]:
        if not tensors:
            return []
        rows: list[Row] = [Head(self._t(key))]
        for tensor in tensors:
            told = self.trace.tensor(tensor)
            ink = "leaf" if told and told.is_leaf and told.requires_grad else "text"
            what = f"{shape_text(told.shape)} {told.dtype}" if told else ""
            rows.append(Pair(tensor_label(self.trace, tensor), what, ink=ink, go=f"tensor:{tensor}"))
        return rows

    def backward(self, ident: int) -> list[Row]:
        """The seed of a pass and what was asked of it."""
        item = self.trace.passes[ident]
        name = ".backward()" if item.call == "backward" else "autograd.grad()"
        rows: list[Row] = [Title(name, "gradient", self._line(item.span))]
        if item.text:
            rows.append(Note(item.text, "text", mono=True))
        for i, tensor in enumerate(item.tensors):
            seed = item.seeds[i] if i < len(item.seeds) else None
            rows += [Head(self._t("seed", name=tensor_label(self.trace, tensor)), _kind(seed)), Numbers(seed)]
            if i < len(item.implicit) and item.implicit[i]:
                rows.append(Note(self._t("implicit")))
        rows.append(Head(self._t("asked")))
        rows.append(Pair("retain_graph", str(item.retain_graph)))
        rows.append(Pair("create_graph", str(item.create_graph)))
        if self.view.hides:
            return rows  # the question may be which node comes next
        rows.append(Head(self._t("order"), self._t("count", count=f"{len(item.planned):,}")))
        rows += [
            Pair(self._target(node, 0), go=f"node:{node}", ink="text_dim")
            for node in item.planned[:MOST_LEAVES]
            if node < len(self.trace.nodes)
        ]
        if len(item.planned) > MOST_LEAVES:
            rows.append(Note(self._t("more", count=f"{len(item.planned) - MOST_LEAVES:,}"), "text_faint"))
        return rows

    def fault(self, ident: int) -> list[Row]:
        """What went wrong, in short."""
        fault = self.trace.faults[ident]
        card = fault_card(self.trace, ident, self.view.language)
        rows: list[Row] = [Title(f"✖ {fault.type}", "error", self._line(fault.span)), Note(card.title, "text")]
        rows += [Note(text) for text in (card.fact, card.cause, card.effect) if text]
        if fault.node is not None and fault.node < len(self.trace.nodes):
            name = self.trace.nodes[fault.node].name
            rows += [Head(self._t("at_node")), Pair(name, ink="error", go=f"node:{fault.node}")]
        rows += [Head(self._t("message" if fault.code == "other" else "original")), Note(card.original, "text_faint")]
        return rows

    # ---- always

    def leaves(self) -> list[Row]:
        """Each leaf that gradients can reach: how many contributions so far, and the norm."""
        ids = [t for t, wants in self.trace.named_leaves.items() if wants and self._is_leaf(t)]
        if not ids:
            return []
        rows: list[Row] = [Head(self._t("leaf_gradients"))]
        rows += [self._leaf(ident) for ident in ids[:MOST_LEAVES]]
        if len(ids) > MOST_LEAVES:
            rows.append(Note(self._t("more", count=f"{len(ids) - MOST_LEAVES:,}"), "text_faint"))
        return rows

    def _is_leaf(self, tensor: int) -> bool:
        told = self.trace.tensor(tensor, self.frame.step)
        return told is not None and told.is_leaf and told.requires_grad and tensor not in self.trace.grad_tensors

    def _leaf(self, ident: int) -> Row:
        name, grad, count = tensor_label(self.trace, ident), self.frame.grad_data(ident), self._contributions(ident)
        if grad is None:
            state = self._t("waiting") if ident in self._awaited else ""
            return Pair(name, state, "None", "leaf", "text_faint", f"tensor:{ident}")
        event = self.frame.grad_event(ident)
        writes = self.trace.events_of(self.frame.step)
        now = any(isinstance(e, Grad) and e is event for e in writes)
        key = ("contribution_now" if now and count else "contributions") + ("_one" if count == 1 else "")
        text = self._t(key, before=count - 1, count=count)
        norm = f"‖∇‖ {number(grad.norm)}" if grad.norm is not None else shape_text(grad.shape)
        return Pair(name, text, norm, "leaf", "gradient", f"tensor:{ident}")

    @cached_property
    def _awaited(self) -> set[int | None]:
        """Leaves that the pass which runs is still to reach."""
        return {self.trace.nodes[n].leaf for n in self.frame.planned.nonzero()[0].tolist()}

    def _contributions(self, ident: int) -> int:
        """Additions to a leaf's `.grad` since it was last None, zeroed or assigned."""
        history, count = self.trace.grads.get(ident), 0
        if history is None:
            return 0
        for place in range(bisect_right(history.steps, self.frame.step) - 1, -1, -1):
            event = self.trace.events[history.indexes[place]]
            cause = event.cause if isinstance(event, Grad) else ""
            if cause in ("zero", "none", "assign"):
                break
            count += cause == "accumulate"
        return count

    def legend(self) -> list[Row]:
        """What the colours mean."""
        key = "legend_empty" if not self.trace.steps else "legend"
        rows: list[Row] = [Title(self._t("nothing"), "text", self._t(key)), Head(self._t("colours"))]
        return [*rows, *(Swatch(token, self._t(f"colour.{name}")) for token, name in _LEGEND)]


def _kind(data: Data | None) -> str:
    return f"{shape_text(data.shape)} {data.dtype}" if data is not None else ""


def _part(piece: Term) -> Part:
    shape = shape_text(piece.shape) if piece.shape is not None else ""
    return Part(piece.text, piece.key, piece.role or "text", shape)


def _amount(value: float | None, sign: str) -> str:
    if value is None:
        return "–"
    digits = 4 if abs(value) < 100 else 2
    return format(value, f"{sign}.{digits}f") if 1e-4 <= abs(value) < 1e5 else number(value)
