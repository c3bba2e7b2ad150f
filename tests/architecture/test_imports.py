"""The package does not know its own name (`app` in the repository, `evenhand` when installed), and no test imports another one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.builders.sources import nodes_of

REPOSITORY = Path(__file__).resolve().parents[2]
TIERS = {"architecture", "contract", "e2e", "integration", "unit"}
"""Folders of `tests` that hold tests."""


def test_modules_import_each_other_relatively() -> None:
    absolute = {
        str(path.relative_to(REPOSITORY)): found
        for path in (REPOSITORY / "app").rglob("*.py")
        if (found := re.findall(r"^\s*(?:from|import) (?:app|evenhand|migrations)\b.*", path.read_text("utf-8"), re.MULTILINE))
    }

    assert absolute == {}


def test_libpq_is_left_to_psycopg() -> None:
    own = [path.name for path in (REPOSITORY / "app").rglob("*.py") if re.search(r"\b(pgconn|PGconn)\b", path.read_text("utf-8"))]

    assert own == []


def test_what_tests_share_is_no_part_of_other_tests() -> None:
    """Nothing is imported from a test module, a conftest, or another folder of tests; `tests/builders` is there for all."""
    modules = [*(REPOSITORY / "tests").rglob("*.py"), *(REPOSITORY / "scripts").glob("*.py")]
    wrong = {
        path.relative_to(REPOSITORY).as_posix(): found
        for path in modules
        if (found := _imports_of_tests(path.parent.relative_to(REPOSITORY), path.read_text("utf-8")))
    }

    assert len(modules) > 400
    assert wrong == {}


def test_every_form_of_an_import_is_seen() -> None:
    refused = [
        "from tests.unit.metrics.test_laws import within",
        "from tests.unit.metrics import test_laws",
        "import tests.unit.metrics.test_laws",
        "from .test_laws import within",
        "def later():\n    from tests.integration.checks.conftest import stage",
        "from tests.conftest import database",
        "from tests.unit.ingest.plans import plan",
        "from ..ingest import plans",
        "import tests.unit.ingest.plans as plans",
    ]
    allowed = [
        "from tests.unit.metrics.worked import worked",
        "from . import worked",
        "from tests.builders import applicants",
        "from tests.scenes import NOON",
        "import tests",
        "import pytest",
    ]
    folder = Path("tests/unit/metrics")

    assert [source for source in refused if not _imports_of_tests(folder, source)] == []
    assert [source for source in allowed if _imports_of_tests(folder, source)] == []
    assert _imports_of_tests(Path("tests/unit"), allowed[0]) == {"tests/unit/metrics/worked.py"}


def _imports_of_tests(folder: Path, source: str) -> set[str]:
    """The files that a module in the folder imports and must not."""
    return {file.as_posix() for file in _imported(folder, source) if _is_of_tests(file, folder)}


def _is_of_tests(file: Path, folder: Path) -> bool:
    is_test = file.name.startswith("test_") or file.name == "conftest.py"
    return file.parts[0] == "tests" and (is_test or (file.parts[1] in TIERS and file.parent != folder))


def _imported(folder: Path, source: str) -> Iterator[Path]:
    """The files of the repository that are imported, those of packages left out."""
    for node in nodes_of(source):
        if isinstance(node, ast.Import):
            names = [Path(*alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = [folder, *folder.parents][node.level - 1] if node.level else Path()
            module = package.joinpath(*(node.module or "").split("."))
            names = [module, *(module / alias.name for alias in node.names)]  # a name may be a module, too
        else:
            continue
        yield from (file for name in names if (REPOSITORY / (file := name.with_suffix(".py"))).is_file())
