"""Every module has its tests where one looks for them: in the folder of tests that mirrors its own."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Modules whose tests are elsewhere -> that test file, below tests/.
ELSEWHERE: dict[str, str] = {"__init__": "test_public.py", "__main__": "test_cli.py"}


def is_tested(module: str, tests: dict[str, str]) -> bool:
    """`tests` are texts by path below tests/. Tested is what has test_NAME….py in the mirroring folder, or is imported
    by name in a test there."""
    if module in ELSEWHERE:
        return ELSEWHERE[module] in tests
    folder, _, name = module.rpartition("/")
    own = f"{folder}/test_{name.strip('_')}".lstrip("/")
    dotted = re.escape("gradviz." + module.replace("/", "."))
    parent, _, last = dotted.rpartition(r"\.")
    named = re.compile(rf"(from|import) {dotted}\b|from {parent} import .*\b{last}\b|\"{dotted}\"")
    return any(
        path.startswith(own) or (path.rpartition("/")[0] == folder and named.search(text))
        for path, text in tests.items()
    )


def sources(below: str, pattern: str) -> dict[str, str]:
    root = ROOT / below
    return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in sorted(root.rglob(pattern))}


def modules() -> list[str]:
    found = [path.removesuffix(".py") for path in sources("gradviz", "*.py")]
    return [module for module in found if not module.endswith("/__init__")]


def test_every_module_has_its_tests() -> None:
    tests = sources("tests", "test_*.py")
    missing = [f"gradviz/{module}.py" for module in modules() if not is_tested(module, tests)]
    assert not missing, "without tests in the folder that mirrors theirs:\n" + "\n".join(missing)


def test_no_row_is_out_of_date() -> None:
    assert set(ELSEWHERE) <= set(modules())


def test_the_law_bites() -> None:
    assert not is_tested("graph/model", {"trace/test_model.py": "from gradviz.graph.model import Card"})
    assert not is_tested("graph/model", {"graph/test_x.py": "from gradviz.graph.models import Card"})
    assert is_tested("graph/model", {"graph/test_x.py": "from gradviz.graph.model import Card"})
    assert is_tested("graph/model", {"graph/test_model_size.py": ""})
