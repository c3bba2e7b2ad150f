"""Where an import is, on the disk: after a kill it continues there."""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from .import_report import ImportReport, RejectedRow


class Checkpoint:
    """Notes nothing: for imports that are not continued."""

    def resume(self) -> tuple[ImportReport, int]:
        """Returns the report of an earlier attempt, and the number of finished rows."""
        return ImportReport(), 0

    def write_rejection(self, row: RejectedRow) -> None: ...

    def note(self, report: ImportReport, rows_done: int) -> None:
        """Notes that so many rows are stored durably, or rejected."""

    def finish(self) -> None:
        """Forgets the import: another one of the same files begins at their beginning."""


class CheckpointFile(Checkpoint):
    """A file that names the import, and that of its rejected rows. To be closed."""

    def __init__(self, folder: Path, identity: Mapping[str, Any], *, rejections: Path | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._key = hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()
        self._path = folder / f"{self._key[:32]}.json"
        self._rejections = rejections
        self._file: BinaryIO | None = None

    def resume(self) -> tuple[ImportReport, int]:
        """Returns where the earlier attempt was; removes rejected rows after its last note."""
        report, rows_done, written = ImportReport(), 0, 0
        # Without a readable note it begins again; nothing is stored twice.
        with suppress(OSError, ValueError, KeyError, TypeError):
            stored = json.loads(self._path.read_bytes())
            if stored["key"] == self._key:
                report, rows_done, written = ImportReport.of(stored["report"]), int(stored["done"]), int(stored["rejections_bytes"])
        if self._rejections is not None:
            self._file = self._rejections.open("r+b" if rows_done and self._rejections.exists() else "wb")
            self._file.truncate(written)
            self._file.seek(0, os.SEEK_END)
        return report, rows_done

    def write_rejection(self, row: RejectedRow) -> None:
        if self._file is not None:
            self._file.write(json.dumps(asdict(row)).encode() + b"\n")

    def note(self, report: ImportReport, rows_done: int) -> None:
        """Replaces the note: a kill leaves the old or the new one."""
        written = 0
        if self._file is not None:
            self._file.flush()
            written = self._file.tell()
        note = {"key": self._key, "done": rows_done, "rejections_bytes": written, "report": report.members()}
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(note))
        new.replace(self._path)

    def finish(self) -> None:
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
