"""Random records with labels and a model, logged to one deployment and divided among files of another, and the figures of both."""

import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from app.checks.window.window import TablePlaces
from app.database.engine import Database
from app.domain.deployment import Endpoint
from app.domain.monitor import MonitoredAttribute
from app.sources.tables.table_files import Engine
from app.statistics.catalogue import CATALOGUE
from tests.builders.applicants import AGE, APPLICANT, monitor_of
from tests.builders.lakes import Lake, lake_of
from tests.scenes import HOUR, NOON, Result, scene

ANYBODY = MonitoredAttribute(feature="sex", monitored=("female",))
TYPES = {"sex": pa.string(), "income": pa.int64(), "age": pa.int64()}
MAX_RECORDS = 10
"""Fewer than there are, so that files are counted a piece at a time."""

FEW = st.lists(
    st.fixed_dictionaries(
        {
            "sex": st.sampled_from(["female", "male", "x", "é", None]),
            "income": st.sampled_from([0, 20_000, 90_000]),
            "age": st.sampled_from([None, 18, 30, 36, 75, 99]),
            "prediction": st.sampled_from([0, 1, 7]),
            "revision": st.sampled_from(["1", "0"]),
            "truth": st.sampled_from([0, 1, None]),
        }
    ),
    min_size=12,
    max_size=40,
)
"""Records with missing and unseen values, two revisions, an answer in neither list, and labels of some."""


def records_with_nulls(size: int) -> list[dict[str, Any]]:
    """Records with missing and unseen values, two revisions, an answer in neither list, and labels of some."""
    drawn = Random(106)
    values: dict[str, list[Any]] = {
        "sex": ["female", "male", "x", "é", None],
        "income": [0, 20_000, 90_000],
        "age": [None, 18, 30, 36, 75, 99],
        "prediction": [0, 1, 7],
        "revision": ["1", "0"],
        "truth": [0, 1, None],
    }
    return [{name: drawn.choice(some) for name, some in values.items()} for _ in range(size)]


Figures = Mapping[tuple[object, ...], tuple[object, ...]]


class DividedRecords:
    """The same records twice: `logged`, and in files that come in several parts and any order, read by the engine."""

    def __init__(self, database: Database, endpoint: Endpoint, rows: Sequence[Mapping[str, Any]], order: Random) -> None:
        monitor = monitor_of(ANYBODY, AGE, intersections=(("sex", "age"),), metrics=tuple(CATALOGUE), strata="income")
        self.monitor = monitor
        stage = self.logged = scene(database, APPLICANT, monitor, endpoint=endpoint, deployment_id=uuid.uuid4().hex)
        # By revision, so that both sides have the records of one moment in the same order.
        in_order = sorted(rows, key=lambda row: row["revision"])
        self._rows = [dict(row) | {"id": f"{no:04}", "probability": 0.5} for no, row in enumerate(in_order)]
        self._order = order
        for revision in ("0", "1"):
            of_revision = [row for row in self._rows if row["revision"] == revision]
            if of_revision:
                stage.log(of_revision, NOON + HOUR / 4, revision=revision)
        labels = self._labels(self._rows)
        if labels:
            self.logged.label(labels, NOON + HOUR / 2)

    def check_files(self, folder: Path, engine: Engine, cuts: Sequence[int], late: int, *, max_records: int) -> Result:
        """Checks files twice: before the first `late` records and labels have come, and after. Returns the second check."""
        lake = lake_of(self.logged, folder, types=TYPES, deployment_id=uuid.uuid4().hex)
        lake.stage.watch(replace(self.monitor, max_records=max_records))
        lake.stage.places = TablePlaces((folder,), engine=engine)
        mixed = self._order.sample(self._rows, len(self._rows))
        for start, end in pairwise([late, *sorted({cut for cut in cuts if late < cut < len(mixed)}), len(mixed)]):
            self._write(lake, mixed[start:end])
        lake.check(NOON)
        self._write(lake, mixed[:late])
        return lake.check(NOON)

    def _write(self, lake: Lake, rows: Sequence[Mapping[str, Any]]) -> None:
        for revision in ("0", "1"):
            of_revision = [row for row in rows if row["revision"] == revision]
            if of_revision:
                lake.write(of_revision, NOON + HOUR / 4, revision=revision)
        labels = self._labels(rows)
        if labels:
            lake.label(labels, NOON + HOUR / 2)

    @staticmethod
    def _labels(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, object]]:
        return [(row["id"], row["truth"]) for row in rows if row["truth"] is not None]


def figures(result: Result, *, of_payload: bool) -> Figures:
    """Every figure by its key; those of records after mitigation are not there for files."""
    return {
        (figure.metric, str(figure.data), figure.scope, figure.comparison, figure.group): (
            figure.value,
            figure.n,
            figure.reason,
            figure.lower,
            figure.upper,
            figure.verdict,
        )
        for figure in result.measurements
        if not figure.data.startswith("mitigated") and (of_payload or figure.data != "as_logged")
    }


def counts(result: Result) -> list[tuple[object, ...]]:
    """Every count table that files have, too."""
    stored = [table for table in result.tables if not table.data.startswith("mitigated")]
    return sorted((table.data, table.comparison.label, table.part, repr(sorted(table.cells.items()))) for table in stored)


def assert_same_figures(expected: Figures, actual: Figures) -> None:
    """Asserts that both have the same figures, to 1e-12."""
    assert expected.keys() == actual.keys()
    for key, values in expected.items():
        for value, other in zip(values, actual[key], strict=True):
            close = isinstance(value, float) and isinstance(other, float) and math.isclose(value, other, rel_tol=1e-12, abs_tol=1e-12)
            assert close or value == other, (key, value, other)


def assert_same_everywhere(divided: DividedRecords, engine: Engine, folder: Path, cuts: Sequence[int], late: int) -> None:
    """Asserts that files give all figures of the logged records, and those of labels and copies also where a span exceeds `max_records`."""
    expected = divided.logged.check(NOON)
    checked = divided.check_files(folder / "whole", engine, cuts, late, max_records=divided.monitor.max_records)
    assert checked.run.state == expected.run.state, checked.run.reason
    assert_same_figures(figures(expected, of_payload=True), figures(checked, of_payload=True))
    assert counts(expected) == counts(checked)

    in_pieces = divided.check_files(folder / "pieces", engine, cuts, late, max_records=MAX_RECORDS)
    divided.logged.watch(replace(divided.monitor, max_records=MAX_RECORDS))
    newest = divided.logged.check(NOON)
    assert_same_figures(figures(newest, of_payload=False), figures(in_pieces, of_payload=False))
