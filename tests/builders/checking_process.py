"""A process of its own that performs a check of records in files, to be killed."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from app.checks.check import perform_check
from app.checks.window.window import TablePlaces
from app.database.engine import Database
from app.domain.check import CheckRun
from app.mitigation.window.mitigate_window import mitigate_window
from tests.builders.killed_processes import killed_process
from tests.scenes import PlainSealer


@dataclass(frozen=True)
class QueuedCheck:
    """A running check, the address of its database, and the folder of its tables."""

    run: CheckRun
    url: str
    folder: Path

    def perform(self) -> None:
        """Performs the check."""
        database = Database(self.url)
        places = TablePlaces((self.folder,))
        perform_check(self.run, database=database, sealer=PlainSealer(), report=lambda _: None, further=mitigate_window, places=places)
        database.close()


def checking_process(check: QueuedCheck) -> AbstractContextManager[BaseProcess]:
    """A process that performs the check; killed at the end of the block if it still runs."""
    return killed_process(check.perform)
