"""The engine's work: every call of it passes a proxy, and hooks on the nodes about to run tell order and gradients."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from gradviz.recorder.compiled import Compiled, is_compiled
from gradviz.recorder.core import Core, Off, mode_stack, pop_mode, push_mode, task_id, tracing
from gradviz.recorder.guard import guarded
from gradviz.recorder.nodes import Tag
from gradviz.recorder.plan import plan
from gradviz.recorder.snapshot import fit
from gradviz.recorder.source import Site
from gradviz.recorder.tensors import Entry
from gradviz.recorder.warns import badness
from gradviz.trace.events import Backward as BackwardEvent
from gradviz.trace.events import BackwardEnded, Data, Event, Freed, Grad, NodeRan, NodeStarted, Value

_Datas = tuple[Data | None, ...]


class Pass:
    """One call of the engine while it runs. Holds tags and ids, no node and no gradient."""

    __slots__ = (
        "arrived",
        "begun",
        "compiled",
        "create",
        "done",
        "handles",
        "held",
        "id",
        "keep",
        "last",
        "order",
        "site",
        "tags",
        "task",
        "wanted",
    )

    def __init__(self, ident: int, keep: bool, create: bool, site: Site | None) -> None:
        self.id = ident
        self.keep = keep
        self.create = create
        self.site = site
        self.task: int | None = None
        self.tags: dict[int, Tag] = {}
        self.order: list[int] = []
        self.done: set[int] = set()
        self.begun: dict[int, _Begun] = {}
        self.last: Tag | None = None
        self.handles: list[Any] = []
        self.compiled: set[int] = set()
        self.held: list[Any] = []
        """AccumulateGrad nodes of roots that are leaves: nothing else keeps the very node that was looked at."""
        self.arrived: dict[tuple[int, int], list[Data | None]] = {}
        self.wanted: list[tuple[Entry | None, tuple[int, ...]]] = []

    @property
    def failing(self) -> Tag | None:
        """The node that began and is not done, else the next of the plan."""
        if self.begun:
            return self.tags.get(next(reversed(self.begun)))
        return next((self.tags[n] for n in self.order if n not in self.done), None)


class _Begun:
    __slots__ = ("before", "event", "gin", "gin_before", "gout_before", "handle", "mid", "retained")

    def __init__(self, gin: _Datas, event: NodeStarted) -> None:
        self.gin = gin
        self.event = event
        self.gin_before: _Datas | None = None
        self.gout_before: _Datas | None = None
        self.before: Data | None = None
        self.mid: list[Data | None] | None = None
        self.handle: Any = None
        self.retained: list[Grad] = []


def _to_front(hooks: dict[int, Any], ident: int) -> None:
    """Have a hook called before all others: PyTorch goes by the order in which they came into the dictionary, which
    `OrderedDict.move_to_end` does not change."""
    for other in [key for key in hooks if key != ident]:
        hooks[other] = hooks.pop(other)


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
        self._open: list[Pass] = []
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
        seeds = tuple([core.snapshots.gradient(g) for g in grads or ()])
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
        for node, number, seed in zip(nodes, numbers, seeds, strict=False):
            run.arrived.setdefault((node, number), []).append(seed)
        run.held = [node for node, ident in zip(roots, nodes, strict=True) if run.tags[ident].leaf is not None]
        self._hook(run, reached)
        self._open.append(run)
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
        tag_of = self.core.nodes.tag
        stack = list(roots)
        while stack:
            node = stack.pop()
            tag = tag_of(node)
            if tag is None or tag.id in reached:
                continue
            reached[tag.id] = node
            run.tags[tag.id] = tag
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
        handles = run.handles
        try:
            for ident in run.order:
                node, tag = reached[ident], run.tags[ident]
                if is_compiled(node):
                    run.compiled.add(ident)
                handles.append(node.register_prehook(partial(self._pre, run, tag)))
                last = node.register_hook(partial(self._post, run, tag))
                handles.append(last)
                hooks = last.hooks_dict_ref()
                if hooks is not None and len(hooks) > 1:  # the program's own hooks may change what the node returned
                    first = node.register_hook(partial(self._returned, run, tag))
                    _to_front(hooks, first.id)
                    handles.append(first)
        except Exception:
            for handle in handles:
                handle.remove()
            raise

    def _end(self, run: Pass, error: BaseException | None, result: Any, frame: Any) -> None:
        core = self.core
        try:
            for handle in run.handles:
                handle.remove()
            run.handles, run.held = [], []
            if run in self._open:
                self._open.remove(run)
            with Off(), core.journal.lock:
                if error is not None:
                    self._failed(run, error)
                else:
                    self._results(run, result, frame)
                core.journal.trailing(BackwardEnded(run.id, error is not None))
        except Exception as problem:
            core.fail("the end of a pass", problem)
        if run.task is not None:
            core.tasks.pop(run.task, None)

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

    def _added(self, run: Pass, tag: Tag, begun: _Begun) -> None:
        leaf = tag.leaf
        tensor = leaf.ref() if leaf is not None else None
        if leaf is None or tensor is None or not begun.mid:
            return
        after, final = begun.mid[0], None if tensor.grad is None else self.core.snapshots.gradient(tensor.grad)
        leaf.grad, leaf.grad_known = final, True
        trailing = self.core.journal.trailing
        trailing(Grad(leaf.id, "accumulate", begun.before, begun.gin[0], after, run.id, tag.id))
        if final != after:
            trailing(Grad(leaf.id, "hook", after, None, final, run.id, tag.id))

    def _results(self, run: Pass, result: Any, frame: Any) -> None:
        """Tell of the tensors that `grad` gives back."""
        core = self.core
        tensors = [t for t in result or () if isinstance(t, torch.Tensor)]
        if not tensors:
            return
        batch: list[Event] = []
        core.nodes.within, core.nodes.parent = run.id, None if run.last is None else run.last.id
        entries = [core.tensors.see(t, batch, site=run.site) for t in tensors]
        site = run.site if run.site is None or frame is None else core.sources.names(run.site, frame)
        if site is not None and site.unpacks and len(site.names) == len(entries):
            for entry, name in zip(entries, site.names, strict=True):
                if name is not None:
                    core.tensors.name(entry, name, site.span, batch)
        core.journal.write_all(batch)

    # ---- one node

    def _mine(self, run: Pass, tag: Tag, task: int) -> bool:
        """Whether a hook of this pass was called for it: another may run the same graph while this one's are on."""
        known = self.core.tasks.get(task)
        if known is None:
            known = next((p for p in reversed(self._open) if p.task is None and tag.id in p.tags), None)
            if known is None:
                return False
            known.task = task
            self.core.tasks[task] = known
        return known is run

    def _pre(self, run: Pass, tag: Tag, grads: Any) -> None:
        core = self.core
        if not core.active:
            return
        try:
            task = task_id()
            if run.task != task and not self._mine(run, tag, task):
                return
            with Off(), core.journal.lock:
                self._started(run, tag, grads)
        except Exception as error:
            core.fail(f"before {tag.name}", error)
        if tag.id in run.compiled:
            self.compiled.hide()

    def _started(self, run: Pass, tag: Tag, grads: Any) -> None:
        core = self.core
        gradient = core.snapshots.gradient
        gin = fit(tuple([None if g is None else gradient(g) for g in grads]))
        if run.create:
            self._born(run, run.last, grads)
        begun = run.begun[tag.id] = _Begun(gin, NodeStarted(run.id, tag.id, gin))
        begun.gin_before = self._before_hooks(run, tag, gin)
        leaf = tag.leaf
        if leaf is not None:
            tensor = leaf.ref()
            if tensor is not None:
                grad = tensor.grad
                begun.before = None if grad is None else core.snapshots.gradient(grad)
                leaf.grad, leaf.grad_known = begun.before, True
                if tensor._post_accumulate_grad_hooks:
                    self._watch(begun, tensor)
        if tag.retained:
            self._retained(run, tag, begun)
        core.journal.begun.append(begun.event)

    def _watch(self, begun: _Begun, tensor: Any) -> None:
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
        _to_front(tensor._post_accumulate_grad_hooks, begun.handle.id)

    def _before_hooks(self, run: Pass, tag: Tag, gin: _Datas) -> _Datas | None:
        """What arrived, where a hook changed it. With one contribution that is the contribution itself."""
        arrived: list[Data | None] = []
        changed = False
        for number, now in enumerate(gin):
            came = run.arrived.pop((tag.id, number), None)
            if came is None or len(came) != 1 or came[0] is None or now is None or came[0] is now:
                arrived.append(now)
                continue
            before = came[0]
            arrived.append(before)
            changed = changed or (before.raw != now.raw if before.raw and now.raw else before.norm != now.norm)
        return tuple(arrived) if changed else None

    def _retained(self, run: Pass, tag: Tag, begun: _Begun) -> None:
        for entry in tag.retained or ():
            tensor = entry.ref()
            if tensor is None or entry.output_nr >= len(begun.gin):
                continue
            after = None if tensor.grad is None else self.core.snapshots.of(tensor.grad)
            before, entry.grad = entry.grad, after
            begun.retained.append(Grad(entry.id, "retain", before, begun.gin[entry.output_nr], after, run.id, tag.id))

    def _born(self, run: Pass, maker: Tag | None, grads: Any) -> None:
        """Nodes that a run with create_graph left behind its gradients."""
        core = self.core
        batch: list[Event] = []
        core.nodes.within, core.nodes.parent = run.id, None if maker is None else maker.id
        for grad in grads:
            if grad is not None and grad.grad_fn is not None:
                core.nodes.walk(grad.grad_fn, None, batch)
        for event in batch:
            core.journal.write(event)

    def _returned(self, run: Pass, tag: Tag, grads: Any, _incoming: Any) -> None:
        """What a node returned, before the first of the program's hooks."""
        begun = run.begun.get(tag.id)
        if run.task != task_id() or begun is None or not self.core.active:
            return
        try:
            with Off(), self.core.journal.lock:
                gradient = self.core.snapshots.gradient
                begun.gout_before = tuple([None if g is None else gradient(g) for g in grads])
        except Exception as error:
            self.core.fail(f"after {tag.name}", error)

    def _post(self, run: Pass, tag: Tag, grads: Any, _incoming: Any) -> None:
        if run.task != task_id():
            return
        core = self.core
        if tag.id in run.compiled:
            self.compiled.show()
        if not core.active:
            return
        try:
            with Off(), core.journal.lock:
                self._ran(run, tag, grads)
        except Exception as error:
            core.fail(f"after {tag.name}", error)

    def _ran(self, run: Pass, tag: Tag, grads: Any) -> None:
        core = self.core
        journal = core.journal
        begun = run.begun.pop(tag.id, None)
        if begun is None:
            return
        gradient = core.snapshots.gradient
        gout: _Datas = tuple([None if g is None else gradient(g) for g in grads]) if tag.edges else ()
        for (below, number), data in zip(tag.edges, gout, strict=False):
            if below is not None:
                run.arrived.setdefault((below, number), []).append(data)
        waiting = journal.begun
        if waiting and begun.event is waiting[-1]:
            waiting.pop()
        elif waiting:
            waiting[:] = [event for event in waiting if event is not begun.event]
        returned = begun.gout_before if begun.gout_before != gout else None
        journal.ran(NodeRan(run.id, tag.id, begun.gin, fit(gout), begun.gin_before, returned, core.thread()))
        now = max([badness(d) for d in gout], default=0)
        if now:
            before = max([badness(d) for d in begun.gin], default=0)
            for event in core.warns.gradient_not_finite(before, now, tag.name, tag.id, run.id):
                journal.write(event)
        run.done.add(tag.id)
        run.last = tag
        for event in begun.retained:
            journal.write(event)
        if tag.leaf is not None:
            self._accumulated(run, tag, tag.leaf, begun)
        if run.create:
            self._born(run, tag, grads)
        if not run.keep and tag.size is not None and tag.freed is None:
            tag.freed = run.id
            journal.write(Freed(tag.id, run.id, tag.size))
            for _, _, store, _ in tag.saved:
                if store is not None:
                    store.savers.pop(tag.id, None)

    def _accumulated(self, run: Pass, tag: Tag, leaf: Entry, begun: _Begun) -> None:
        core = self.core
        if begun.handle is not None:
            begun.handle.remove()
        tensor = leaf.ref()
        if tensor is None:
            return
        grad = tensor.grad
        final = None if grad is None else core.snapshots.gradient(grad)
        after = begun.mid[0] if begun.mid else final
        added = begun.gin[0] if begun.gin else None
        seen = None if grad is None else core.tensors.find(grad)
        number = None if seen is None else seen.id
        if added is not None:
            leaf.reached = True
            core.journal.write(Grad(leaf.id, "accumulate", begun.before, added, after, run.id, tag.id, number))
        if begun.mid and final != after:
            core.journal.write(Grad(leaf.id, "hook", after, None, final, run.id, tag.id, number))
        leaf.grad, leaf.grad_known = final, True
        if grad is not None and run.create and grad.grad_fn is not None:
            self._born(run, tag, (grad,))
        if seen is not None and grad is not None and core.snapshots.reads:
            seen.version = None if grad.is_inference() else int(grad._version)
            core.journal.write(Value(seen.id, final or core.snapshots.of(grad), seen.version))
