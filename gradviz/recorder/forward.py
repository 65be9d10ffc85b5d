"""The operations that the program calls, seen by a TorchFunctionMode: what went in, came out and was written to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from msgspec import Struct
from torch.overrides import TorchFunctionMode

from gradviz.recorder.arguments import PLAIN, SIMPLE, arguments, gather
from gradviz.recorder.classify import Kind, classify, names
from gradviz.recorder.core import Core, Off, tracing
from gradviz.recorder.guard import guarded
from gradviz.recorder.snapshot import fit
from gradviz.recorder.source import Site, bound
from gradviz.recorder.tensors import Entry
from gradviz.recorder.warns import is_loss
from gradviz.trace.events import Event, Grad, Node, Op, Warn

Tensor = torch.Tensor
sequence: Callable[[], int] = torch._C._autograd._get_sequence_nr
_C: Any = torch._C
mode_count: Callable[[], int] = _C._len_torch_function_stack
_Seen = list[tuple[Any, Entry]]


class Named(Struct, gc=False):
    """What is the same for all calls of one function."""

    name: str
    qualified: str
    loss: bool


class Mode(TorchFunctionMode):
    """Passes every call on unchanged and lets `Forward` look before and after."""

    def __init__(self, forward: Forward) -> None:
        super().__init__()
        self._forward = forward
        self.core = forward.core
        self._kinds: dict[Any, Kind] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        forward = self._forward
        try:
            kind = self._kinds.get(func) or self._kind(func)
        except Exception as error:
            self.core.fail(f"what {func} is", error)
            kind = Kind.SKIP
        if kind == Kind.SKIP or not self.core.active or tracing() is not None:
            if kind and kind <= Kind.SILENT:
                self.core.journal.dropped += 1
            return func(*args, **kwargs) if kwargs else func(*args)
        if kind <= Kind.SILENT:
            return forward.run(kind, func, args, kwargs or {})
        return forward.special(kind, func, args, kwargs or {})

    def _kind(self, func: Any) -> Kind:
        kind = self._kinds[func] = classify(func)
        return kind


class Forward:
    """Writes `Op` and what belongs to it."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self._count = 0
        self._names: dict[Any, Named] = {}

    # ---- one operation

    def run(
        self, kind: Kind, func: Any, args: Sequence[Any], kwargs: dict[str, Any], call: Callable[..., Any] | None = None
    ) -> Any:
        """Call `func` as the program would and tell of it; for an autograd.Function, `call` is its `apply`."""
        core, first = self.core, self._count
        site = frame = versions = None
        inputs: _Seen = []
        try:
            site, frame = core.sources.here(2)
            inputs = self.inputs(args, kwargs, site)
            if call is not None:
                versions = [e.version for _, e in inputs]
            if core.probe is not None:
                core.probe.operation(self._count, [e for _, e in inputs])
        except Exception as error:
            core.fail(f"inputs of {func}", error)
        since = sequence()
        try:
            result = (call or func)(*args, **kwargs) if kwargs else (call or func)(*args)
        except Exception as error:
            self.failed(func, error, inputs, args, kwargs, site, first)
            raise
        if not core.active:
            core.journal.dropped += 1
            return result
        try:
            with Off(), core.journal.lock:
                nodes = core.nodes
                nodes.site, nodes.since, nodes.older = site, since, False
                self._finish(kind, func, args, kwargs, inputs, result, site, frame, versions, first)
                nodes.site = None
                if core.probe is not None:
                    core.probe.operation(self._count, list(core.tensors.live.values()))
        except Exception as error:
            core.fail(f"results of {func}", error)
        return result

    def inputs(self, args: Sequence[Any], kwargs: dict[str, Any], site: Site | None) -> _Seen:
        """Tensors among the arguments, those that were never seen or have changed unseen told first."""
        found: list[Any] = []
        for arg in args:
            kind = type(arg)
            if kind in PLAIN:
                found.append(arg)
            elif kind not in SIMPLE:
                gather(arg, found, 1)
        if kwargs:
            gather(kwargs, found, 1)
        if not found:
            return []
        live, seen = self.core.tensors.live, []
        if mode_count() == 0:
            for tensor in found:
                entry = live.get(id(tensor))
                if (
                    entry is None or entry.ref() is not tensor or type(tensor) not in PLAIN or entry.grad_of is not None
                    or entry.version is None or tensor._version != entry.version
                ):  # fmt: skip
                    break
                seen.append((tensor, entry))
            else:
                return seen
        return self._unknown(found, site)

    def _unknown(self, found: list[Any], site: Site | None) -> _Seen:
        core = self.core
        live, seen = core.tensors.live, []
        batch: list[Event] = []
        with Off(), core.journal.lock:
            for tensor in found:
                entry = live.get(id(tensor))
                if entry is None or entry.ref() is not tensor:
                    nodes = core.nodes.count
                    entry = core.tensors.see(tensor, batch, site=site)
                    if entry.node is not None and core.nodes.count > nodes:
                        core.local.unseen = True  # it comes from operations that were not seen
                elif entry.version is not None and tensor._version != entry.version:
                    core.tensors.value(entry, tensor, batch)
                if entry.grad_of is not None and not entry.grad_of.grad_known:
                    entry.grad_of.grad, entry.grad_of.grad_known = core.snapshots.of(tensor), True
                seen.append((tensor, entry))
            if batch:
                core.journal.write_all(batch)
        return seen

    def failed(
        self,
        func: Any,
        error: Exception,
        inputs: _Seen,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        site: Site | None,
        first: int | None = None,
    ) -> None:
        """The operation raised: tell of it and of the fault, once."""
        core = self.core
        if not core.active or core.faults.known(error):
            return
        stopped = type(error).__name__ == "_StopRecomputationError"  # a checkpoint has what it needs: no error
        try:
            with Off(), core.journal.lock:
                named = self._named(func)
                within, node = core.where()
                core.journal.write(
                    Op(
                        self._count,
                        named.name,
                        named.qualified,
                        tuple([e.id for _, e in inputs]),
                        (),
                        (),
                        arguments(args, kwargs),
                        (),
                        None if site is None else site.span,
                        "" if site is None else site.text,
                        core.local.scope,
                        None if first is None or first == self._count else first,
                        within=within,
                        within_node=None if node is None else node.id,
                        thread=core.thread(),
                        error=not stopped,
                    )
                )
                self._count += 1
                if not stopped:
                    core.faults.tell(error, site, op=self._count - 1, inputs=[e for _, e in inputs])
        except Exception as problem:
            core.fail(f"failure of {func}", problem)

    def _finish(
        self,
        kind: Kind,
        func: Any,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        inputs: _Seen,
        result: Any,
        site: Site | None,
        frame: Any,
        versions: list[int | None] | None,
        first: int,
    ) -> None:
        """The operation returned: tell what it made and changed. Those from `first` on ran since it began.

        `versions` are those of the inputs of a custom Function when it began, since what ran inside is told already.
        """
        core, count = self.core, self._count
        custom = versions is not None
        returned: list[Any] = []
        if type(result) in PLAIN:
            returned.append(result)
        else:
            gather(result, returned, 1)
        written, bad = self._changed_inputs(inputs, versions)
        if kind == Kind.SILENT:
            written += [pair for pair in self._silent(func, args, kwargs, inputs) if pair not in written]
        batch: list[Event] = []
        within, node = core.where()
        within_node = None if node is None else node.id
        nodes = core.nodes
        nodes.within, nodes.parent, before = within, within_node, nodes.count
        named = self._names.get(func) or self._named(func)
        made, known = self._outputs(returned, written, batch, site, "empty" in named.name)
        if custom:
            self._given_back(returned, inputs, made, known, batch)
        if written:
            self._written(written, batch, site)
        for tensor, entry in inputs:
            if entry.stale and entry.requires_grad and torch.is_grad_enabled():
                core.tensors.node_again(entry, tensor, batch, count)
        left = tuple([e.id for e in batch if type(e) is Node and e.op == count]) if nodes.count > before else ()
        grads = self._grad_writes(named.name, written, site) if written else []
        quiet = bool(grads) and not made and all(e.grad_of is not None for _, e in written)
        if site is not None and (site.names or site.returns) and frame is not None and core.sources.hands_up(frame):
            self._bind(core.sources.names(site, frame), result, batch)
        if made or written or left:
            op = Op(
                count, named.name, named.qualified, tuple([e.id for _, e in inputs]), tuple([e.id for e in known]),
                tuple(dict.fromkeys([e.id for _, e in written])) if written else (), arguments(args, kwargs), left,
                None if site is None else site.span, "" if site is None else site.text, core.local.scope,
                first if first < count else None,
                None if left or not made else self._untracked(named.name, inputs, made), custom, within, within_node,
                core.thread(), quiet,
            )  # fmt: skip
            batch += self._suspicions(named, inputs, known, written, bad, site, custom)
            self._count += 1
            batch = [*grads, op, *batch]
        if batch:
            core.journal.write_all(batch)

    def _changed_inputs(self, inputs: _Seen, versions: list[int | None] | None) -> tuple[_Seen, int]:
        """Which inputs have another version now, and the worst that any of them holds."""
        written: _Seen = []
        bad = 0
        if versions is None:
            for pair in inputs:
                tensor, entry = pair
                if entry.bad > bad:  # noqa: PLR1730 - half the time of max()
                    bad = entry.bad
                if entry.version is not None and tensor._version != entry.version:
                    written.append(pair)
        else:
            bad = max([e.bad for _, e in inputs], default=0)
            written = [p for p, v in zip(inputs, versions, strict=True) if v is not None and p[0]._version != v]
        return written, bad

    def _suspicions(
        self, named: Named, inputs: _Seen, made: list[Entry], written: _Seen, bad: int, site: Site | None, custom: bool
    ) -> list[Event]:
        """Warnings about what this operation did."""
        core, op = self.core, self._count
        found: list[Event] = []
        for entry in [*made, *[e for _, e in written]] if written else made:
            if entry.bad > bad:
                found += core.warns.not_finite(bad, entry.bad, site, op=op, tensor=entry.id)
                break
        if named.loss:
            found += core.warns.loss(named.name, [e for _, e in inputs], site, op)
        if custom:
            for tensor, entry in written:
                if entry.requires_grad and not entry.is_leaf and entry not in made:
                    tag = None if tensor.grad_fn is None else core.nodes.tag(tensor.grad_fn)
                    if tag is None or not tag.custom:
                        found += core.warns.not_marked_dirty(entry, site, op)
        if core.nodes.older or core.local.unseen:
            core.local.unseen = False
            found += core.warns.unseen("Some of the graph below was made by operations that were not seen.", site)
        if made and made[0].wrapped:
            found += core.warns.unseen("What runs inside a torch.func transform or vmap has no values to show.", site)
        return found

    def _outputs(
        self, returned: list[Any], written: _Seen, batch: list[Event], site: Site | None, blank: bool
    ) -> tuple[list[Any], list[Entry]]:
        """Tensors that the operation made, and the entries of all that count as its outputs."""
        tensors = self.core.tensors
        live, op = tensors.live, self._count
        made: list[Any] = []
        known: list[Entry] = []
        for tensor in returned:
            entry = live.get(id(tensor))
            if entry is None or entry.ref() is not tensor:
                known.append(tensors.see(tensor, batch, op, site, blank=blank))
                made.append(tensor)
            elif entry.op == op or any(tensor is t for t, _ in written):
                known.append(entry)
        return made, known

    def _given_back(
        self, returned: list[Any], inputs: _Seen, made: list[Any], known: list[Entry], batch: list[Event]
    ) -> None:
        """What a custom Function returns was mostly made by an operation inside it, and has been given a node since."""
        tensors = self.core.tensors
        for tensor in returned:
            entry = tensors.find(tensor)
            if entry is not None and entry not in known and not any(tensor is t for t, _ in inputs):
                entry.op = self._count
                tensors.again(entry, tensor, batch, self._count)
                made.append(tensor)
                known.append(entry)

    def _written(self, written: _Seen, batch: list[Event], site: Site | None) -> None:
        """Tell the new content of what was written to, and of everything else on the same memory."""
        core = self.core
        done: set[int] = set()
        for tensor, entry in written:
            if entry.id in done:
                continue
            done.add(entry.id)
            core.tensors.written(entry, site)
            core.tensors.again(entry, tensor, batch, self._count)
        for _, entry in written:
            for other, tensor in core.tensors.aliases(entry):
                if other.id in done:
                    continue
                done.add(other.id)
                if other.version is not None and tensor._version == other.version and other.requires_grad:
                    self._silent_edit(other, site, batch)
                if other.node is not None and tensor._is_view() and torch.is_grad_enabled():
                    other.stale = True
                elif other.requires_grad and not tensor._is_view():
                    core.tensors.again(other, tensor, batch, self._count)
                    continue
                core.tensors.value(other, tensor, batch)

    def _silent_edit(self, entry: Entry, site: Site | None, batch: list[Event]) -> None:
        """Bytes changed behind a version counter: a warning where a node still wants to use them."""
        store = entry.store
        users = set() if store is None else store.savers
        if not users:
            return
        batch.append(
            Warn(
                "data_edit",
                "A saved tensor was changed without its version counter moving.",
                None if site is None else site.span,
                "" if site is None else site.text,
                self._count,
                min(users),
                entry.id,
            )
        )

    def _silent(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any], inputs: _Seen) -> _Seen:
        if func.__name__.startswith("_fused_"):
            return inputs
        statistics = [*args[1:3], kwargs.get("running_mean"), kwargs.get("running_var")]
        training = kwargs.get("training", args[5] if len(args) > 5 else False)
        return [(t, e) for t, e in inputs if training and any(t is s for s in statistics)]

    def _grad_writes(self, name: str, written: _Seen, site: Site | None) -> list[Event]:
        """`Grad` events for those of the written tensors that are the `.grad` of another, or share its memory."""
        core = self.core
        cause = "zero" if name.endswith("zero_") else "edit"
        events: list[Event] = []
        seen: set[int] = set()
        running = core.where()[1]
        if running is not None and running.leaf is not None:
            seen.add(running.leaf.id)  # a hook after the addition: the pass tells of both when the node is done
        for tensor, entry in written:
            pairs = [(entry, tensor), *core.tensors.aliases(entry)]
            for alias, holder in pairs:
                leaf = alias.grad_of
                if leaf is None or leaf.id in seen or (owner := leaf.ref()) is None:
                    continue
                seen.add(leaf.id)
                if entry.grad_of is None:
                    entry.grad_of = leaf
                after = core.snapshots.of(holder)
                events.append(self._grad(leaf, cause, after, alias.id, site))
                del owner
        return events

    def _grad(self, leaf: Entry, cause: str, after: Any, grad_tensor: int | None, site: Site | None) -> Grad:
        within, node = self.core.where()
        first, last = fit((leaf.grad, after))
        leaf.grad, leaf.grad_known = after, True
        return Grad(
            leaf.id,
            cause,
            first,
            None,
            last,
            within,
            None if node is None else node.id,
            grad_tensor,
            None if site is None else site.span,
            "" if site is None else site.text,
        )

    @guarded
    def bind_result(self, result: Any) -> None:
        """Tell the names that the statement of a module's call binds to what the module gave."""
        core = self.core
        site, frame = core.sources.here(3)
        if site is None or frame is None or not (site.names or site.returns) or not core.sources.hands_up(frame, 3):
            return
        batch: list[Event] = []
        with Off(), core.journal.lock:
            self._bind(core.sources.names(site, frame), result, batch, again=False)
            for event in batch:
                core.journal.trailing(event)

    def _bind(self, site: Site | None, result: Any, batch: list[Event], *, again: bool = True) -> None:
        """Tell the names that the statement binds to what was returned; `again`: those too that mean it already."""
        if site is None or not site.names:
            return
        tensors = self.core.tensors
        for name, tensor in bound(site, result):
            entry = tensors.find(tensor)
            if entry is not None and (again or tensors.bound.get(name) != entry.id):
                tensors.name(entry, name, site.span, batch)

    def _untracked(self, name: str, inputs: _Seen, made: list[Any]) -> str | None:
        if not inputs or any(t.requires_grad for t in made):
            return None
        if torch.is_inference_mode_enabled():
            return "inference_mode"
        if not any(e.requires_grad for _, e in inputs):
            return "no_input_requires_grad"
        if name in ("detach", "data"):
            return "detached"
        return "not_differentiable" if torch.is_grad_enabled() else "no_grad"

    def _named(self, func: Any) -> Named:
        known = self._names.get(func)
        if known is None:
            name, qualified = names(func)
            known = self._names[func] = Named(name, qualified, is_loss(name))
        return known

    # ---- calls that are no operations

    def special(self, kind: Kind, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """`.grad`, `.data =`, flags, hooks and backward calls."""
        core = self.core
        site, inputs, old = None, [], None
        try:
            site, _ = core.sources.here(2)
            if kind > Kind.GRAD_GET:
                inputs = self.inputs(args, kwargs, site)
                old = self._grad_of(args) if kind == Kind.GRAD_SET else None
        except Exception as error:
            core.fail(f"inputs of {func}", error)
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            if kind == Kind.BACKWARD:
                core.faults.tell(error, site)
            elif kind != Kind.GRAD_GET:
                self.failed(func, error, inputs, args, kwargs, site)
            raise
        if not core.active:
            return result
        if kind == Kind.GRAD_GET:
            if result is not None and args:
                self._quietly(self._grad_seen, args[0], result, site)
        elif not inputs or inputs[0][0] is not args[0]:
            pass  # a parameter of a lazy module: it is seen once it has a shape
        elif kind == Kind.GRAD_SET:
            self._quietly(self._grad_set, inputs, old, site)
        elif kind == Kind.HOOK:
            self._quietly(self._hooked, inputs)
        elif kind in (Kind.DATA_SET, Kind.FLAG):
            self._quietly(self._changed, kind, func, args, kwargs, inputs, site)
        return result

    def _hooked(self, inputs: _Seen) -> None:
        """The program put a hook on a tensor: what arrives at its node may differ from what the node gets."""
        tensor = inputs[0][0] if inputs else None
        node = None if tensor is None or tensor.is_leaf else tensor.grad_fn
        tag = None if node is None else self.core.nodes.tag(node)
        if tag is not None:
            tag.hooked = True

    @guarded
    def _quietly(self, method: Any, *args: Any) -> None:
        with Off(), self.core.journal.lock:
            method(*args)

    def _grad_of(self, args: Sequence[Any]) -> Any:
        """A token for the present `.grad`: its object id, None where there is none. Nothing is held."""
        with Off():
            tensor = args[0]
            grad = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
            return None if grad is None else id(grad)

    def _grad_seen(self, owner: Any, grad: Any, site: Site | None) -> None:
        batch: list[Event] = []
        entry = self.core.tensors.see(owner, batch, site=site)
        self.core.tensors.is_grad_of(grad, entry)
        self.core.journal.write_all(batch)

    def _grad_set(self, inputs: _Seen, old: int | None, site: Site | None) -> None:
        core = self.core
        tensor, entry = inputs[0]
        grad = tensor.grad
        if (None if grad is None else id(grad)) == old:
            return
        number = None
        after = None
        if grad is not None:
            core.tensors.is_grad_of(grad, entry)
            after = core.snapshots.of(grad)
            seen = core.tensors.find(grad)
            number = None if seen is None else seen.id
        core.journal.write(self._grad(entry, "none" if grad is None else "assign", after, number, site))

    def _changed(
        self, kind: Kind, func: Any, args: Sequence[Any], kwargs: dict[str, Any], inputs: _Seen, site: Site | None
    ) -> None:
        """`requires_grad_`, `retain_grad`, `x.data = y`: the first argument has changed."""
        core = self.core
        if not inputs:
            return
        tensor, entry = inputs[0]
        before = entry.requires_grad, entry.retains
        named = self._named(func)
        if named.name == "retain_grad":
            entry.retains = bool(tensor.retains_grad)
            known: list[Event] = []  # a view whose base was written to has a new node by now, which nobody has seen
            if entry.stale:
                core.tensors.node_again(entry, tensor, known, None)
                core.journal.write_all(known)
            tag = core.nodes.tag(tensor.grad_fn) if not tensor.is_leaf else None
            if tag is not None and entry.retains and not before[1]:
                tag.retained = [*(tag.retained or ()), entry]
                entry.grad_known = True
        if kind == Kind.FLAG and before == (bool(tensor.requires_grad), entry.retains):
            return
        batch: list[Event] = []
        core.tensors.again(entry, tensor, batch)
        within, node = core.where()
        core.journal.write(
            Op(
                self._count,
                named.name,
                named.qualified,
                tuple([e.id for _, e in inputs]),
                (),
                (entry.id,),
                arguments(args, kwargs),
                (),
                None if site is None else site.span,
                "" if site is None else site.text,
                core.local.scope,
                within=within,
                within_node=None if node is None else node.id,
                thread=core.thread(),
            )
        )
        self._count += 1
        core.journal.write_all(batch)
