"""The package does not know its own name (`app` in the repository, `evenhand` when installed), and no test imports another one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.builders.sources import imports_of, nodes_of

REPOSITORY = Path(__file__).resolve().parents[2]
TIERS = {"architecture", "contract", "e2e", "integration", "unit"}
"""Folders of `tests` that hold tests."""

PROTOCOLS = {
    "aiohttp",
    "h11",
    "http.client",
    "http.server",
    "httpcore",
    "httptools",
    "psycopg.pq",
    "psycopg_binary",
    "psycopg_c",
    "requests",
    "urllib.request",
    "urllib3",
    "uvicorn.protocols",
}
"""Modules that speak HTTP or Postgres' protocol, or are parts of those that do. httpx, uvicorn and psycopg are there for that."""

SPEAKERS = {
    "app/web/http_protocol.py": {"uvicorn.protocols"},  # bounds of connections, before a key is read
    "app/cli/service/serve.py": {"http.client"},  # whether the service is ready, without loading httpx
    "app/cli/example/model_http.py": {"http.server"},  # models of others, for the example and the how-to pages
    "app/calls/call_failures.py": {"http.client"},  # the names of statuses
    "app/calls/pinned_transport.py": {"httpcore"},  # addresses are pinned in its pool
    "app/intake/writing/write_session.py": {"psycopg.pq"},  # the word for a connection without a transaction
}
"""Uses of them by module, and why."""


SHARED_BY_ROUTES = {
    "access/authenticator.py",
    "access/gate/caller.py",
    "access/gate/gate.py",
    "deployments/deployment_in_address.py",
    "deployments/validate_only.py",
    "intake/hot_routes/hot_route.py",
    "records/csv_streams.py",
}
"""Modules that use the web framework beside routes and pages."""


def test_modules_import_each_other_relatively() -> None:
    absolute = {
        str(path.relative_to(REPOSITORY)): found
        for path in (REPOSITORY / "app").rglob("*.py")
        if (found := re.findall(r"^\s*(?:from|import) (?:app|evenhand|migrations)\b.*", path.read_text("utf-8"), re.MULTILINE))
    }

    assert absolute == {}


def test_nothing_else_speaks_http_or_libpq_by_itself() -> None:
    sources = {path.relative_to(REPOSITORY).as_posix(): path.read_text("utf-8") for path in (REPOSITORY / "app").rglob("*.py")}

    assert {path: found for path, source in sources.items() if (found := _protocols_in(source))} == SPEAKERS


def test_the_web_framework_is_in_routes_pages_and_what_they_share() -> None:
    app = REPOSITORY / "app"
    users = {
        path.relative_to(app)
        for path in app.rglob("*.py")
        if re.search(r"^from (fastapi|starlette)", path.read_text("utf-8"), re.MULTILINE)
    }
    elsewhere = {path for path in users if path.parts[0] not in {"main.py", "face.py", "pages", "web"} and not path.stem.endswith("routes")}

    assert {path.as_posix() for path in elsewhere} == SHARED_BY_ROUTES


def test_every_form_of_using_a_protocol_is_seen() -> None:
    refused = [
        "import http.client",
        "import httpcore._async as below",
        "from http import HTTPStatus, client",
        "from psycopg import pq",
        "from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol",
        "def later():\n    from psycopg.pq import PGconn",
        "import psycopg\n\npsycopg.pq.PGconn",
        "import psycopg\n\nidle = psycopg.pq",
    ]
    allowed = [
        "from http import HTTPStatus",
        "import psycopg",
        "import pyarrow.parquet as pq",
        "from ..outbound import requests",
        "import httpx",
    ]

    assert [source for source in refused if not _protocols_in(source)] == []
    assert [source for source in allowed if _protocols_in(source)] == []


def test_what_tests_share_is_no_part_of_other_tests() -> None:
    """Nothing is imported from a test module, a conftest, or another folder of tests; `tests/builders` is there for all."""
    modules = [*(REPOSITORY / "tests").rglob("*.py"), *(REPOSITORY / "scripts").rglob("*.py")]
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


def _protocols_in(source: str) -> set[str]:
    """Those of PROTOCOLS that a module imports or reaches by the dotted name."""
    used: set[str] = set()
    is_reached = any(protocol in source for protocol in PROTOCOLS if "." in protocol)
    for node in nodes_of(source) if is_reached else imports_of(source):
        if isinstance(node, ast.Import):
            used |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            used |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute) and (name := ast.unparse(node)) in PROTOCOLS:
            used.add(name)
    return {protocol for protocol in PROTOCOLS if any(name == protocol or name.startswith(f"{protocol}.") for name in used)}


def _imports_of_tests(folder: Path, source: str) -> set[str]:
    """The files that a module in the folder imports and must not."""
    return {file.as_posix() for file in _imported(folder, source) if _is_of_tests(file, folder)}


def _is_of_tests(file: Path, folder: Path) -> bool:
    is_test = file.name.startswith("test_") or file.name == "conftest.py"
    return file.parts[0] == "tests" and (is_test or (file.parts[1] in TIERS and file.parent != folder))


def _imported(folder: Path, source: str) -> Iterator[Path]:
    """The files of the repository that are imported, those of packages left out."""
    for node in imports_of(source):
        if isinstance(node, ast.Import):
            names = [Path(*alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = [folder, *folder.parents][node.level - 1] if node.level else Path()
            module = package.joinpath(*(node.module or "").split("."))
            names = [module, *(module / alias.name for alias in node.names)]  # a name may be a module, too
        else:
            continue
        yield from (file for name in names if (REPOSITORY / (file := name.with_suffix(".py"))).is_file())
