"""Records that the model refused to score: the reasons, and what figures lack because of them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ...base.strict_json import JsonObject
from ...base.values import frozen
from ...calls.scoring.scoring_client import Refusal
from ...domain.check import DataSet, Measurement
from ...domain.deployment import Column, FieldType

MAX_REASONS = 10

RECORDS_NOT_SCORED = "records_not_scored"
LABELS_NOT_SCORED = "labels_not_scored"
NOT_SCORED_BECAUSE = "not_scored_because"
"""Members of a window: refused records by attribute, number of refused labelled records, and the reasons."""

_COPIED_DATA = frozenset({DataSet.COUNTERFACTUAL, DataSet.OPENSCALE, DataSet.MITIGATED})


@frozen
class RefusedRecord:
    """Number of a record, or id of a label, with the model's refusal to score it."""

    record: int | str
    refusal: Refusal


def list_reasons(refused: Iterable[RefusedRecord], columns: Sequence[Column]) -> list[JsonObject]:
    """Most frequent reason first; a record counts once for each reason.

    A reason has its columns (none: the answer names none), half a sentence, and the number of records.
    """
    records: dict[tuple[str, ...], set[int | str]] = {}
    examples: dict[tuple[str, ...], Refusal] = {}
    named: dict[tuple[int, tuple[str, ...]], tuple[str, ...]] = {}
    for refused_record in refused:
        refusal = refused_record.refusal
        refusal_key = (id(refusal.error), refusal.nulls)
        if refusal_key not in named:
            named[refusal_key] = _find_columns(refusal, columns)
        names = named[refusal_key]
        records.setdefault(names, set()).add(refused_record.record)
        examples.setdefault(names, refusal)
    types = {column.name: column.type for column in columns}
    reasons: list[JsonObject] = []
    for names, ids in records.items():
        reason = str(examples[names].error)
        if examples[names].nulls:
            reason = "null in " + " and ".join(f"the {types[name].value} column '{name}'" for name in names)
        reasons.append({"columns": list(names), "reason": reason, "records": len(ids)})
    return sorted(reasons, key=lambda reason: (-reason["records"], reason["columns"]))[:MAX_REASONS]


def explain_not_scored(measurements: Iterable[Measurement], window: JsonObject) -> Iterator[Measurement]:
    """Adds to each figure the number of refused records that it lacks; to a reason for no value, also why."""
    because = "; ".join(str(reason["reason"]) for reason in window.get(NOT_SCORED_BECAUSE, ()))
    for measurement in measurements:
        # A record may be refused as a copy of one attribute and taken as that of another.
        records = 0
        if measurement.data is DataSet.LABELLED:
            records = int(window.get(LABELS_NOT_SCORED, 0))
        elif measurement.data in _COPIED_DATA:
            records = int(window.get(RECORDS_NOT_SCORED, {}).get(measurement.attribute, 0))
        if records:
            details = replace(measurement.details, records_not_scored=records)
            count = (
                f"{records:,} {'record was' if records == 1 else 'records were'} not scored, because "
                "the model gave no usable answer to"
            )
            reason = (
                None
                if measurement.reason is None
                else f"{measurement.reason}; {count} {'it' if records == 1 else 'them'}: {because}"
            )
            yield replace(measurement, details=details, reason=reason)
        else:
            yield measurement


def _find_columns(refusal: Refusal, columns: Sequence[Column]) -> tuple[str, ...]:
    """Finds the columns that a refusal is about: of the nulls those that the answer names, else those in
    integer columns, else all.
    """
    quoted = [
        column.name
        for column in columns
        if re.search(rf"(?<!\w){re.escape(column.name)}(?!\w)", refusal.error.answer)
    ]
    if len(quoted) == len(columns):  # MLflow quotes the whole schema
        quoted = []
    if not refusal.nulls:
        return tuple(quoted)
    integers = [column.name for column in columns if column.type is FieldType.INTEGER]
    for suspects in (quoted, integers):
        null_suspects = tuple(name for name in refusal.nulls if name in suspects)
        if null_suspects:
            return null_suspects
    return refusal.nulls
