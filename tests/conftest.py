"""Fixtures that every tier shares. Tests talk to a real Postgres: an embedded one, or EVENHAND_TEST_DATABASE_URL."""

import gc
import logging
import os
import tempfile
import uuid
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hypothesis
import pytest
import structlog
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

from app.base.apart import ChildWork
from app.database.embedded.embedded_server import TUNING, EmbeddedPostgres
from app.database.engine import Database
from app.database.migrations import upgrade
from app.database.partitions import ensure_coming_months, ensure_months
from app.reports import report_processes
from tests.cheap import (
    ask_servers_once,
    compile_statements_once,
    hash_passwords_cheaply,
    read_types_once,
    share_tls_contexts,
    trust_one_authority,
)
from tests.children import hand_over_variables
from tests.connections import KEEPER
from tests.databases import UNSAFE, Databases, address_of, execute
from tests.examples import many
from tests.progress import MOST_LOOKS, Watch, lift_limits
from tests.scenes import NOON, SceneMemory

# Modules and tests that are collected stay to the end: looks through them for garbage took an eighth of the time of the collection.
gc.set_threshold(1_000_000, 20, 20)
lift_limits()
hash_passwords_cheaply()
ask_servers_once()
compile_statements_once()
read_types_once()
share_tls_contexts()
hand_over_variables()
# Hypothesis gives an example 200 ms by itself, which a busy machine can miss.
hypothesis.settings.register_profile("unhurried", deadline=None, max_examples=many(100))
hypothesis.settings.load_profile("unhurried")

PAGES = "tests/e2e/pages/"
WAITING = ("tests/contract/", "tests/e2e/", "tests/field/")
"""Folders of tests that mostly wait for services."""
WAITING_FILES = 2
"""Files of these folders that run at once, in addition to the pages."""

LOGGING: dict[str, Any] = {
    "processors": [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        # The default renders the local variables of every frame of an error, which takes seconds of processor time.
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ],
    "wrapper_class": structlog.make_filtering_bound_logger(0),
    "logger_factory": structlog.PrintLoggerFactory(),
}
"""What tests print. Loggers are never cached: a cached one would not see what another test configures or captures."""

structlog.configure = partial(structlog.configure, cache_logger_on_first_use=False)


class MixedFiles(LoadFileScheduling):  # type: ignore[misc]
    """Gives each file to one process, and all tests of pages to one: their example takes half a minute to start.

    Pages come first, because they take longest. Of the other files that mostly wait for services only two run at once, next to
    files that mostly compute: together they keep the processors busy, one kind after the other would leave them idle.
    """

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return PAGES if file.startswith(PAGES) else file

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(self._choose_file(), last=False)
        super()._assign_work_unit(node)

    def _choose_file(self) -> str:
        if PAGES in self.workqueue:
            return PAGES
        running = [file for files in self.assigned_work.values() for file, tests in files.items() if not all(tests.values())]
        may_wait = sum(file.startswith(WAITING) and file != PAGES for file in running) < WAITING_FILES
        return next((file for file in self.workqueue if file.startswith(WAITING) == may_wait), next(iter(self.workqueue)))


class Here(ChildWork):
    """A call in this process."""

    def __init__(self, work: Callable[..., Any], *arguments: object) -> None:
        self._call = partial(work, *arguments)

    def result(self) -> Any:  # noqa: ANN401 - of the call
        """That of the call."""
        return self._call()

    def end(self) -> None:
        """Does nothing."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> MixedFiles | None:  # noqa: ANN401 - of xdist
    return MixedFiles(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Spares the garbage collector the modules, which stay to the end: looking through them took a tenth of the processor time.

    It looks less often, too: looks after every 700 objects took a fifteenth.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """The only limits of a test: that something moves, and not without an end. Fixtures are watched, too."""
    with Watch(most_looks=MOST_LOOKS).looking():
        return (yield)


@pytest.fixture(autouse=True, scope="session")
def _one_authority(tmp_path_factory: pytest.TempPathFactory) -> None:
    trust_one_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(autouse=True)
def _own_logging() -> Iterator[None]:
    """Undoes what a command that a test calls in this process configures."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    structlog.configure(**LOGGING)
    yield
    structlog.configure(**LOGGING)
    root.handlers[:], root.level = handlers, level


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The address of a running Postgres that tests may create databases in. The embedded one keeps nothing across a power cut."""
    given = os.environ.get("EVENHAND_TEST_DATABASE_URL")
    if given:
        yield given
        return
    # Not pytest's own folder: it is closed to all but its owner, and as root the server runs as another account.
    with tempfile.TemporaryDirectory(prefix="evenhand-test-") as folder:
        Path(folder).chmod(0o711)
        server = EmbeddedPostgres(Path(folder) / "data")
        with patch.dict(TUNING, UNSAFE):
            server.start()
        yield server.url
        server.stop()


@pytest.fixture(scope="session")
def template_database(postgres_url: str) -> Iterator[str]:
    """The name of a migrated database that others are copied from (a copy takes a tenth of a migration)."""
    name = f"template_{uuid.uuid4().hex}"
    execute(postgres_url, f"CREATE DATABASE {name}")
    database = Database(address_of(postgres_url, name))
    upgrade(database)
    with database.transaction() as session:
        ensure_coming_months(session, datetime.now(UTC))
        # The month of most scenes: each would create its partition, and it would have to be dropped again.
        ensure_months(session, [(NOON.year, NOON.month)])
    database.close()
    yield name
    execute(postgres_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def databases(postgres_url: str, template_database: str) -> Iterator[Databases]:
    """Empty, migrated databases, lent to one test after another."""
    databases = Databases(postgres_url, template_database)
    yield databases
    databases.drop()


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    """The address of an empty, migrated database that no other test uses meanwhile."""
    with databases.lent() as url:
        yield url


@pytest.fixture
def bare(postgres_url: str) -> Iterator[Database]:
    """A pool on a database without any table."""
    name = f"bare_{uuid.uuid4().hex}"
    execute(postgres_url, f"CREATE DATABASE {name}")
    database = Database(address_of(postgres_url, name))
    yield database
    database.close()
    execute(postgres_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def connections_end() -> Iterator[None]:
    """Ends connections that are closed, instead of keeping them for the next test: for tests that look at what is connected."""
    with KEEPER.switched_off():
        yield


@pytest.fixture(scope="module")
def memory() -> SceneMemory:
    """Memory for the scene that the tests of a module begin with."""
    return SceneMemory()


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A pool on an empty, migrated database."""
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def reports_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes reports in a thread. The processes that make them otherwise, which tests/integration/reports/test_waiting.py tries, load the
    product for seconds.
    """
    monkeypatch.setattr(report_processes, "ChildWork", Here)
