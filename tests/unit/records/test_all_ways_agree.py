"""Every way to read the outcome and the group of a record gives one answer: 12,500 pairs of a monitor and a record, each way of asking."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from app.base.errors import InvalidInput
from app.base.values import canonical
from app.deployments.training.from_distributions import build_table
from app.deployments.training.process_upload import RowTables
from app.deployments.training.queries import Cell, Distribution
from app.deployments.training.read_pieces import Part, Piece, SeenValues, _read_part
from app.deployments.training.typed_column import read_classes, read_numbers
from app.domain.deployment import FieldKind, FieldType
from app.domain.monitor import Monitor, list_comparisons
from app.library.frame_groups import group_records as group_frame
from app.library.frame_report import OutcomeLists
from app.library.frame_report import classify_outcomes as outcomes_of_frame
from app.records.record_list import Lens
from app.sources.arrays.favourable_scores import OutcomeClassifier, format_value
from app.sources.arrays.read_records import Grouping, ListedGroups, RecordColumns, read_table
from app.statistics.tables.count_table import GroupCounts
from tests.builders.drawn_records import COLUMNS, SCHEMA, Drawn, Found, draw, stored_record

MONITORS, RECORDS = 250, 50


@pytest.fixture(scope="module")
def worlds() -> list[Drawn]:
    return list(draw(MONITORS, RECORDS, seed=13))


def test_the_worlds_hold_every_outcome_and_role(worlds: list[Drawn]) -> None:
    roles = {None if found is None else found[1] for world in worlds for groups in world.groups.values() for found in groups}

    assert len(worlds) * RECORDS >= 10_000
    assert {outcome for world in worlds for outcome in world.outcomes} == {0, 1, 2}
    assert roles == {None, "monitored", "reference"}
    assert any(world.monitor.intersections for world in worlds)


def test_a_window_of_a_check(worlds: list[Drawn]) -> None:
    for world in worlds:
        answers = pa.chunked_array([pa.array([format_value(answer) for answer in world.answers], pa.string())])
        values = pa.table({name: _stored(world, name) for name in COLUMNS})
        read = read_table(RecordColumns(values, answers), SCHEMA, world.monitor)
        assert read.outcomes.tolist() == world.outcomes, world.monitor.outcomes
        for grouping in read.groupings:
            assert _found(grouping) == world.groups[grouping.column.name], world.monitor
        for comparison in list_comparisons(world.monitor):
            named, codes = read.compare(comparison)
            assert [None if code < 0 else named[code] for code in codes.tolist()] == world.of(comparison.features), world.monitor


@pytest.mark.nightly
def test_rows_of_training_data(worlds: list[Drawn]) -> None:
    for world in worlds:
        seen = {name: SeenValues() for name in COLUMNS}
        parts = {name: _read_part(column, _typed(world, name), 0) for name, column in COLUMNS.items()}
        for name, part in parts.items():
            seen[name].add(part)
        tables = RowTables(world.monitor, SCHEMA, seen)
        for rows, label, outcomes in _labels(world):
            piece = Piece(
                len(rows), {name: _read_part(column, _typed(world, name, rows), 0) for name, column in COLUMNS.items()}, label, None
            )
            tables.add(piece)
            counted = {table.counted_by.comparison.features: GroupCounts.from_json(table.cells or {}) for table in tables.tables()}
            for features in _watched(world.monitor):
                expected = world.of(features)
                assert _counts(counted[tuple(features)]) == _tally([expected[row] for row in rows], outcomes), world.monitor
            tables = RowTables(world.monitor, SCHEMA, seen)


@pytest.mark.nightly
def test_a_distribution_of_training_data(worlds: list[Drawn]) -> None:
    for world in worlds:
        for features in _watched(world.monitor):
            cells = [
                Cell(tuple(row[name] for name in features), answer, 1) for row, answer in zip(world.records, world.answers, strict=True)
            ]
            by_name = {attribute.feature: attribute for attribute in world.monitor.attributes}
            attributes = [by_name[name] for name in features]
            counted = build_table(Distribution(tuple(features), tuple(cells)), attributes, world.monitor, SCHEMA, strata=None)
            assert _counts(counted) == _tally(world.of(features), world.outcomes), world.monitor


@pytest.mark.nightly
def test_a_frame_of_the_library(worlds: list[Drawn]) -> None:
    for world in worlds:
        rule = world.monitor.outcomes
        answers = pd.Series(world.answers, name="answer", dtype=object)
        codes = outcomes_of_frame(answers, OutcomeLists(rule.favourable, rule.unfavourable), "prediction").codes
        assert codes.tolist() == world.outcomes, rule
        frame = pd.DataFrame({name: _series(world, name) for name in COLUMNS})
        by_name = {attribute.feature: attribute for attribute in world.monitor.attributes}
        for features in _watched(world.monitor):
            sides = [
                {name: _listed(getattr(by_name[name], side)) for name in features if getattr(by_name[name], side) is not None}
                for side in ("monitored", "reference")
            ]
            if "monitored" not in {found[1] for found in world.of(features) if found} and len(features) > 1:
                with pytest.raises(InvalidInput, match="there is nothing to compare it with"):
                    group_frame(frame, features, *sides)
                continue
            grouping = group_frame(frame, features, *sides)
            found = [None if code < 0 else tuple(grouping.groups[code]) for code in grouping.codes.tolist()]
            assert found == world.of(features), world.monitor


def test_a_live_request(worlds: list[Drawn]) -> None:
    for world in worlds:
        classify = OutcomeClassifier(world.monitor.outcomes)
        assert [int(classify(answer)) for answer in world.answers] == world.outcomes
        for attribute in world.monitor.attributes:
            listed = ListedGroups.of(attribute, COLUMNS[attribute.feature])
            assert listed.find([row[attribute.feature] for row in world.records]) == world.groups[attribute.feature], attribute


@pytest.mark.nightly
def test_a_record_on_a_page(worlds: list[Drawn]) -> None:
    for world in worlds:
        lens = Lens(world.monitor, {SCHEMA.version: SCHEMA}, {}, {})
        for no, (row, answer) in enumerate(zip(world.records, world.answers, strict=True)):
            record = stored_record(no, row, answer)
            assert lens.classify(record) == world.outcomes[no]
            groups = {group.attribute: (group.group, group.role) for group in lens.find_groups(record)}
            assert groups == {feature: found[no] or (None, None) for feature, found in world.groups.items()}, world.monitor


def _stored(world: Drawn, name: str) -> pa.ChunkedArray:
    """A column as the window's query answers it."""
    column, values = COLUMNS[name], [row[name] for row in world.records]
    if column.kind is FieldKind.NUMERIC:
        return pa.chunked_array([pa.array([None if value is None else float(value) for value in values], pa.float64())])
    return pa.chunked_array([pa.array([None if value is None else canonical(value) for value in values], pa.string())])


def _found(grouping: Grouping) -> list[Found]:
    return [None if code < 0 else grouping.named_groups[code] for code in grouping.codes.tolist()]


def _typed(world: Drawn, name: str, rows: list[int] | None = None) -> pa.Array:
    """A column as a typed file has it."""
    kinds = {FieldType.STRING: pa.string(), FieldType.BOOLEAN: pa.bool_(), FieldType.INTEGER: pa.int64(), FieldType.NUMBER: pa.float64()}
    return pa.array([world.records[row][name] for row in rows or range(len(world.records))], kinds[COLUMNS[name].type])


def _labels(world: Drawn) -> list[tuple[list[int], Part, list[int]]]:
    """The rows whose labels are text, numbers or booleans: no column of a typed file holds two of these. None is empty."""
    found = []
    for kind in ((str,), (int, float), (bool,)):
        rows = [row for row, answer in enumerate(world.answers) if isinstance(answer, kind) and (bool in kind) == isinstance(answer, bool)]
        if not rows:
            continue
        array = pa.array([world.answers[row] for row in rows], pa.float64() if float in kind else None)
        is_real = not isinstance(world.monitor.outcomes.favourable[0], str | bool | int | float)
        part = read_numbers("label", FieldType.NUMBER, array, 0) if is_real else read_classes("label", array, 0, is_typed=True)
        found.append((rows, Part(part), [world.outcomes[row] for row in rows]))
    return found


def _watched(monitor: Monitor) -> list[tuple[str, ...]]:
    return [*((attribute.feature,) for attribute in monitor.attributes), *monitor.intersections]


def _counts(table: GroupCounts) -> dict[Found, list[int]]:
    found: dict[Found, list[int]] = {
        (group.label, group.role): [*counts, none]
        for group, counts, none in zip(table.groups, table.counts.tolist(), table.unclassified.tolist(), strict=True)
    }
    return {group: counts for group, counts in found.items() if any(counts)} | ({None: [table.other]} if table.other else {})


def _tally(groups: list[Found], outcomes: list[int]) -> dict[Found, list[int]]:
    found: dict[Found, list[int]] = {}
    for group, outcome in zip(groups, outcomes, strict=True):
        if group is None:
            found[None] = [found.get(None, [0])[0] + 1]
        else:
            found.setdefault(group, [0, 0, 0])[outcome] += 1
    return found


def _series(world: Drawn, name: str) -> "pd.Series[object]":
    kind = {FieldType.STRING: object, FieldType.BOOLEAN: "boolean", FieldType.INTEGER: "Int64", FieldType.NUMBER: np.float64}
    return pd.Series([row[name] for row in world.records], name=name, dtype=kind[COLUMNS[name].type])


def _listed(members: tuple[object, ...]) -> list[object]:
    return [(member.lo, member.hi) if hasattr(member, "lo") else member for member in members]
