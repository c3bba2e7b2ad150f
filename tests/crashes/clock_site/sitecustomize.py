"""Makes every Python program started with this folder in `PYTHONPATH` bear libfaketime, and pass it on to Postgres."""

import os
import select
import subprocess
import time

NAMES = ("LD_PRELOAD", "NO_FAKE_STAT", *(name for name in os.environ if name.startswith("FAKETIME")))


class _Popen(subprocess.Popen):  # type: ignore[type-arg]
    def __init__(self, *arguments: object, env: dict[str, str] | None = None, **options: object) -> None:
        passed_on = {name: os.environ[name] for name in NAMES if name in os.environ}
        super().__init__(*arguments, env=env and {**env, **passed_on}, **options)  # type: ignore[call-overload]


def _sleep(seconds: float) -> None:
    select.select((), (), (), seconds)


# libfaketime 0.9.10 takes the absolute monotonic time of `clock_nanosleep` for one of the moved clock, and answers EINVAL.
time.sleep = _sleep  # type: ignore[assignment]
subprocess.Popen = _Popen  # type: ignore[assignment,misc]
