"""Asks interpreters, in the background, what they have: a tiny program in each, two at a time."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QProcess, QTimer, Signal

from gradviz.app.interpreters import Report, command, judge
from gradviz.explain import Words

AT_ONCE = 2
PATIENCE_MS = 20_000


class Prober(QObject):
    """`told` is emitted for each path that was asked about. An answer is kept: asking again starts nothing."""

    told = Signal(str, object)
    """Path and `Report`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.reports: dict[str, Report] = {}
        self._waiting: list[str] = []
        self._running: dict[str, QProcess] = {}

    def ask(self, *paths: str, again: bool = False) -> None:
        """Find out about these; with `again` also about those that are known, since packages come and go."""
        for path in paths:
            if path in self._waiting or path in self._running:
                continue
            if path in self.reports and not again:
                self.told.emit(path, self.reports[path])
            else:
                self._waiting.append(path)
        self._go_on()

    def _go_on(self) -> None:
        while self._waiting and len(self._running) < AT_ONCE:
            self._start(self._waiting.pop(0))

    def _start(self, path: str) -> None:
        process = QProcess(self)
        self._running[path] = process
        program, *arguments = command(path)
        process.finished.connect(lambda: self._ended(path))
        process.errorOccurred.connect(
            lambda error: self._ended(path) if error == QProcess.ProcessError.FailedToStart else None
        )
        QTimer.singleShot(PATIENCE_MS, process, process.kill)
        process.setStandardInputFile(QProcess.nullDevice())
        process.start(program, arguments)

    def _ended(self, path: str) -> None:
        process = self._running.pop(path, None)
        if process is None:
            return
        report = judge(path, bytes(process.readAllStandardOutput().data()))
        self.reports[path] = report
        process.deleteLater()
        self.told.emit(path, report)
        self._go_on()

    def close(self) -> None:
        """End what is still running."""
        self._waiting.clear()
        for process in [*self._running.values()]:
            process.blockSignals(True)
            process.kill()
            process.waitForFinished(1000)
        self._running.clear()


def sentence(words: Words, report: Report) -> str:
    """What stands in the way, in one sentence; "" where nothing does."""
    if not report.problem:
        return ""
    fields = {"python": report.python, "torch": report.torch, "packages": ", ".join(report.lacking)}
    return words(f"ui.setup.{report.problem}", **fields)


def once(prober: Prober, path: str, then: Callable[[Report], object]) -> None:
    """Ask anew about one path and do something with the answer."""

    def hear(asked: str, report: object) -> None:
        if asked == path and isinstance(report, Report):
            prober.told.disconnect(hear)
            then(report)

    prober.told.connect(hear)
    prober.ask(path, again=True)
