"""The engine's work: every call of it passes a proxy, and hooks on the nodes about to run tell order and gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

import torch
from torch.overrides import TorchFunctionMode

from gradviz.recorder.compiled import Compiled, is_compiled
from gradviz.recorder.core import Core, Off, mode_stack, pop_mode, push_mode, task_id, tracing
from gradviz.recorder.guard import guarded
from gradviz.recorder.hooks import After, Before, take_off, to_front
from gradviz.recorder.nodes import KEY, Tag
from gradviz.recorder.plan import plan
from gradviz.recorder.running import Arrived, Begun, Datas, Pass, any_differs, fitted, is_taken, known
from gradviz.recorder.snapshot import differs, fit, total
from gradviz.recorder.source import Site, bound
from gradviz.recorder.tensors import Entry
from gradviz.recorder.warns import badness
from gradviz.trace.events import Backward as BackwardEvent
from gradviz.trace.events import BackwardEnded, Data, Event, Freed, Grad, NodeRan, Value


class Engine:
    """Stands in for PyTorch's engine object; everything but `run_backward` is passed on."""

    def __init__(self, passes: Passes, real: Any) -> None:
        self._passes = passes
        self._real = real

    def run_backward(self, *args: Any, **kwargs: Any) -> Any:
        """As the real one, told on the way."""
        return self._passes.run(self._real, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class Passes:
    """Writes `Backward`, `NodeRan`, `Grad`, `Freed` and `BackwardEnded`."""

    def __init__(self, core: Core, mode: TorchFunctionMode) -> None:
        self.core = core
        self._mode = mode
        self.compiled: Compiled

    def seeds_made(self, real: Any, outputs: Any, grads: Any, *args: Any, **kwargs: Any) -> Any:
        """Around the making of the seeds: notes which PyTorch makes itself, and tells of its complaints."""
        core = self.core
        if not core.active:
            return real(outputs, grads, *args, **kwargs)
        self._note_root(outputs)
        try:
            result = real(outputs, grads, *args, **kwargs)
        except Exception as error:
            self._not_made(error)
            raise
        core.local.implicit = tuple([g is None for g in grads])
        return result

    @guarded
    def _not_made(self, error: Exception) -> None:
        site, _ = self.core.sources.here(4)
        self.core.faults.tell(error, site)

    @guarded
    def _note_root(self, outputs: Any) -> None:
        tensors = [t for t in outputs if isinstance(t, torch.Tensor)]
        with Off(), self.core.journal.lock:
            odd = [t for t in tensors if not t.is_nested and (t.numel() != 1 or t.is_complex() or not t.requires_grad)]
            root = next(iter(odd or tensors), None)
            if root is not None:
                shape = () if root.is_nested else tuple(map(int, root.shape))
                self.core.last_root = self.core.tensors.find(root), shape

    # ---- one call of the engine

    def run(self, real: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the engine with hooks on, and tell its beginning and end."""
        core = self.core
        if not core.active or core.local.hidden or tracing() is not None:
            return real.run_backward(*args, **kwargs)
        run = site = frame = None
        if core.probe is not None:
            core.probe.passing(len(core.passes), real, args)
        try:
            site, frame = core.sources.here(2)
            with Off(), core.journal.lock:
                run = self._begin(args, kwargs, site)
        except Exception as error:
            core.fail("the beginning of a pass", error)
        if run is None:
            return self._unstarted(real, args, kwargs, site)
        scope, core.local.scope = core.local.scope, core.local.scope
        inside = any(mode is self._mode for mode in mode_stack())
        if not inside:
            push_mode(self._mode)  # Tensor.backward() has switched it off for its own duration
        try:
            result = real.run_backward(*args, **kwargs)
        except BaseException as error:
            self._end(run, error, None, frame)
            raise
        finally:
            if not inside:
                pop_mode()
            core.local.scope = scope
        self._end(run, None, result, frame)
        return result

    def _unstarted(self, real: Any, args: tuple[Any, ...], kwargs: dict[str, Any], site: Site | None) -> Any:
        """Call the engine where no pass can begin, since a root has no node: it raises."""
        try:
            return real.run_backward(*args, **kwargs)
        except Exception as error:
            self.core.faults.tell(error, site)
            raise

    def _begin(self, args: tuple[Any, ...], kwargs: dict[str, Any], site: Site | None) -> Pass | None:
        """The pass, told; None where a root has no node, so that the engine will not begin."""
        core = self.core
        outputs, grads, keep, create, inputs = (*args, *(None, False, False, ())[len(args) - 1 :])[:5]
        run = Pass(len(core.passes), bool(keep), bool(create), site)
        batch: list[Event] = []
        parent, parent_tag = core.where()
        roots, numbers, tensors = self._roots(outputs, batch)
        if len(roots) < len(outputs):
            core.journal.write_all(batch)
            return None
        nodes = [core.nodes.walk(node, None, batch) for node in roots]
        reached = self._reach(run, roots)
        wanted = self._wanted(run, inputs, batch) if inputs else None
        accumulate = bool(kwargs.get("accumulate_grad", args[6] if len(args) > 6 else True))
        run.order = plan(run.tags, nodes, wanted, runs_wanted=accumulate)
        seeds = tuple([None if g is None else core.snapshots.gradient(g) for g in grads or ()])
        implicit, core.local.implicit = core.local.implicit, None
        journal = core.journal
        journal.write_all(batch)
        journal.write(
            BackwardEvent(
                run.id,
                tuple(nodes),
                numbers,
                tuple(tensors),
                fit(seeds),
                implicit if implicit is not None and len(implicit) == len(nodes) else (),
                "backward" if accumulate else "grad",
                run.keep,
                run.create,
                tuple([e.id for e, _ in run.wanted if e is not None]) if inputs else None,
                tuple(run.order),
                parent,
                None if parent_tag is None else parent_tag.id,
                None if site is None else site.span,
                "" if site is None else site.text,
            )
        )
        core.passes.append((None, "") if site is None else (site.span, site.text))
        for node, number, grad, seed in zip(nodes, numbers, grads or (), seeds, strict=False):
            came = None if grad is None or seed is None else Arrived(ref(grad), None, seed)
            run.arrived.setdefault((node, number), []).append(came)
        run.held = [node for node, ident in zip(roots, nodes, strict=True) if run.tags[ident].leaf is not None]
        self._hook(run, reached)
        core.open.append(run)
        return run

    def _roots(self, outputs: Any, batch: list[Event]) -> tuple[list[Any], tuple[int, ...], list[int]]:
        """Nodes, which input of each gets the seed, and the ids of the root tensors."""
        core = self.core
        nodes, numbers, tensors = [], [], []
        for output in outputs:
            if not isinstance(output, torch.Tensor):
                nodes.append(output.node)
                numbers.append(int(output.output_nr))
                continue
            entry = core.tensors.see(output, batch)
            tensors.append(entry.id)
            node = output.grad_fn
            if node is None and output.requires_grad:
                node = torch.autograd.graph._get_grad_fn_or_grad_acc(output)
            if node is not None:
                nodes.append(node)
                numbers.append(int(output.output_nr))
            core.last_root = core.last_root if node is not None else (entry, entry.shape)
        return nodes, tuple(numbers), tensors

    def _reach(self, run: Pass, roots: list[Any]) -> dict[int, Any]:
        """All nodes that the roots reach, by id; their tags go to `run`."""
        reached: dict[int, Any] = {}
        tags = run.tags
        stack = list(roots)
        while stack:
            node = stack.pop()
            tag = node.metadata[KEY]
            ident = tag.id
            if ident not in reached:
                reached[ident] = node
                tags[ident] = tag
                for below, _ in node.next_functions:
                    if below is not None:
                        stack.append(below)
        return reached

    def _wanted(self, run: Pass, inputs: Any, batch: list[Event]) -> set[int]:
        """Nodes that `inputs=` names; also notes them one by one, to tell which of them is not reached."""
        core = self.core
        wanted: set[int] = set()
        for item in inputs:
            entry: Entry | None = None
            if isinstance(item, torch.Tensor):
                entry = core.tensors.see(item, batch)
                if item.is_leaf:
                    nodes = tuple(t.id for t in run.tags.values() if t.leaf is entry)
                else:
                    node = item.grad_fn
                    nodes = () if node is None else (core.nodes.walk(node, None, batch),)
            else:
                nodes = (core.nodes.walk(item.node, None, batch),)
            run.wanted.append((entry, nodes))
            wanted.update(nodes)
        return wanted

    def _hook(self, run: Pass, reached: dict[int, Any]) -> None:
        """Two hooks on a node that holds or runs something of the program's, one on any other: what arrived there is
        handed to that one as well."""
        handles, tags = run.handles, run.tags
        pre, post = self._pre, self._post
        run.raw = self._raw
        try:
            for ident in run.order:
                node, tag = reached[ident], tags[ident]
                if tag.custom and is_compiled(node):
                    run.compiled.add(ident)
                if tag.python or run.create or tag.leaf is not None or tag.retained:
                    handles.append(node.register_prehook(Before(pre, run, tag)))
                handles.append(node.register_hook(After(post, run, tag)))
        except Exception:
            take_off(run, handles)
            raise

    def _end(self, run: Pass, error: BaseException | None, result: Any, frame: Any) -> None:
        core = self.core
        try:
            take_off(run, run.handles)
            run.handles, run.held = [], []
            if run in core.open:
                core.open.remove(run)
            with Off(), core.journal.lock:
                if error is not None:
                    self._failed(run, error)
                else:
                    self._results(run, result, frame)
                core.journal.trailing(BackwardEnded(run.id, error is not None))
                if error is None and _has_ranks():
                    self._reduced(run)
                core.journal.rest()
        except Exception as problem:
            core.fail("the end of a pass", problem)
        if run.task is not None:
            core.tasks.pop(run.task, None)

    def _reduced(self, run: Pass) -> None:
        """Tell of `.grad`s that hold something else than their leaves received: DistributedDataParallel exchanges them
        with the other ranks from within C++, where nothing is seen of it."""
        batch: list[Event] = []
        for ident in sorted(run.done):
            leaf = run.tags[ident].leaf if ident in run.tags else None
            tensor = leaf.ref() if leaf is not None else None
            grad = tensor.grad if tensor is not None else None
            if leaf is None or grad is None:
                continue
            now, seen = self.core.snapshots.gradient(grad), self.core.tensors.find(grad)
            if any_differs((leaf.grad,), (now,)):
                first, last = fit((leaf.grad, now))
                span, text = (None, "") if run.site is None else (run.site.span, run.site.text)
                number = None if seen is None else seen.id
                batch.append(Grad(leaf.id, "edit", first, None, last, grad_tensor=number, span=span, text=text))
                leaf.grad, leaf.grad_known = now, True
        self.core.journal.write_all(batch)

    def _failed(self, run: Pass, error: BaseException) -> None:
        journal = self.core.journal
        for ident, begun in run.begun.items():
            if ident in run.compiled:
                self.compiled.show()
            if begun.handle is not None:
                begun.handle.remove()
            for event in begun.retained:
                journal.write(event)
        if isinstance(error, Exception):
            self.core.faults.tell(error, run.site, run=run, tag=run.failing)
        for ident, begun in run.begun.items():
            if begun.event in journal.begun:
                journal.begun.remove(begun.event)
            if begun.mid:  # a hook raised after the gradient had been added
                self._added(run, run.tags[ident], begun)

    def _added(self, run: Pass, tag: Tag, begun: Begun) -> None:
        leaf = tag.leaf
        tensor = leaf.ref() if leaf is not None else None
        if leaf is None or tensor is None or not begun.mid or not begun.gin:
            return
        after, final = begun.mid[0], None if tensor.grad is None else self.core.snapshots.gradient(tensor.grad)
        leaf.grad, leaf.grad_known = final, True
        trailing = self.core.journal.trailing
        first, added, last = fit((begun.before, begun.gin[0], after))
        trailing(Grad(leaf.id, "accumulate", first, added, last, run.id, tag.id))
        if any_differs((after,), (final,)):
            first, last = fit((after, final))
            trailing(Grad(leaf.id, "hook", first, None, last, run.id, tag.id))

    def _results(self, run: Pass, result: Any, frame: Any) -> None:
        """Tell of the tensors that `grad` gives back."""
        core = self.core
        tensors = [t for t in result or () if isinstance(t, torch.Tensor)]
        if not tensors:
            return
        batch: list[Event] = []
        core.nodes.within, core.nodes.parent = run.id, None if run.last is None else run.last.id
        for tensor in tensors:
            core.tensors.see(tensor, batch, site=run.site)
        site = run.site if run.site is None or frame is None else core.sources.names(run.site, frame)
        if site is not None and site.unpacks:
            for name, tensor in bound(site, result):
                core.tensors.name(core.tensors.see(tensor, batch), name, site.span, batch)
        core.journal.write_all(batch)

    # ---- one node

    def _mine(self, run: Pass, tag: Tag) -> bool:
        """Whether a hook of this pass was called for it: another may run the same graph while this one's are on."""
        task = task_id()
        return run.task == task or self.core.run_of(task, tag) is run

    def _pre(self, run: Pass, tag: Tag, grads: Any) -> None:
        core = self.core
        if not core.active:
            return
        try:
            if not self._mine(run, tag):
                return
            with Off(), core.journal.lock:
                self._started(run, tag, grads)
        except Exception as error:
            core.fail(f"before {tag.name}", error)
        if tag.id in run.compiled:
            self.compiled.hide()

    def _started(self, run: Pass, tag: Tag, grads: Any) -> None:
        core = self.core
        if run.create:
            self._born(run, run.last, grads)
        begun = run.enter(tag, core.journal.begun)
        leaf = tag.leaf
        tensor = None if leaf is None else leaf.ref()
        hooked = tensor is not None and bool(tensor._backward_hooks)
        begun.gin, begun.gin_before = self._received(run, tag, grads, hooked=hooked)
        if leaf is not None and tensor is not None:
            grad = tensor.grad
            begun.before = None if grad is None else core.snapshots.gradient(grad)
            given = grads[0] if grads else None
            begun.version = None if given is None or given.is_inference() else given._version
            leaf.grad, leaf.grad_known = begun.before, True
            if tensor._post_accumulate_grad_hooks:
                self._watch(begun, tensor)
        if tag.retained:
            self._retained(run, tag, begun, begun.gin)

    def _received(
        self, run: Pass, tag: Tag, grads: Sequence[Any], *, hooked: bool = False
    ) -> tuple[Datas, Datas | None]:
        """What a node was given, and what had arrived there, where a hook of the program's changed it in between."""
        snapshots, arrived = self.core.snapshots, run.arrived
        hooked = hooked or tag.hooked
        now: list[Data | None] = []
        before: list[Data | None] = []
        changed = False
        for number, grad in enumerate(grads):
            came = arrived.pop((tag.id, number), None)
            if grad is None:
                now.append(None)
                before.append(None)
                continue
            one = came[0] if came is not None and len(came) == 1 else None
            if (
                one is not None
                and not hooked
                and one.ref() is grad
                and one.version is not None
                and one.version == grad._version
            ):
                data = one.data
                if data.raw is not None:
                    snapshots.fresh += len(data.raw)  # one more event that holds it
            else:
                data = snapshots.gradient(grad)
                was = one.data if one is not None else total(came) if came and hooked else None
                if was is not None and differs(was, data):
                    changed = True
                    now.append(data)
                    before.append(was)
                    continue
            now.append(data)
            before.append(data)
        return tuple(now), tuple(before) if changed else None

    def _watch(self, begun: Begun, tensor: Any) -> None:
        """The program's post-accumulate hooks may change `.grad`: look at it before the first of them."""
        core = self.core
        begun.mid = []

        def look(owner: Any) -> None:
            try:
                with Off():
                    begun.mid = [None if owner.grad is None else core.snapshots.of(owner.grad)]
            except Exception as error:
                core.fail("a gradient before its hooks", error)

        begun.handle = tensor.register_post_accumulate_grad_hook(look)
        to_front(tensor._post_accumulate_grad_hooks, begun.handle.id)

    def _retained(self, run: Pass, tag: Tag, begun: Begun, gin: Datas) -> None:
        for entry in tag.retained or ():
            tensor = entry.ref()
            if tensor is None or entry.output_nr >= len(gin):
                continue
            after = None if tensor.grad is None else self.core.snapshots.of(tensor.grad)
            before, entry.grad = entry.grad, after
            first, added, last = fit((before, gin[entry.output_nr], after))
            begun.retained.append(Grad(entry.id, "retain", first, added, last, run.id, tag.id))

    def _born(self, run: Pass, maker: Tag | None, grads: Any) -> None:
        """Nodes that a run with create_graph left behind its gradients."""
        core = self.core
        batch: list[Event] = []
        core.nodes.within, core.nodes.parent = run.id, None if maker is None else maker.id
        for grad in grads:
            if grad is not None and grad.grad_fn is not None:
                core.nodes.walk(grad.grad_fn, None, batch)
        core.journal.write_all(batch)

    @guarded
    def _raw(self, run: Pass, tag: Tag, grads: Any, _incoming: Any) -> None:
        """The program has hooks on this node: note what the function returned before the first of them."""
        if self.core.active and self._mine(run, tag):
            with Off(), self.core.journal.lock:
                gradient = self.core.snapshots.gradient
                run.enter(tag, self.core.journal.begun).raw = tuple([None if g is None else gradient(g) for g in grads])

    def _post(self, run: Pass, tag: Tag, grads: Any, incoming: Any) -> None:
        core = self.core
        if run.task != task_id() and not self._mine(run, tag):
            return
        if run.compiled and tag.id in run.compiled:
            self.compiled.show()
        if not core.active:
            return
        try:
            with Off(), core.journal.lock:
                self._ran(run, tag, grads, incoming)
        except Exception as error:
            core.fail(f"after {tag.name}", error)

    def _ran(self, run: Pass, tag: Tag, grads: Any, incoming: Any) -> None:
        core, ident = self.core, tag.id
        begun = run.begun.pop(ident, None) if run.begun else None
        before: Datas | None
        if begun is None or begun.gin is None:
            gin, before = self._received(run, tag, incoming)
            gout = self._handed_on(run, tag, grads, incoming, gin)
        else:  # what was given may have been written to since it was looked at
            gin, before = begun.gin, begun.gin_before
            gout = self._handed_on(run, tag, grads, (), ())
        raw = None if begun is None or begun.raw is None or not any_differs(begun.raw, gout) else begun.raw
        if len(gin) + len(gout) > core.snapshots.few or before or raw:
            gin, gout, before, raw = fitted(gin, gout, before, raw)
        events: list[Event] = [NodeRan(run.id, ident, gin, gout, before, raw, core.thread())]
        if any(d is not None and (d.nan or d.inf) for d in gout):
            now, bad = max([badness(d) for d in gout]), max([badness(d) for d in gin], default=0)
            events += core.warns.gradient_not_finite(bad, now, tag.name, ident, run.id)
        run.done.add(ident)
        run.last = tag
        if begun is not None:
            waiting = core.journal.begun
            if waiting and begun.event is waiting[-1]:
                waiting.pop()
            elif waiting:
                waiting[:] = [event for event in waiting if event is not begun.event]
            events += begun.retained
            if tag.leaf is not None:
                events += self._accumulated(run, tag, tag.leaf, begun, gin, incoming)
        if run.create:
            core.journal.ran(events)
            self._born(run, tag, grads)
            events = []
        if not run.keep and tag.size is not None and tag.freed is None:
            tag.freed = run.id
            events.append(Freed(ident, run.id, tag.size))
            for _, _, store, _ in tag.saved:
                if store is not None:
                    store.savers.discard(ident)
        core.journal.ran(events)

    def _handed_on(self, run: Pass, tag: Tag, grads: Sequence[Any], incoming: Sequence[Any], gin: Datas) -> Datas:
        """What a node returned, kept by where it goes, since it is what the next receives. What it only passes on, or
        returns twice, is read once: `gin` holds what `incoming` holds now."""
        arrived, snapshots = run.arrived, self.core.snapshots
        gout: list[Data | None] = []
        for edge, grad in zip(tag.edges, grads, strict=False):
            data = came = None
            if grad is not None:
                data = known(grad, incoming, gin) or known(grad, grads, gout)
                if data is None:
                    data = snapshots.gradient(grad)
                elif data.raw is not None:
                    snapshots.fresh += len(data.raw)  # one more event that holds it
                came = Arrived(ref(grad), None if grad.is_inference() else grad._version, data)
            gout.append(data)
            if edge[0] is not None:
                if edge in arrived:
                    arrived[edge].append(came)
                else:
                    arrived[edge] = [came]
        return tuple(gout)

    def _accumulated(
        self, run: Pass, tag: Tag, leaf: Entry, begun: Begun, gin: Datas, incoming: Sequence[Any]
    ) -> list[Event]:
        core = self.core
        if begun.handle is not None:
            begun.handle.remove()
        tensor = leaf.ref()
        if tensor is None:
            return []
        events: list[Event] = []
        grad = tensor.grad
        added = gin[0] if gin else None
        if grad is None:
            final = None
        elif added is not None and begun.mid is None and is_taken(begun, grad, incoming[0]):
            final = added
            if added.raw is not None:
                core.snapshots.fresh += len(added.raw)
        else:
            final = core.snapshots.gradient(grad)
        after = begun.mid[0] if begun.mid else final
        seen = None if grad is None else core.tensors.find(grad)
        number = None if seen is None else seen.id
        # AccumulateGrad adds nothing to a leaf that was frozen since: it looks at the flag when it runs.
        frozen = not tensor.requires_grad and not any_differs((begun.before,), (after,))
        if added is not None and not frozen:
            leaf.reached = True
            first, second, third = fit((begun.before, added, after))
            events.append(Grad(leaf.id, "accumulate", first, second, third, run.id, tag.id, number))
        if begun.mid and any_differs((after,), (final,)):
            first, second = fit((after, final))
            events.append(Grad(leaf.id, "hook", first, None, second, run.id, tag.id, number))
        leaf.grad, leaf.grad_known = final, True
        if grad is not None and run.create and grad.grad_fn is not None:
            core.journal.ran(events)
            self._born(run, tag, (grad,))
            events = []
        if seen is not None and grad is not None and final is not None and core.snapshots.reads:
            seen.version = None if grad.is_inference() else grad._version
            events.append(Value(seen.id, final, seen.version))
        return events


def _has_ranks() -> bool:
    group = torch.distributed
    return group.is_available() and group.is_initialized() and group.get_world_size() > 1
