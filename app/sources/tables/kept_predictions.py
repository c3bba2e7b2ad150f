"""The model's answers to copies of records in files, kept as Parquet.

A page is a file, named when complete: a check that ends early has lost nothing.
"""

import hashlib
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...base.errors import SetupError
from ...domain.record import Prediction
from ..arrays.column_cells import format_value
from ..stored.copy_answers import TargetKey

OWN_FOLDER = "_evenhand"
"""Engines take no name that begins with `_` for data."""

_SCHEMA = {
    "record_id": pa.string(),
    "attribute": pa.string(),
    "target": pa.string(),
    "model_revision": pa.string(),
    "draw": pa.int32(),
    "outcome": pa.string(),
    "probability": pa.string(),
}

_READ = ["record_id", "draw", "outcome", "probability"]


class KeptAnswers:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, key: TargetKey, ids: pa.Array) -> pa.Table:
        """Returns the kept answers, one for each draw: record_id, outcome and probability (JSON texts)."""
        return self.read_draws(key, ids).drop_columns(["draw"])

    def read_draws(self, key: TargetKey, ids: pa.Array) -> pa.Table:
        while True:
            try:
                rows = self._read_rows(key, pc.field("record_id").isin(ids))
                break
            except FileNotFoundError:
                # Another check has just merged it.
                continue
        # Two checks may have asked for the same copy: the first answer counts.
        once = rows.group_by(["record_id", "draw"], use_threads=False).aggregate([("outcome", "first"), ("probability", "first")])
        names = ["record_id", "draw", "outcome_first", "probability_first"]
        return once.select(names).rename_columns([name.removesuffix("_first") for name in names])

    def keep(self, key: TargetKey, ids: Sequence[str], draws: Sequence[int], answers: Sequence[Prediction]) -> Path:
        size = len(ids)
        rows = {
            "record_id": list(ids),
            "attribute": [key.feature] * size,
            "target": [key.target] * size,
            "model_revision": [key.model_revision] * size,
            "draw": list(draws),
            "outcome": [format_value(answer.outcome_value) for answer in answers],
            "probability": [None if answer.probability is None else msgspec.json.encode(answer.probability).decode() for answer in answers],
        }
        return self._write(self._of(key), pa.table(rows, pa.schema(_SCHEMA)))

    def merge(self, files: Sequence[Path]) -> None:
        """Replaces the files by one for each kind of copy."""
        of_folder: dict[Path, list[Path]] = {}
        for file in files:
            of_folder.setdefault(file.parent, []).append(file)
        for folder, mine in of_folder.items():
            if len(mine) == 1:
                continue
            self._write(folder, pa.concat_tables([pq.ParquetFile(file).read() for file in mine]))
            for file in mine:
                # One that stays does no harm: its answers are there twice.
                with suppress(OSError):
                    file.unlink()

    def _write(self, folder: Path, rows: pa.Table) -> Path:
        name = secrets.token_hex(12)
        unfinished = folder / f"_{name}.unfinished"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            pq.write_table(rows, unfinished)
            return unfinished.replace(folder / f"{name}.parquet")
        except OSError as error:
            raise SetupError(f"The model's answers cannot be kept in {self.folder}: {error}. Let the worker write there.") from error

    def _read_rows(self, key: TargetKey, row_filter: pc.Expression) -> pa.Table:
        """Returns rows, maybe twice."""
        files = sorted(self._of(key).glob("*.parquet"))
        if not files:
            return pa.table({name: pa.array([], _SCHEMA[name]) for name in _READ})
        import pyarrow.dataset as ds  # noqa: PLC0415 - it loads pandas, a quarter of a second, and few deployments have files

        return ds.dataset(files, format="parquet").to_table(filter=row_filter, columns=_READ)

    def _of(self, key: TargetKey) -> Path:
        # Names and values may hold any character.
        digest = hashlib.blake2b(msgspec.json.encode(asdict(key)), digest_size=16).hexdigest()
        return self.folder / digest
