"""The recorder as a process of its own: runs a program as plain Python would, then the lines that it is sent.

The trace goes to a file or to a private duplicate of fd 1; with `--live`, commands come from a private duplicate of
fd 0, one JSON object a line: {"cell": 3, "source": "loss.backward()", "origin": "action"}.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import contextlib
import io
import json
import linecache
import os
import queue
import select
import sys
import threading
import time
import tokenize
import types
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import msgspec
import torch

from gradviz.recorder.faults import report
from gradviz.recorder.output import Capture
from gradviz.recorder.probing import Probe, Probing
from gradviz.recorder.ranks import ranked
from gradviz.recorder.recorder import MAX_BYTES, MAX_EVENTS, Recorder

_end = os._exit
"""Without the recorder's last flush, which is what may have failed."""
_TICK = 0.05
_FAULT_PATIENCE = 0.25
_GONE = 74
"""Exit status where nobody reads the trace any more."""


def main(argv: list[str] | None = None) -> NoReturn:
    """Command line; ends the process with the program's exit status (0 after a live session)."""
    options = _options(argv)
    process = Process(options)
    status = process.run()
    sys.exit(status)


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m gradviz.recorder", description=__doc__)
    parser.add_argument("--values", choices=("auto", "all", "none"), default="auto")
    parser.add_argument("--value-limit", type=int, default=1024, metavar="N")
    parser.add_argument("--max-events", type=int, default=MAX_EVENTS, metavar="N", help="record no more than this")
    parser.add_argument("--max-bytes", type=int, default=MAX_BYTES, metavar="N", help="write no more than this")
    parser.add_argument("--live", action="store_true", help="stay after the program and run lines from standard input")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the trace here instead of to standard output")
    parser.add_argument("--device", metavar="D", help="default device of new tensors")
    parser.add_argument("--seed", type=int, metavar="S", help="seed given to torch.manual_seed before the program")
    parser.add_argument("--display-path", metavar="NAME", help="path under which the program is shown")
    parser.add_argument("--stdin", metavar="FILE", help="with --live: what the program reads from standard input")
    parser.add_argument("--probe", metavar="JSON", help="measure at one pass and end there (`recorder.probing`)")
    parser.add_argument("program")
    parser.add_argument("args", nargs=argparse.REMAINDER)
    return parser.parse_args(argv)


class Process:
    """One run of a program, and of the lines after it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._path: str = options.program
        self._shown: str = options.display_path or options.program
        self._fd = self._open()
        self._commands = os.dup(0) if options.live else -1
        self._recorder = Recorder(
            self._sink, options.values, options.value_limit, options.max_events, options.max_bytes
        )
        if options.probe:
            self._recorder.core.probe = Probe(msgspec.json.decode(options.probe, type=Probing))
        self._capture = Capture(self._recorder.output, through=options.output is not None)
        self._module = types.ModuleType("__main__")
        self._source = b""
        self._last: tuple[int, str, int | None] = (0, "ok", None)
        self._own_main = sys.modules.get("__main__")  # held: the program takes its place, and its globals would go

    def run(self) -> int:
        """Run everything; gives the exit status."""
        options, recorder = self._options, self._recorder
        self._source = Path(self._path).read_bytes()
        text = _decoded(self._source)
        if options.live:
            _offer_first()
            given = os.open(options.stdin or os.devnull, os.O_RDONLY)
            os.dup2(given, 0)
            os.close(given)
        recorder.header(
            program=self._shown,
            source=text,
            argv=(self._shown, *options.args),
            device=options.device or "cpu",
            seed=options.seed,
        )
        file = recorder.core.sources.register(self._shown, self._shown, text)
        linecache.cache[self._shown] = len(text), None, list(io.StringIO(text)), self._shown
        self._stage()
        threading.Thread(target=self._tick, daemon=True).start()
        self._capture.start()
        ask = builtins.input
        builtins.input = self._asking(ask)
        status = 0
        try:
            recorder.start()
            recorder.begin(0, file)
            status = self._guard(0, self._program)
            if options.live:
                status = 0
                self._serve()
        finally:
            builtins.input = ask
            recorder.stop()
            self._capture.stop()
            recorder.end(*self._last, final=True)
            recorder.close()
        for problem in recorder.core.problems[:1]:
            print(f"gradviz: the recording stopped early: {problem}", file=sys.stderr)
        return status

    # ---- the program and the lines

    def _stage(self) -> None:
        """Set the scene as plain Python would: a fresh `__main__`, `sys.argv`, `sys.path[0]`, device and seed."""
        options, module = self._options, self._module
        module.__dict__.update(
            __file__=self._shown if Path(self._shown).is_file() else self._path, __builtins__=builtins
        )
        module.__dict__.update(__annotations__={}, __cached__=None)
        sys.modules["__main__"] = module
        sys.argv = [self._shown, *options.args]
        folder = os.path.dirname(os.path.abspath(self._shown))
        if not os.path.isdir(folder):
            folder = os.path.dirname(os.path.abspath(self._path))
        sys.path[0] = folder
        if options.device and torch.device(options.device).type != "cpu":
            torch.set_default_device(options.device)
        if options.seed is not None:
            torch.manual_seed(options.seed)

    def _program(self) -> None:
        exec(compile(self._source, self._shown, "exec", dont_inherit=True), self._module.__dict__)

    def _guard(self, cell: int, work: Callable[[], None]) -> int:
        """Run `work`, tell how it ended, and give the exit status that plain Python would."""
        recorder = self._recorder
        state, code = "ok", 0
        try:
            work()
            if not self._options.live:
                _join_threads()
        except SystemExit as leaving:
            state, code = "exit", _exit_code(leaving)
        except KeyboardInterrupt as error:
            state, code = "interrupted", 130
            report(error)
        except BaseException as error:
            state, code = "error", 1
            self._unhandled(error)
        _flush_streams()
        recorder.bind(self._module.__dict__)
        self._last = cell, state, code
        if self._options.live:
            recorder.end(cell, state, code)
        return code

    def _unhandled(self, error: BaseException) -> None:
        sources = self._recorder.core.sources
        span, text = None, ""
        if isinstance(error, SyntaxError) and error.lineno and error.filename:
            name = error.filename
            if name == self._shown or name.startswith("<cell"):
                span, text = (sources.file(name), error.lineno, -1, error.lineno, -1), (error.text or "").strip()
        self._recorder.core.faults.top(error, span, text)
        report(error)

    def _serve(self) -> None:
        """Run the lines that come until standard input ends."""
        lines: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()
        while True:
            try:
                line = lines.get()
                if line is None:
                    return
                self._command(line)
            except KeyboardInterrupt:
                continue

    def _command(self, line: bytes) -> None:
        try:
            command = json.loads(line)
            cell, source = int(command["cell"]), str(command["source"])
            origin = command.get("origin", "action")
        except (ValueError, KeyError, TypeError):
            return
        recorder = self._recorder
        name = f"<cell {cell}>"
        linecache.cache[name] = len(source), None, list(io.StringIO(source)), name
        file = recorder.core.sources.register(name, name, source)
        recorder.begin(cell, file, origin if origin in ("program", "action", "console") else "action")
        self._guard(cell, lambda: self._line(source, name, show=origin == "console"))

    def _line(self, source: str, name: str, *, show: bool) -> None:
        code: str | ast.Interactive = source
        if show:  # as Python's own console: the value of every statement that is an expression is printed
            tree = compile(source, name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
            code = ast.Interactive(tree.body if isinstance(tree, ast.Module) else [])
        exec(compile(code, name, "single" if show else "exec", dont_inherit=True), self._module.__dict__)

    # ---- pipes

    def _open(self) -> int:
        if self._options.output is not None:
            return os.open(ranked(self._options.output), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        return os.dup(1)

    def _sink(self, frame: bytes) -> None:
        view = memoryview(frame)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except BrokenPipeError:
            _end(_GONE)
        except OSError as error:  # no room is left: the program goes on, and its end says why there is no more
            self._recorder.core.fail("writing the recording", error)
            self._recorder.core.journal.closed = True

    def _read(self, lines: queue.Queue[bytes | None]) -> None:
        with os.fdopen(self._commands, "rb") as stream:
            for line in stream:
                if line.strip():
                    lines.put(line)
        lines.put(None)

    def _tick(self) -> None:
        """Every 50 ms: hand over what is pending, settle a fault that nobody takes up, end where no reader is left."""
        journal = self._recorder.core.journal
        watch = select.poll()
        watch.register(self._fd, select.POLLERR)
        waited = 0.0
        while not journal.closed:
            time.sleep(_TICK)
            waited = waited + _TICK if journal.waits else 0.0
            try:
                if waited > _FAULT_PATIENCE:
                    journal.settle(caught=True)
                if journal.pending:
                    journal.flush()
            except MemoryError as error:
                self._recorder.core.fail("writing the recording", error)
            if any(state & select.POLLERR for _, state in watch.poll(0)):
                _end(_GONE)

    def _asking(self, real: Callable[..., str]) -> Callable[..., str]:
        def ask(prompt: object = "", /) -> str:
            _flush_streams()
            self._recorder.flush()
            return real(prompt)

        return ask


def _offer_first() -> None:
    """Where memory runs out, Linux ends a process of its choice: rather this one, or one it starts, than the window."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _decoded(source: bytes) -> str:
    """Program text as Python would read it (its encoding line or UTF-8)."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        return io.TextIOWrapper(io.BytesIO(source), encoding, errors="replace").read()
    except (SyntaxError, LookupError):
        return source.decode("utf-8", "replace")


def _exit_code(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code
    print(leaving.code, file=sys.stderr)
    return 1


def _flush_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue


def _join_threads() -> None:
    """Plain Python waits for the threads that a program has started."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
