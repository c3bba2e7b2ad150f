"""A process that moves a month and kills itself in the middle, as a machine without power does."""

import multiprocessing
import os
import signal
from pathlib import Path

from app.domain.archives import CalendarMonth
from app.retention import archiving
from app.store.database.engine import Database
from app.store.retention.archives import MonthPlace, alone


def killed_at(step: str, url: str, place: MonthPlace, folder: Path) -> int | None:
    """Returns how the process ended that was to be killed at the call of that function."""
    process = multiprocessing.get_context("spawn").Process(
        target=_move, args=(step, url, place.deployment_no, str(place.month), str(folder))
    )
    process.start()
    process.join()
    return process.exitcode


def _move(step: str, url: str, deployment_no: int, month: str, folder: str) -> None:
    def die(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(archiving, step, die)
    read = CalendarMonth.read(month)
    assert read is not None
    place, database = MonthPlace(deployment_no, read), Database(url)
    with alone(database):
        if step == "note_back":
            archiving.bring_back(database, place)
        else:
            archiving.store_month(database, place, Path(folder))
