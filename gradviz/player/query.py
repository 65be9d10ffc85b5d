"""Search in a recording: words, fields (`op:add`), states (`freed`) and comparisons (`|grad| < 1e-6`) at a step."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from gradviz.trace import STATUSES, Frame, Trace
from gradviz.trace.events import Data, Grad, NodeRan, Op, Value
from gradviz.trace.values import shape_text

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
FIELDS: tuple[str, ...] = ("op", "node", "name", "module", "shape", "dtype", "line")
STATES: tuple[str, ...] = ("pending", "running", "done", "freed", "gone", "failed")
FLAGS: tuple[str, ...] = ("nan", "inf", "leaf", "untracked")
UNITS: dict[str, float] = {"": 1, "b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "=": operator.eq,
}
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<none>\.?grad\s+is\s+(?P<negated>not\s+)?none)\b
    | (?P<measure>\|\s*\.?grad\s*\||saved|line)\s*(?P<sign><=|>=|==|<|>|=)
      \s*(?P<number>[-+.\w]*)(?:\s(?P<unit>[kmg]?b)\b)?
    | (?P<field>op|node|name|module|shape|dtype|line):(?P<value>"[^"]*"|\([^)]*\)|\S*)
    | "(?P<quoted>[^"]*)"
    | (?P<word>\S+)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)([kmg]?b)?", re.IGNORECASE)


class QueryError(ValueError):
    """The text is no search. `code` says why ("number", "end"), `part` where."""

    def __init__(self, code: Literal["number", "end"], part: str) -> None:
        super().__init__(f"{code}: {part}")
        self.code = code
        self.part = part


@dataclass(frozen=True, slots=True)
class Term:
    """One condition. `kind`: "text", "field", "state", "flag", "none", "grad", "saved" or "line"."""

    kind: str
    name: str = ""
    text: str = ""
    sign: str = ""
    number: float = 0.0
    negated: bool = False


Query = tuple[tuple[Term, ...], ...]
"""Alternatives, each of terms that must all hold."""


@dataclass(frozen=True, slots=True)
class Hits:
    """What was found: selection keys and the steps of operations and of nodes' runs, both in order of time; where a
    `.grad` was looked for, those of its changes too."""

    keys: tuple[str, ...] = ()
    steps: frozenset[int] = frozenset()
    total: int = 0
    """How many things were looked at."""
    error: QueryError | None = None


def parse(text: str) -> Query:
    """Read a search. Terms side by side must all hold; `or` begins an alternative; `not` or `-` turns a term round.

    Raises:
        QueryError: a comparison has no number, or `or` or `not` has nothing after it.
    """
    alternatives: list[list[Term]] = [[]]
    position, negated, pending = 0, False, ""
    stripped = text.rstrip()
    while position < len(stripped):
        match = _TOKEN.match(stripped, position)
        if match is None:
            break
        position = match.end()
        word = (match["word"] or "").lower()
        if word == "or":
            if not alternatives[-1]:
                raise QueryError("end", "or")
            alternatives.append([])
            pending = "or"
        elif word == "not":
            negated, pending = not negated, "not"
        elif word != "and":
            term = _term(match)
            alternatives[-1].append(_turned(term) if negated else term)
            negated, pending = False, ""
    if pending:
        raise QueryError("end", pending)
    return tuple(tuple(terms) for terms in alternatives if terms)


def _turned(term: Term) -> Term:
    return Term(term.kind, term.name, term.text, term.sign, term.number, not term.negated)


def _term(match: re.Match[str]) -> Term:
    if match["none"]:
        return Term("none", negated=bool(match["negated"]))
    if match["measure"]:
        return _comparison(match)
    if match["field"]:
        name, value = match["field"].lower(), match["value"].strip('"').lower()
        if name == "line":
            return Term("line", sign="=", number=_number(value, value, ""))
        return Term("field", name, value)
    if match["quoted"] is not None:
        return Term("text", text=match["quoted"].lower())
    word = match["word"].lower()
    if len(word) > 1 and word[0] == "-":
        return _turned(_word(word[1:]))
    return _word(word)


def _word(word: str) -> Term:
    if word in STATES:
        return Term("state", word)
    return Term("flag", word) if word in FLAGS else Term("text", text=word)


def _comparison(match: re.Match[str]) -> Term:
    name = match["measure"].strip("| .").lower()
    value = _number(match["number"], match[0].strip(), match["unit"] or "")
    return Term(name, sign=match["sign"], number=value)


def _number(text: str, part: str, unit: str) -> float:
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise QueryError("number", part)
    return float(found[1]) * UNITS[(found[2] or unit).lower()]


class Corpus:
    """The things of a recording that can be found, with the texts to look in. Made once for each length of it."""

    def __init__(self, trace: Trace) -> None:
        self.events = len(trace.events)
        self.keys: list[str] = []
        self.fields: dict[str, list[str]] = {name: [] for name in FIELDS if name != "line"}
        self._lines: list[int] = []
        self._owners: list[int] = []
        self._nodes: list[int] = []
        self._born: list[int] = []
        self._flags: list[int] = []
        self._paths = {i: scope.path.lower() for i, scope in trace.scopes.items()}
        self._add_ops(trace)
        self._add_nodes(trace)
        self.tensor_from = len(self.keys)
        self.tensors = [t for t in trace.names_of if t not in trace.grad_tensors and t in trace.tensors]
        self._add_tensors(trace)
        self.lines = np.asarray(self._lines, np.int64)
        self.owners, self.nodes = np.asarray(self._owners, np.int64), np.asarray(self._nodes, np.int64)
        self.born, self.flags = np.asarray(self._born, np.int64), np.asarray(self._flags, np.int64)
        self.saved = np.asarray([sum(s.bytes for s in node.saved) for node in trace.nodes], np.float64)
        self.norms, self.marks = _received(trace)

    def _add(self, key: str, maker: Op | None, step: int, flag: int, nodes: Iterable[int], **texts: str) -> None:
        """One thing: the operation tells its line and module, `nodes` are those whose states it shares."""
        for node in nodes:
            self._owners.append(len(self.keys))
            self._nodes.append(node)
        self.keys.append(key)
        self._lines.append(maker.span[1] if maker and maker.span else -1)
        self._born.append(step)
        self._flags.append(flag)
        if maker and maker.scope is not None:
            texts["module"] = self._paths.get(maker.scope, "")
        for name, column in self.fields.items():
            column.append(texts.get(name, ""))

    def _add_ops(self, trace: Trace) -> None:
        for op, step in zip(trace.ops, trace.op_step.view.tolist(), strict=True):
            made = trace.tensor(op.outputs[0]) if op.outputs else None
            names = " ".join(n for t in op.outputs for n in trace.names_of.get(t, ()))
            shape, dtype = (shape_text(made.shape), made.dtype) if made else ("", "")
            nodes = [n for n in op.nodes if n < len(trace.nodes)]
            texts = {"op": op.name.lower(), "name": names.lower(), "shape": shape, "dtype": dtype}
            self._add(f"op:{op.id}", op, step, 2 if op.untracked else 0, nodes, **texts)

    def _add_nodes(self, trace: Trace) -> None:
        for node, step in zip(trace.nodes, trace.node_step.view.tolist(), strict=True):
            op = trace.ops[node.op] if node.op is not None and node.op < len(trace.ops) else None
            shape = " ".join(shape_text(shape) for shape, _ in node.inputs)
            self._add(f"node:{node.id}", op, step, 0, (node.id,), node=node.name.lower(), shape=shape)

    def _add_tensors(self, trace: Trace) -> None:
        accumulators: dict[int, list[int]] = {}
        for node in trace.nodes:
            if node.leaf is not None:
                accumulators.setdefault(node.leaf, []).append(node.id)
        for tensor in self.tensors:
            told = trace.tensor(tensor)
            flag = 1 if told and told.is_leaf and told.requires_grad else 0
            shape, dtype = (shape_text(told.shape), told.dtype) if told else ("", "")
            names = trace.names_of[tensor]
            if flag or tensor in trace.grads:
                names = [*names, *(f"{name}.grad" for name in names)]
            texts = {"name": " ".join(names).lower(), "shape": shape, "dtype": dtype}
            nodes = accumulators.get(tensor, ())
            self._add(f"tensor:{tensor}", None, trace.tensors[tensor].steps[0], flag, nodes, **texts)

    @cached_property
    def texts(self) -> list[str]:
        """All words of each thing, joined."""
        return ["\n".join(parts) for parts in zip(*self.fields.values(), strict=True)]


def _received(trace: Trace) -> tuple[Floats, Ints]:
    """For each run: norm of the gradients that came in, and 1 for a NaN, 2 for an infinity that came or went."""
    norms, marks = np.full(len(trace.run_index), np.nan), np.zeros(len(trace.run_index), np.int64)
    for position, index in enumerate(trace.run_index.view.tolist()):
        event = trace.events[index]
        if not isinstance(event, NodeRan):
            continue
        came = [d.norm for d in event.gin if d is not None and d.norm is not None]
        if came:
            norms[position] = float(np.sqrt(sum(n * n for n in came)))
        both = [d for d in (*event.gin, *event.gout) if d is not None]
        marks[position] = any(d.nan for d in both) + 2 * any(d.inf for d in both)
    return norms, marks


_CORPORA: WeakKeyDictionary[Trace, Corpus] = WeakKeyDictionary()


def corpus_of(trace: Trace) -> Corpus:
    """The corpus of a recording as long as it is now."""
    corpus = _CORPORA.get(trace)
    if corpus is None or corpus.events != len(trace.events):
        corpus = _CORPORA[trace] = Corpus(trace)
    return corpus


def find(frame: Frame, text: str) -> Hits:
    """What the text finds at a step; things that do not exist yet are not found. An unreadable text finds nothing
    and says why in `error`."""
    try:
        query = parse(text)
    except QueryError as error:
        return Hits(error=error)
    if not query:
        return Hits()
    corpus = corpus_of(frame.trace)
    search = _Search(frame, corpus)
    found = np.zeros(len(corpus.keys), np.bool_)
    for terms in query:
        found |= np.logical_and.reduce([search.mask(term) for term in terms])
    found &= corpus.born <= frame.step
    places = np.flatnonzero(found)
    places = places[np.argsort(corpus.born[places], kind="stable")]
    keys = tuple(corpus.keys[i] for i in places.tolist())
    steps = _steps(frame.trace, keys)
    if any(".grad" in term.text for terms in query for term in terms):
        steps |= _changes(frame.trace, keys)
    return Hits(keys, steps, len(corpus.keys))


def _steps(trace: Trace, keys: tuple[str, ...]) -> frozenset[int]:
    ops = [int(key[3:]) for key in keys if key.startswith("op:")]
    wanted = np.zeros(len(trace.nodes), np.bool_)
    wanted[[int(key[5:]) for key in keys if key.startswith("node:")]] = True
    runs = trace.run_step.view[wanted[trace.run_node.view]] if len(trace.run_node) else np.zeros(0, np.int64)
    return frozenset([*trace.op_step.view[ops].tolist(), *runs.tolist()] if ops else runs.tolist())


def _changes(trace: Trace, keys: tuple[str, ...]) -> frozenset[int]:
    """Steps at which the `.grad` of a tensor that was found changed."""
    found = (trace.grads.get(int(key[7:])) for key in keys if key.startswith("tensor:"))
    return frozenset(step for history in found if history is not None for step in history.steps)


class _Search:
    """Evaluates terms at one step: for each, which things it holds for."""

    def __init__(self, frame: Frame, corpus: Corpus) -> None:
        self.frame = frame
        self.corpus = corpus

    def mask(self, term: Term) -> Mask:
        made: Mask = getattr(self, f"_{term.kind}")(term)
        return ~made if term.negated else made

    def _text(self, term: Term) -> Mask:
        return np.fromiter((term.text in text for text in self.corpus.texts), np.bool_, len(self.corpus.keys))

    def _field(self, term: Term) -> Mask:
        column = self.corpus.fields[term.name]
        wanted = term.text
        if term.name == "shape":
            sizes = re.findall(r"\d+", wanted)
            wanted = shape_text(tuple(int(size) for size in sizes))
        return np.fromiter((wanted in text for text in column), np.bool_, len(column))

    def _line(self, term: Term) -> Mask:
        mask: Mask = _COMPARE[term.sign](self.corpus.lines, term.number) & (self.corpus.lines > 0)
        return mask

    def _any(self, nodes: Mask) -> Mask:
        """Things of which any node is in the mask."""
        found = np.zeros(len(self.corpus.keys), np.bool_)
        found[self.corpus.owners[nodes[self.corpus.nodes]]] = True
        return found

    def _state(self, term: Term) -> Mask:
        trace, step = self.frame.trace, self.frame.step
        if term.name == "freed":
            freed = np.zeros(len(trace.nodes), np.bool_)
            freed[trace.freed_node.view[trace.freed_step.view <= step]] = True
            return self._any(freed)
        wanted = self.frame.statuses == STATUSES.index(term.name)
        if term.name == "done":
            wanted |= self.frame.statuses == STATUSES.index("freed")
        return self._any(wanted)

    def _flag(self, term: Term) -> Mask:
        if term.name in ("leaf", "untracked"):
            return (self.corpus.flags & (1 if term.name == "leaf" else 2)) > 0
        last = self.frame.last_run
        marks = np.where(last >= 0, self.corpus.marks[last] if len(self.corpus.marks) else 0, 0)
        found = self._any((marks & (1 if term.name == "nan" else 2)) > 0)
        for place, tensor in enumerate(self.corpus.tensors, self.corpus.tensor_from):
            held = (self.frame.value_data(tensor), self.frame.grad_data(tensor))
            found[place] |= any(getattr(data, term.name) for data in held if data is not None)
        return found | self._made(term.name)

    def _made(self, name: str) -> Mask:
        """Operations whose result holds such elements at this step."""
        found = np.zeros(len(self.corpus.keys), np.bool_)
        for i, op in enumerate(self.frame.trace.ops):
            found[i] = any(
                data is not None and getattr(data, name) for t in op.outputs if (data := self._value(t)) is not None
            )
        return found

    def _value(self, tensor: int) -> Data | None:
        event = self.frame._held(self.frame.trace.values, tensor)
        return event.data if isinstance(event, Value) else None

    def _none(self, term: Term) -> Mask:
        """Leaves that require grad and whose `.grad` is None."""
        found = (self.corpus.flags & 1) > 0
        if term.negated:  # mask() turns the result round: "is not None" must not find what has no slot at all
            found = np.ones(len(self.corpus.keys), np.bool_)
        for place, tensor in enumerate(self.corpus.tensors, self.corpus.tensor_from):
            if self.frame.grad_data(tensor) is not None:
                found[place] = False
        return found

    def _grad(self, term: Term) -> Mask:
        compare, last = _COMPARE[term.sign], self.frame.last_run
        norms = np.where(last >= 0, self.corpus.norms[last] if len(self.corpus.norms) else np.nan, np.nan)
        with np.errstate(invalid="ignore"):
            found = self._any(compare(norms, term.number))
        for place, tensor in enumerate(self.corpus.tensors, self.corpus.tensor_from):
            event = self.frame.grad_event(tensor)
            norm = event.after.norm if isinstance(event, Grad) and event.after is not None else None
            found[place] = norm is not None and bool(compare(norm, term.number))
        return found

    def _saved(self, term: Term) -> Mask:
        compare = _COMPARE[term.sign]
        sizes = np.bincount(
            self.corpus.owners, weights=self.corpus.saved[self.corpus.nodes], minlength=len(self.corpus.keys)
        )
        mask: Mask = compare(sizes, term.number)
        mask[self.corpus.tensor_from :] = False
        return mask
