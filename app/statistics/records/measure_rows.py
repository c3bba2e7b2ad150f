"""Records of a window as arrays, and their flip test, consistency and rich subgroups.

Consistency is how far outcomes agree with those of the nearest records.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from ...base.values import frozen_arrays
from ...domain.check import Details
from ..catalogue import CATALOGUE
from ..group_labels import NEITHER, BoolArray, FloatArray, Groups, IntArray, check_codes
from ..intervals.intervals import Interval, find_wilson_limits
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
from .flip_test import Points, compute_neighbour_shares, measure_flips, standardise
from .rich_subgroup import ErrorKind, find_rich_subgroup

Outcome = Literal["label", "prediction"]

NO_FEATURES = "the records have no numeric feature by which to tell which of them are alike"

_KIND_OF_ERRORS: Mapping[str, ErrorKind] = {
    "rich_subgroup_false_positive": "false_positive",
    "rich_subgroup_false_negative": "false_negative",
}
_SOURCE_OF_OUTCOMES: Mapping[str, Outcome] = {"consistency": "label", "prediction_consistency": "prediction"}
_FLIP_TEST = "counterfactual_flip_test"

UNCLASSIFIED = 2
"""Outcome that is neither favourable (1) nor unfavourable (0)."""

MAX_FEATURES_OF_FAST_SEARCH = 10
"""With more numeric features the time of a neighbour search grows quadratically."""

MAX_RECORDS = 100_000
MAX_RECORDS_OF_MANY_FEATURES = 20_000
"""Records searched with few features, and with many; of more, a random sample."""

HASH_STEP = np.uint64(0x9E3779B97F4A7C15)
"""Increment of SplitMix64."""

NEIGHBOURS = 5
"""Nearest records that a record's outcome is compared with, itself included."""

CONSISTENCY_METHOD = "wilson_of_effective_size"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RowData:
    """Records of one window, one position per record in every array.

    `codes` are positions in `groups` (-1: none), `features` [records, features] numeric, `predicted` and
    `actual` 1 favourable, 0 unfavourable, 2 neither. Rich subgroups are made from `protected` [records,
    attributes]; None: membership of each group.
    """

    groups: Groups
    codes: IntArray
    features: FloatArray
    predicted: IntArray | None
    actual: IntArray | None
    protected: FloatArray | None = None

    def __post_init__(self) -> None:
        codes = check_codes(self.codes, NEITHER, len(self.groups))
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "features", _check_numbers(self.features, len(codes), "features"))
        for name in ("predicted", "actual"):
            if getattr(self, name) is not None:
                outcomes = check_codes(getattr(self, name), 0, UNCLASSIFIED + 1)
                if len(outcomes) != len(codes):
                    raise ValueError(
                        f"expected {name} outcomes of {len(codes)} records, found {len(outcomes)}"
                    )
                object.__setattr__(self, name, outcomes)
        if self.protected is not None:
            object.__setattr__(
                self, "protected", _check_numbers(self.protected, len(codes), "protected attributes")
            )

    @property
    def columns(self) -> IntArray:
        """Group [records] of each record; those of no group have the position after the last one."""
        return np.where(self.codes == NEITHER, len(self.groups), self.codes)

    def sample(self, limit: int) -> "RowData":
        """Draws at most `limit` records at random.

        The random numbers come from a record's contents: neither data set, order nor other records matter.
        """
        if len(self.codes) <= limit:
            return self
        outcomes = self.actual if self.predicted is None else self.predicted
        hashes = _add_to_hashes(np.zeros(len(self.codes), np.uint64), self.codes.astype(float))
        for column in (*self.features.T, *(() if outcomes is None else (outcomes.astype(float),))):
            hashes = _add_to_hashes(hashes, column)
        # Equal records draw one by one; their order may depend on their labels alone.
        order = np.lexsort((hashes,) if self.actual is None else (self.actual, hashes))
        is_first = np.diff(hashes[order], prepend=~hashes[order[:1]]) != 0
        ranks = np.arange(len(order))
        ranks_of_equals = np.empty(len(order), float)
        ranks_of_equals[order] = ranks - np.maximum.accumulate(np.where(is_first, ranks, 0))
        sample = np.sort(np.argpartition(_add_to_hashes(hashes, ranks_of_equals), limit)[:limit])
        names = ("codes", "features", "predicted", "actual", "protected")
        columns = {name: getattr(self, name)[sample] for name in names if getattr(self, name) is not None}
        return replace(self, **columns)


@frozen_arrays
class Neighbourhood:
    """Distinct points, and `shares` [points, points] of their records in each point's neighbours."""

    points: Points
    shares: csr_array

    @classmethod
    def of(cls, features: FloatArray) -> "Neighbourhood":
        """The 5 nearest of each record, itself included; fewer than 5 records raise ValueError."""
        points = Points.of(features)
        return cls(points, compute_neighbour_shares(points.positions, points, NEIGHBOURS))


@frozen_arrays
class Agreement:
    """Agreement of each record's outcome with its neighbours' [records], from 0 to 1: all are the same."""

    agreements: FloatArray
    _favoured: IntArray
    _means: FloatArray
    _near: Neighbourhood

    def compute_value(self, selected: BoolArray) -> float:
        return float(np.clip(self.agreements[selected].mean(), 0.0, 1.0))

    def build_interval(self, selected: BoolArray) -> Interval:
        """95 % interval of the consistency of the selected records, within [0, 1].

        Score interval (Wilson) of the number of records with the same variance, that of the infinitesimal
        jackknife (Efron 1982): a record counts by its own agreement and its effect on others'.
        """
        value = self.compute_value(selected)
        records = int(selected.sum())
        deviations = np.where(selected, self.agreements - value, 0.0)
        signs = np.where(selected, 2.0 * self._favoured - 1.0, 0.0)
        points = self._near.points
        positions = points.of_record
        count = len(points.counts)
        summed_signs, expected = (
            np.bincount(positions, weights=weights, minlength=count)
            for weights in (signs, signs * self._means)
        )
        pull, expected_pull = (
            (self._near.shares.T @ weights / points.counts)[positions] for weights in (summed_signs, expected)
        )
        influence = deviations + self._favoured * pull - expected_pull

        variance = float(np.square(influence).sum()) / records**2
        spread = value * (1 - value)
        # Where all agree there is no variance; and no record carries more information than its neighbours
        # together.
        size = min(spread / variance, NEIGHBOURS * records) if spread > 0 and variance > 0 else records
        return Interval(*find_wilson_limits(value * size, size), CONSISTENCY_METHOD)


def measure_agreement(near: Neighbourhood, favoured: IntArray) -> Agreement:
    """Agreement of outcomes [records], 0 or 1, of the records of the neighbourhood."""
    points = near.points
    favourable = np.bincount(points.of_record, weights=favoured, minlength=len(points.counts))
    means = np.clip(near.shares @ (favourable / points.counts), 0.0, 1.0)[points.of_record]
    return Agreement(1.0 - np.abs(favoured - means), favoured, means, near)


def count_searchable_records(features: int) -> int:
    """Records whose neighbours are searched by so many features."""
    return MAX_RECORDS if features <= MAX_FEATURES_OF_FAST_SEARCH else MAX_RECORDS_OF_MANY_FEATURES


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


def _check_numbers(values: ArrayLike, records: int, noun: str) -> FloatArray:
    array = np.asarray(values, float)
    if array.ndim != 2 or len(array) != records:  # noqa: PLR2004 - rows and columns
        raise ValueError(f"expected {noun} of {records} records, found shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"expected {noun} that are finite numbers")
    return array


def _add_to_hashes(hashes: NDArray[np.uint64], numbers: FloatArray) -> NDArray[np.uint64]:
    """Adds a number to the hash of each record, spread over all 64 bits (the finalizer of SplitMix64)."""
    # Turns negative zero, which has other bits, into zero.
    bits = (hashes + HASH_STEP) ^ (numbers + 0.0).view(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))
