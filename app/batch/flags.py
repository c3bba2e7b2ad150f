"""Flags of records in files, as Parquet next to these: one file for each span or batch."""

import hashlib
import secrets
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from ..domain.checks import CheckRun
from ..errors import SetupError
from ..frozen import frozen
from .payload_files import TIMES

FOLDER = "flagged"

FLAGS = pa.schema(
    {
        "record_id": pa.string(),
        "scored_at": TIMES,
        "model_revision": pa.string(),
        "attribute": pa.string(),
        "group": pa.string(),
        "direction": pa.string(),
        "own_score": pa.float64(),
        "reference_score": pa.float64(),
        "gap": pa.float64(),
        "check_id": pa.string(),
    }
)

_MOMENT = "%Y-%m-%dT%H%M%SZ"

_MOST_CHARACTERS = 200


@frozen
class FlagFile:
    path: Path

    @classmethod
    def of(cls, folder: Path, check: CheckRun) -> "FlagFile":
        """Returns the file of the check's batch, or of its span."""
        name = f"{check.span.start:{_MOMENT}}_{check.span.end:{_MOMENT}}"
        if check.batch is not None:
            name = f"batch_{quote(check.batch, safe='')}"
        if len(name) > _MOST_CHARACTERS:
            name = f"{name[:_MOST_CHARACTERS]}_{hashlib.blake2b(name.encode(), digest_size=8).hexdigest()}"
        return cls(folder / FOLDER / f"{name}.parquet")

    def write(self, flags: pa.Table) -> None:
        """Replaces the file at once."""
        unfinished = self.path.with_name(f"_{secrets.token_hex(12)}.unfinished")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(flags, unfinished)
            unfinished.replace(self.path)
        except OSError as error:
            raise SetupError(f"Flagged records cannot be written to {self.path}: {error}. Let the worker write there.") from error

    def delete(self) -> int | None:
        """Deletes the file; returns how many flags it had, None where its folder cannot be reached or written to."""
        # The path was read from the database.
        if self.path.parent.name != FOLDER or not self.path.parent.is_dir():
            return None
        try:
            rows = int(pq.read_metadata(self.path).num_rows)
        except FileNotFoundError:
            return 0
        except (OSError, pa.ArrowInvalid):
            rows = 0
        try:
            self.path.unlink(missing_ok=True)
        except OSError:
            return None
        return rows
