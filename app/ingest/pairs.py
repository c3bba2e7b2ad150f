"""Logged request/response pairs in OpenScale's form. The shape is read by `scoring.formats`; here every value is checked."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from app.domain.records import Rejection
from app.errors import FieldProblem, InvalidInput, TooLarge
from app.ingest.cells import CellRefused, Json, printable, probability, record_id, scalar
from app.ingest.checked import CheckedPayload, RecordRefused
from app.ingest.limits import MAX_RECORDS, Moments
from app.ingest.native import stated_moment
from app.ingest.plan import Plan
from app.ingest.tables import Refusals, check_rows, check_values, pick_columns, require_values
from app.scoring.formats.logged import LoggedTable, read_logged


def check_pairs(pairs: Sequence[Any], plan: Plan, moments: Moments, *, is_plain: bool) -> CheckedPayload:
    """The records of all pairs, numbered through from the first row of the first.

    Raises:
        InvalidInput: a pair is not of that form; nothing of the request is stored then.
        TooLarge: the pairs hold more records than one request may.
    """
    tables = [_table(pair, position, plan) for position, pair in enumerate(pairs)]
    sent = sum(map(len, tables))
    if sent > MAX_RECORDS:
        raise TooLarge(f"The request holds {sent:,} records; at most {MAX_RECORDS:,} are taken at once.")
    checked = CheckedPayload(sent=sent)
    first = 0
    for table in tables:
        _add(checked, first, table, plan, moments, is_plain=is_plain)
        first += len(table)
    return checked


def _table(pair: Json, position: int, plan: Plan) -> LoggedTable:
    where = f"[{position}]"
    if not isinstance(pair, dict):
        raise InvalidInput.of(where, "must be an object with request and response")
    try:
        return read_logged(pair, outputs=plan.target.outputs)
    except InvalidInput as error:
        raise InvalidInput([FieldProblem(printable(f"{where}.{p.field}"), printable(p.message)) for p in error.problems]) from error


def _add(checked: CheckedPayload, first: int, table: LoggedTable, plan: Plan, moments: Moments, *, is_plain: bool) -> None:
    rows, refusals = len(table), Refusals()
    _check_names(table, plan, refusals)
    scored_at = _scored_at(table, moments, refusals)
    ids = _ids(table, refusals)
    features = pick_columns(table.rows, table.fields, plan.target.schema.features)
    check_rows(features, plan.target.schema.features, refusals, is_plain=is_plain)
    meta = _meta(table, plan, refusals, is_plain=is_plain)
    outputs = plan.target.outputs
    require_values(table.predictions, outputs.prediction, refusals)
    predictions = check_values(table.predictions, plan.prediction, outputs.prediction, refusals, is_plain=is_plain)
    nothing = [None] * rows
    probabilities = check_values(table.probabilities or nothing, probability, outputs.probability or "", refusals, is_plain=is_plain)
    labels = check_values(table.labels or nothing, scalar, outputs.label or "", refusals, is_plain=is_plain)
    good = [position for position in range(rows) if position not in refusals.found] if refusals.found else range(rows)
    checked.rejections += [Rejection(first + position, *refusals.found[position]) for position in sorted(refusals.found)]
    checked.indexes += [first + position for position in good]
    checked.times += [scored_at] * len(good)
    lists: list[tuple[list[Any], Sequence[Any]]] = [
        (checked.ids, ids),
        (checked.features, features),
        (checked.meta, meta),
        (checked.predictions, predictions),
        (checked.probabilities, probabilities),
        (checked.labels, labels),
    ]
    for column, values in lists:
        column.extend(values if len(good) == rows else [values[position] for position in good])


def _check_names(table: LoggedTable, plan: Plan, refusals: Refusals) -> None:
    """Every row shares the table's columns, and so every row shares what is wrong with them."""
    for name in table.fields:
        if name not in plan.features.names and name not in plan.meta.names:
            refusals.add_all(len(table), printable(name), "is not a column of the schema")
    for name in table.meta_fields:
        if name not in plan.meta.names:
            refusals.add_all(len(table), printable(name), "is not a meta field of the schema")
    for column in plan.target.schema.features:
        if column.name not in table.fields:
            refusals.add_all(len(table), column.name, "is missing; a feature without a value must be sent as null")


def _scored_at(table: LoggedTable, moments: Moments, refusals: Refusals) -> datetime | None:
    try:
        return stated_moment("scoring_timestamp", table.scoring_timestamp, moments)
    except RecordRefused as refused:
        refusals.add_all(len(table), refused.field, refused.reason)
        return None


def _ids(table: LoggedTable, refusals: Refusals) -> list[str | None]:
    """OpenScale's own naming: `{scoring_id}-{n}`, n from 1."""
    if table.scoring_id is None:
        return [None] * len(table)
    try:
        record_id(f"{table.scoring_id}-{len(table)}")
    except CellRefused as error:
        refusals.add_all(len(table), "scoring_id", str(error))
    return [f"{table.scoring_id}-{n}" for n in range(1, len(table) + 1)]


def _meta(table: LoggedTable, plan: Plan, refusals: Refusals, *, is_plain: bool) -> list[Any]:
    """From the meta table; some senders put meta fields among the others instead."""
    columns = plan.target.schema.meta
    names, rows = table.meta_fields, table.meta_rows
    if rows is None:
        if not columns or not plan.meta.names.intersection(table.fields):
            return [None] * len(table)
        names, rows = table.fields, [list(row) for row in table.rows]
    picked = pick_columns(rows, names, columns)
    check_rows(picked, columns, refusals, is_plain=is_plain)
    return picked
