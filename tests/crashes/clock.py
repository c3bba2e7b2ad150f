"""Clocks of machines, which libfaketime moves: of all processes that are started with their settings."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

SITE = Path(__file__).parent / "clock_site"
LIBRARY = "faketime/libfaketimeMT.so.1"
RIGHT = "+0"
SHIFTS = ("+5h", "+3d", "+40d", "-5h", "-20h")
"""Ahead up to another month, and back past the start. More than a day back, clients that state the time are refused."""

TO_THE_END = "+65m"
"""Every hour that has begun ends."""


@dataclass(frozen=True)
class Clock:
    file: Path
    library: Path

    @property
    def settings(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(self.library),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            # With its fix, threads of Python that compute do not take turns.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
            "NO_FAKE_STAT": "1",
            "PYTHONPATH": f"{SITE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        }

    def set(self, shift: str) -> None:
        new = self.file.with_suffix(".new")
        new.write_text(f"{shift}\n", encoding="ascii")
        new.replace(self.file)


@contextmanager
def clock() -> Iterator[Clock]:
    """A clock that is right.

    Raises:
        RuntimeError: libfaketime is not installed.
    """
    library = next(Path("/usr/lib").glob(f"**/{LIBRARY}"), None)
    if library is None:
        raise RuntimeError("libfaketime is not installed; on Debian: apt-get install faketime")
    with TemporaryDirectory(prefix="evenhand-clock-") as folder:
        Path(folder).chmod(0o711)
        made = Clock(Path(folder, "shift"), library)
        made.set(RIGHT)
        yield made
