"""Records that the model did not take, and why."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...base.frozen import frozen
from ...calls.scoring.refused_records import Refusal
from ...domain.check import DataSet, Measurement
from ...domain.deployment import Column, FieldType

MOST_REASONS = 10
"""Max different reasons of a check, the most frequent."""

RECORDS_NOT_SCORED = "records_not_scored"
LABELS_NOT_SCORED = "labels_not_scored"
NOT_SCORED_BECAUSE = "not_scored_because"
"""Member of a window whose model did not take some records."""

_WITH_COPIES = frozenset({DataSet.COUNTERFACTUAL, DataSet.OPENSCALE, DataSet.MITIGATED})


@frozen
class RefusedRecord:
    record: int | str
    refusal: Refusal


def list_reasons(refused: Iterable[RefusedRecord], columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Reasons by number of records; a record counts once for each.

    A reason has its columns (none: the answer names none), a sentence part, and the number of records.
    """
    records: dict[tuple[str, ...], set[int | str]] = {}
    examples: dict[tuple[str, ...], Refusal] = {}
    about_of: dict[tuple[int, tuple[str, ...]], tuple[str, ...]] = {}
    for record in refused:
        kind = (id(record.refusal.error), record.refusal.nulls)
        if kind not in about_of:
            about_of[kind] = _find_columns(record.refusal, columns)
        about = about_of[kind]
        records.setdefault(about, set()).add(record.record)
        examples.setdefault(about, record.refusal)
    types = {column.name: column.type for column in columns}
    reasons: list[dict[str, Any]] = []
    for about, nos in records.items():
        reason = str(examples[about].error)
        if examples[about].nulls:
            reason = "null in " + " and ".join(f"the {types[name].value} column '{name}'" for name in about)
        reasons.append({"columns": list(about), "reason": reason, "records": len(nos)})
    return sorted(reasons, key=lambda reason: (-reason["records"], reason["columns"]))[:MOST_REASONS]


def with_not_scored(measurements: Iterable[Measurement], window: Mapping[str, Any]) -> Iterator[Measurement]:
    """Yields a check's measurements; those that lack refused records say so in details, a null in its
    reason.
    """
    because = "; ".join(str(reason["reason"]) for reason in window.get(NOT_SCORED_BECAUSE, ()))
    for measurement in measurements:
        # A record may be refused as a copy of one attribute and taken as that of another.
        records = 0
        if measurement.data is DataSet.LABELLED:
            records = int(window.get(LABELS_NOT_SCORED, 0))
        elif measurement.data in _WITH_COPIES:
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
    """Columns of a refusal: of the nulls those that the answer names, else those in integer columns, else
    all.
    """
    named = [
        column.name
        for column in columns
        if re.search(rf"(?<!\w){re.escape(column.name)}(?!\w)", refusal.error.answer)
    ]
    if len(named) == len(columns):  # MLflow quotes the whole schema
        named = []
    if not refusal.nulls:
        return tuple(named)
    integers = [column.name for column in columns if column.type is FieldType.INTEGER]
    causes = (tuple(name for name in refusal.nulls if name in chosen) for chosen in (named, integers))
    return next(filter(None, causes), refusal.nulls)
