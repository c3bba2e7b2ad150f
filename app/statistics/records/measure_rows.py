"""Measures the flip test, consistency and rich subgroups of a window's records."""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Literal

import numpy as np

from ...base.values import frozen_arrays
from ...domain.check import Details
from ..catalogue import CATALOGUE
from ..group_labels import BoolArray, IntArray
from ..intervals.verdicts import Measured, Undefined, Value
from ..measures.measure_rates import (
    Member,
    add_caution,
    build_result,
    build_value,
    list_members,
    list_monitored,
    omit_repeats,
    pool_reference,
)
from ..measures.worst_group import CATALOGUE_LIMITS, AllLimits, mark_worst
from .consistency import NEIGHBOURS, Neighbourhood, measure_agreement
from .flip_test import measure_flips, standardise
from .rich_subgroup import ErrorKind, find_rich_subgroup
from .row_data import UNCLASSIFIED, RowData, count_searchable_records

Outcome = Literal["label", "prediction"]

NO_FEATURES = "the records have no numeric feature by which to tell which of them are alike"

_KIND_OF_ERRORS: Mapping[str, ErrorKind] = {
    "rich_subgroup_false_positive": "false_positive",
    "rich_subgroup_false_negative": "false_negative",
}
_SOURCE_OF_OUTCOMES: Mapping[str, Outcome] = {"consistency": "label", "prediction_consistency": "prediction"}
_FLIP_TEST = "counterfactual_flip_test"


def measure_rows(
    rows: RowData, formulas: Mapping[str, str], *, limits: AllLimits = CATALOGUE_LIMITS
) -> list[Measured]:
    """Measures the metrics that `formulas` names, in its order, each with its formula's text.

    Of too many records (see `count_searchable_records`) a random sample is drawn.

    Raises:
        KeyError: a metric is not one of the records themselves.
    """
    searched = _Rows(rows.sample(count_searchable_records(rows.features.shape[1])), len(rows.codes))
    all_rows = _Rows(rows, len(rows.codes))
    results = list[Measured]()
    for key, formula in formulas.items():
        if key in _KIND_OF_ERRORS:
            results.append(all_rows.add_common_details(_measure_rich_subgroup(all_rows, key), formula))
            continue
        measured = (
            _measure_flip_test(searched, limits) if key == _FLIP_TEST else _measure_consistency(searched, key)
        )
        results += [searched.add_common_details(result, formula) for result in measured]
    return results


@frozen_arrays
class _Rows:
    """Measured rows, perhaps a sample; `records` counts those of the window."""

    rows: RowData
    records: int
    _neighbourhoods: dict[bytes, Neighbourhood] = field(default_factory=dict)

    def get_outcomes(self, source: Outcome) -> IntArray:
        """Outcomes [records], all `UNCLASSIFIED` if there are none of that source."""
        outcomes = self.rows.actual if source == "label" else self.rows.predicted
        return np.full(len(self.rows.codes), UNCLASSIFIED, int) if outcomes is None else outcomes

    def find_neighbourhood(self, selected: BoolArray) -> Neighbourhood:
        """Neighbourhood of the selected records; the same ones are searched once."""
        key = selected.tobytes()
        if key not in self._neighbourhoods:
            self._neighbourhoods[key] = Neighbourhood.of(standardise(self.rows.features[selected]))
        return self._neighbourhoods[key]

    def mark_member(self, member: Member) -> BoolArray:
        return np.isin(self.rows.columns, member.columns)

    def add_common_details(self, result: Measured, formula: str) -> Measured:
        details = add_caution(result).details.changed(formula=formula)
        if len(self.rows.codes) < self.records:
            details = details.changed(
                counts={**details.counts, "records": self.records}, records_drawn_by_lot=len(self.rows.codes)
            )
        return replace(result, details=details)


def _measure_flip_test(searched_rows: _Rows, limits: AllLimits) -> list[Measured]:
    groups = searched_rows.rows.groups
    predicted = searched_rows.get_outcomes("prediction")
    subjects = list_monitored(groups)
    reference = pool_reference(groups)
    is_classified = predicted != UNCLASSIFIED
    is_reference = searched_rows.mark_member(reference) & is_classified
    subject_masks = [searched_rows.mark_member(member) & is_classified for member in subjects]
    # The reduction of an empty list is a scalar, which is no mask.
    is_any_subject = np.logical_or.reduce(subject_masks) if subject_masks else is_classified & False
    features = standardise(searched_rows.rows.features)
    reason = ""
    flips = None
    if features.shape[1] == 0:
        reason = NO_FEATURES
    elif not is_reference.any():
        reason = f"no record{reference.of} has a classified prediction"
    elif is_any_subject.any():
        flips = measure_flips(
            features[is_any_subject],
            predicted[is_any_subject],
            features[is_reference],
            predicted[is_reference],
        )
    results = []
    for member, is_subject in zip(subjects, subject_masks, strict=True):
        records = int(is_subject.sum()), int(is_reference.sum())
        details = Details(
            monitored=member.name,
            reference=reference.name,
            monitored_counts=_count_favourable(predicted[is_subject]),
            reference_counts=_count_favourable(predicted[is_reference]),
        )
        if not (flips and is_subject.any()):
            number: Value | Undefined = Undefined(
                reason or f"no record{member.of} has a classified prediction", sum(records)
            )
        else:
            is_member = is_subject[is_any_subject]
            number = build_value(
                flips.compute_value(is_member), flips.build_interval(is_member), sum(records)
            )
            gained, lost = flips.count_flips(is_member)
            details = details.changed(
                counts={"flips_to_favourable": gained, "flips_to_unfavourable": lost},
                neighbours=flips.neighbours,
            )
        results.append(build_result(_FLIP_TEST, member, number, min(records), details))
    return omit_repeats(mark_worst(CATALOGUE[_FLIP_TEST], results, limits), groups)


def _count_favourable(outcomes: IntArray) -> dict[str, float]:
    return {"favourable": int(outcomes.sum()), "n": len(outcomes)}


def _measure_consistency(searched_rows: _Rows, key: str) -> list[Measured]:
    source = _SOURCE_OF_OUTCOMES[key]
    outcomes = searched_rows.get_outcomes(source)
    is_classified = outcomes != UNCLASSIFIED
    total = int(is_classified.sum())
    reason = ""
    agreement = None
    if searched_rows.rows.features.shape[1] == 0:
        reason = NO_FEATURES
    elif total == 0:
        reason = f"no record has a classified {source}"
    elif total < NEIGHBOURS:
        reason = f"only {total} records have a classified {source}, fewer than the {NEIGHBOURS} nearest"
    else:
        agreement = measure_agreement(
            searched_rows.find_neighbourhood(is_classified), outcomes[is_classified]
        )
    results = []
    for member in list_members(("overall", "group"), searched_rows.rows.groups):
        is_member = searched_rows.mark_member(member)[is_classified]
        records = int(is_member.sum())
        details = Details(
            subject=member.name,
            counts=_count_favourable(outcomes[is_classified][is_member]),
            neighbours=NEIGHBOURS,
        )
        number: Value | Undefined
        if agreement and records:
            number = build_value(
                agreement.compute_value(is_member), agreement.build_interval(is_member), records
            )
        else:
            number = Undefined(reason or f"no record{member.of} has a classified {source}", records)
        results.append(build_result(key, member, number, records, details))
    return results


def _measure_rich_subgroup(searched_rows: _Rows, key: str) -> Measured:
    rows = searched_rows.rows
    kind = _KIND_OF_ERRORS[key]
    actual = searched_rows.get_outcomes("label")
    predicted = searched_rows.get_outcomes("prediction")
    positions = np.flatnonzero((actual != UNCLASSIFIED) & (predicted != UNCLASSIFIED))
    protected = (
        (rows.columns[:, None] == np.arange(len(rows.groups))).astype(float)
        if rows.protected is None
        else rows.protected
    )
    subgroup = find_rich_subgroup(protected[positions], predicted[positions], actual[positions], kind)
    member = list_members(("overall",), rows.groups)[0]
    outcome = "unfavourable" if kind == "false_positive" else "favourable"
    judged = int((actual[positions] == (kind == "false_negative")).sum())
    details = Details(subject=member.name, counts={"n": len(positions), f"actual_{outcome}": judged})
    if not subgroup:
        alike = f"the records that are actually {outcome} are alike in every protected attribute"
        reason = alike if judged else f"no record with a classified prediction is actually {outcome}"
        return build_result(key, member, Undefined(reason, len(positions)), 0, details)
    inside = int(subgroup.members.sum())
    codes = rows.columns[positions[subgroup.judged[subgroup.members]]]
    labels = [*(group.label for group in rows.groups), "(no group)"]
    details = details.changed(
        rate=subgroup.overall_rate,
        subgroup_rate=subgroup.rate,
        subgroup_n=inside,
        subgroup_of_groups={
            labels[code]: int(count)
            for code, count in zip(*np.unique(codes, return_counts=True), strict=True)
        },
    )
    return build_result(
        key,
        member,
        build_value(subgroup.value, subgroup.interval, len(positions)),
        min(inside, judged - inside),
        details,
    )
