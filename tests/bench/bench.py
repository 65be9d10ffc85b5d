"""Runs the benchmarks one after the other, each in a process of its own: `make bench`, or `make bench ARGS=startup`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def benches() -> list[str]:
    """Names of the benchmarks: the modules of this folder, the start of the window first."""
    return ["startup", *sorted(path.stem for path in HERE.glob("bench_*.py"))]


def main(wanted: list[str]) -> int:
    """Run those whose name holds one of the wanted words (all by default); 1 where one of them failed."""
    failed = []
    for name in benches():
        if wanted and not any(word in name for word in wanted):
            continue
        print(f"== {name.removeprefix('bench_')}", flush=True)
        ran = subprocess.run([sys.executable, "-m", f"tests.bench.{name}"], check=False, cwd=HERE.parents[1])
        if ran.returncode:
            failed.append(name)
    if failed:
        print(f"above their bars, or broken: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
