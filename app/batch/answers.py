"""The model's answers to copies of records in files, kept as Parquet by record id, attribute and model revision.

Each page of answers is a file of its own, written under another name first: a reader never sees half of one, and a check that ends
early has lost nothing.
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..domain.records import Prediction
from ..errors import SetupError
from ..records.cells import format_value
from ..store.records.counterfactuals import TargetKey

OWN_FOLDER = "_evenhand"
"""Folder of the answers in that of the payload table; engines take no name that begins with `_` for data."""

_SCHEMA = {
    "record_id": pa.string(),
    "attribute": pa.string(),
    "target": pa.string(),
    "model_revision": pa.string(),
    "draw": pa.int32(),
    "outcome": pa.string(),
    "probability": pa.string(),
}


class KeptAnswers:
    """The answers of one deployment below a folder, which is made when the first are kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, key: TargetKey, ids: pa.Array) -> pa.Table:
        """Returns the kept answers to copies of these records into the target, one for each draw.

        Columns: record_id, outcome and probability (JSON texts).
        """
        return self.read_draws(key, ids).drop_columns(["draw"])

    def read_draws(self, key: TargetKey, ids: pa.Array) -> pa.Table:
        """Returns the same with the draw of each answer."""
        found = sorted(self._of(key).glob("*.parquet"))
        if not found:
            return pa.table({name: pa.array([], _SCHEMA[name]) for name in ("record_id", "draw", "outcome", "probability")})
        import pyarrow.dataset as ds  # noqa: PLC0415 - it loads pandas, a quarter of a second, and few deployments have files

        wanted = pc.field("record_id").isin(ids)
        rows = ds.dataset(found, format="parquet").to_table(filter=wanted, columns=["record_id", "draw", "outcome", "probability"])
        # Two checks may have asked for the same copy at the same time: the first answer counts.
        once = rows.group_by(["record_id", "draw"], use_threads=False).aggregate([("outcome", "first"), ("probability", "first")])
        names = ["record_id", "draw", "outcome_first", "probability_first"]
        return once.select(names).rename_columns([name.removesuffix("_first") for name in names])

    def keep(self, key: TargetKey, ids: Sequence[str], draws: Sequence[int], answers: Sequence[Prediction]) -> None:
        """Writes answers to copies, of one record and draw each.

        Raises:
            SetupError: the folder cannot be written to.
        """
        size = len(ids)
        rows = {
            "record_id": list(ids),
            "attribute": [key.feature] * size,
            "target": [key.target] * size,
            "model_revision": [key.model_revision] * size,
            "draw": list(draws),
            "outcome": [format_value(one.outcome_value) for one in answers],
            "probability": [None if one.probability is None else msgspec.json.encode(one.probability).decode() for one in answers],
        }
        folder = self._of(key)
        name = secrets.token_hex(12)
        unfinished = folder / f"_{name}.unfinished"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table(rows, pa.schema(_SCHEMA)), unfinished)
            unfinished.replace(folder / f"{name}.parquet")
        except OSError as error:
            raise SetupError(f"The model's answers cannot be kept in {self._folder}: {error}. Let the worker write there.") from error

    def _of(self, key: TargetKey) -> Path:
        # A digest, because names of columns and values may hold any character.
        digest = hashlib.blake2b(msgspec.json.encode(asdict(key)), digest_size=16).hexdigest()
        return self._folder / digest
