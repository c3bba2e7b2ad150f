"""Records that the model refused to score: the reasons, and what figures lack because of them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ...base.strict_json import JsonObject
from ...base.values import frozen
from ...calls.scoring.scoring_client import Refusal
from ...domain.check import DataSet, Measurement
from ...domain.deployment import Column, FieldType
from .copy_outcomes import CopyOutcomes

MAX_REASONS = 10
"""Reasons that a window lists, the most frequent."""

RECORDS_NOT_SCORED = "records_not_scored"
LABELS_NOT_SCORED = "labels_not_scored"
NOT_SCORED_BECAUSE = "not_scored_because"
"""Members of a window: refused records by attribute, number of refused labelled records, and the reasons."""

_DATA_WITH_COPIES = frozenset({DataSet.COUNTERFACTUAL, DataSet.OPENSCALE, DataSet.MITIGATED})


@frozen
class RefusedRecord:
    """Number of a record, or id of a label, with the model's refusal to score it."""

    record: int | str
    refusal: Refusal


def list_reasons(refused: Iterable[RefusedRecord], columns: Sequence[Column]) -> list[JsonObject]:
    """Lists the reasons, the most frequent first; a record counts once for each reason.

    A reason has its columns (none: the answer names none), half a sentence, and the number of records.
    """
    ids_by_columns: dict[tuple[str, ...], set[int | str]] = {}
    examples: dict[tuple[str, ...], Refusal] = {}
    columns_by_refusal: dict[tuple[int, tuple[str, ...]], tuple[str, ...]] = {}
    for refused_record in refused:
        refusal = refused_record.refusal
        refusal_key = (id(refusal.error), refusal.nulls)
        if refusal_key not in columns_by_refusal:
            columns_by_refusal[refusal_key] = _find_columns(refusal, columns)
        names = columns_by_refusal[refusal_key]
        ids_by_columns.setdefault(names, set()).add(refused_record.record)
        examples.setdefault(names, refusal)
    types = {column.name: column.type for column in columns}
    reasons: list[JsonObject] = []
    for names, ids in ids_by_columns.items():
        reason = str(examples[names].error)
        if examples[names].nulls:
            reason = "null in " + " and ".join(f"the {types[name].value} column '{name}'" for name in names)
        reasons.append({"columns": list(names), "reason": reason, "records": len(ids)})
    return sorted(reasons, key=lambda reason: (-reason["records"], reason["columns"]))[:MAX_REASONS]


def describe_not_scored(
    columns: Sequence[Column],
    copies: Sequence[CopyOutcomes],
    refused: Sequence[RefusedRecord],
    refused_labels: Sequence[RefusedRecord],
) -> JsonObject:
    if not refused and not refused_labels:
        return {}
    return {
        RECORDS_NOT_SCORED: {
            outcomes.grouping.column.name: int(outcomes.not_scored.sum()) for outcomes in copies
        },
        LABELS_NOT_SCORED: len(refused_labels),
        NOT_SCORED_BECAUSE: list_reasons([*refused, *refused_labels], columns),
    }


def explain_not_scored(measurements: Iterable[Measurement], window: JsonObject) -> Iterator[Measurement]:
    """Adds to each figure the number of refused records that it lacks; to a reason for no value, also why."""
    because = "; ".join(str(reason["reason"]) for reason in window.get(NOT_SCORED_BECAUSE, ()))
    for measurement in measurements:
        # A record may be refused as a copy of one attribute and taken as that of another.
        records = 0
        if measurement.data is DataSet.LABELLED:
            records = int(window.get(LABELS_NOT_SCORED, 0))
        elif measurement.data in _DATA_WITH_COPIES:
            records = int(window.get(RECORDS_NOT_SCORED, {}).get(measurement.attribute, 0))
        if records:
            details = replace(measurement.details, records_not_scored=records)
            not_scored = (
                f"{records:,} {'record was' if records == 1 else 'records were'} not scored, because "
                "the model gave no usable answer to"
            )
            reason = (
                None
                if measurement.reason is None
                else f"{measurement.reason}; {not_scored} {'it' if records == 1 else 'them'}: {because}"
            )
            yield replace(measurement, details=details, reason=reason)
        else:
            yield measurement


def _find_columns(refusal: Refusal, columns: Sequence[Column]) -> tuple[str, ...]:
    """Finds the columns of a refusal: of nulls those that the answer names, else integer ones, else all."""
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
