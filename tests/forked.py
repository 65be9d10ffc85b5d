"""Recorders and plain programs for tests, forked from one process that has imported PyTorch: each would import it for
seconds.

How a recorder starts by itself is tested by what is marked `cold`, and by the tests of `gradviz.recorder.process`.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from gradviz.app.launch import BOOT

ROOT = Path(__file__).resolve().parents[1]
SERVER = """
import gc, json, os, runpy, signal, socket, sys, threading, traceback
from gradviz.recorder.process import main

def plain(path):
    for name in [name for name in sys.modules if name.partition(".")[0] == "gradviz"]:
        del sys.modules[name]
    sys.argv, sys.path[0] = [path], os.path.dirname(path)
    runpy.run_path(path, run_name="__main__")

def record(asked, given):
    for k in range(3):
        os.dup2(given[k], k)
    os.closerange(3, max(*given, server.fileno()) + 1)
    if asked["session"]:
        os.setsid()
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    code = 0
    try:
        plain(asked["argv"][0]) if asked["plain"] else main(asked["argv"])
    except SystemExit as leaving:
        code = leaving.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass
    os._exit(code)

def watch(asked, given):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if not child:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        record(asked, given)
    for k in given[:3]:
        os.close(k)
    told = socket.socket(fileno=given[3])
    told.send(b"%d" % child)
    told.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)

signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
server = socket.socket(fileno=int(sys.argv[1]))
gc.freeze()
while True:
    head, given, _, _ = socket.recv_fds(server, 1 << 20, 4)
    if not head:
        os._exit(0)
    if not os.fork():
        try:
            watch(json.loads(head), given)
        finally:
            os._exit(1)
    for k in given:
        os.close(k)
"""
_server: list[socket.socket] = []


def _ask(asked: dict[str, Any], given: list[int]) -> None:
    if not _server:
        mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-c", SERVER, str(other.fileno())]
        process = subprocess.Popen(command, pass_fds=(other.fileno(),), stdin=subprocess.DEVNULL, cwd=ROOT)
        other.close()
        _server.append(mine)
        atexit.register(process.wait, 10)
        atexit.register(mine.close)
    socket.send_fds(_server[0], [json.dumps(asked).encode()], given)


class Forked:
    """What `gradviz.app.launch` and these tests need of a `subprocess.Popen`. `argv`: that of the recorder, or the path
    of a `plain` program."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        stdin: int,
        stdout: int,
        stderr: int | Any,
        cwd: str | None = None,
        start_new_session: bool = True,
        plain: bool = False,
    ) -> None:
        self.args = list(argv)
        self.returncode: int | None = None
        self.stdin: IO[bytes] | None = None
        self.stdout: IO[bytes] | None = None
        closed: list[int] = []
        if stdin == subprocess.PIPE:
            stdin, write = os.pipe()
            self.stdin = os.fdopen(write, "wb", 0)
            closed.append(stdin)
        if stdout == subprocess.PIPE:
            read, stdout = os.pipe()
            self.stdout = os.fdopen(read, "rb", 0)
            closed.append(stdout)
        self._one = threading.Lock()
        self._told, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        asked = {"argv": self.args, "cwd": cwd or str(Path.cwd()), "env": dict(os.environ)}
        error = stderr if isinstance(stderr, int) else stderr.fileno()
        _ask({**asked, "session": start_new_session, "plain": plain}, [stdin, stdout, error, other.fileno()])
        other.close()
        for descriptor in closed:
            os.close(descriptor)
        self.pid = int(self._told.recv(64))

    def wait(self, timeout: float | None = None) -> int:
        """Exit status; raises TimeoutExpired as `Popen.wait` does."""
        if self.returncode is None and not select.select([self._told], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        with self._one:  # another thread may have waited too
            if self.returncode is None:
                self.returncode = int(self._told.recv(64) or -signal.SIGKILL)
        return self.returncode

    def poll(self) -> int | None:
        """Exit status, or None while it runs."""
        try:
            return self.wait(0.0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number: int) -> None:
        """To the recorder alone."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def __del__(self) -> None:
        self._told.close()

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


def popen(real: Any) -> Any:
    """In place of `subprocess.Popen`: what `gradviz.app.launch` starts is forked, all else is really started."""

    def start(command: Sequence[str], **options: Any) -> Any:
        cwd = options.get("cwd")
        if list(command[:3]) != [sys.executable, "-c", BOOT] or not (cwd is None or Path(cwd).is_dir()):
            return real(command, **options)
        options.pop("bufsize", None)
        return Forked(command[4:], **options)

    return start


def record(*argv: str | Path, sent: str = "", cwd: str | Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run `python -m gradviz.recorder` with these arguments to its end; `sent` is its standard input."""
    return _run(argv, sent, cwd, plain=False)


def python(program: str | Path, cwd: str | Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a program as plain Python does: no module of gradviz is loaded."""
    return _run([program], "", cwd, plain=True)


def _run(argv: Sequence[str | Path], sent: str, cwd: str | Path, *, plain: bool) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        given.write(sent.encode())
        given.seek(0)
        words = [str(word) for word in argv]
        stdin, stdout, stderr = given.fileno(), out.fileno(), errors.fileno()
        ran = Forked(words, stdin=stdin, stdout=stdout, stderr=stderr, cwd=str(cwd), plain=plain)
        code = ran.wait(300)
        out.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(words, code, out.read().decode(), errors.read().decode())
