"""Measures what only the records themselves can tell: the flip test, consistency and rich subgroups."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from app.metrics.catalogue import CATALOGUE, Data
from app.metrics.cautions import caution
from app.metrics.groups import IntArray
from app.metrics.intervals import Interval
from app.metrics.members import Member, members, monitored, reference
from app.metrics.rows.consistency import NEIGHBOURS, Neighbourhood, agreement
from app.metrics.rows.data import UNCLASSIFIED, RowData, most_records
from app.metrics.rows.flip_test import flips
from app.metrics.rows.neighbours import standardised
from app.metrics.rows.rich_subgroup import Kind, rich_subgroup
from app.metrics.values import Measured, Undefined, Value
from app.metrics.worst import NO_LIMITS, AllLimits, headline

BoolArray: TypeAlias = npt.NDArray[np.bool_]
Outcome: TypeAlias = Literal["label", "prediction"]

NO_FEATURES = "the records have no numeric feature by which to tell which of them are alike"

_RICH: Mapping[str, Kind] = MappingProxyType(
    {"rich_subgroup_false_positive": "false_positive", "rich_subgroup_false_negative": "false_negative"}
)
_CONSISTENCY: Mapping[str, Outcome] = MappingProxyType({"consistency": "label", "prediction_consistency": "prediction"})
_FLIP_TEST = "counterfactual_flip_test"
_OUTCOMES: Mapping[Data, tuple[Outcome, ...]] = MappingProxyType(
    {
        "payload": ("prediction",),
        "training": ("label",),
        "feedback": ("label", "prediction"),
        "payload_perturbed": (),
        "balanced": (),
        "debiased": (),
        "debiased_feedback": (),
    }
)


def measure_rows(data: Data, rows: RowData, wanted: Mapping[str, str], *, limits: AllLimits = NO_LIMITS) -> list[Measured]:
    """The metrics that `wanted` names, in its order, each with the text of its formula; `data` says which outcomes there are.

    Of more records than can be searched for neighbours (see `most_records`) so many are drawn by lot, which the details
    say. By the `limits` (those of the catalogue unless given) the value furthest out is chosen.

    Raises:
        ValueError: a metric is unknown, or needs outcomes that the data set does not have.
    """
    searched, everyone = _Rows.of(rows), _Rows(rows, len(rows.codes))
    results: list[Measured] = []
    for key, formula in wanted.items():
        if missing := _needed(key) - set(_OUTCOMES[data]):
            raise ValueError(f"expected a metric of {data} data, found {key}, which needs a {' and a '.join(sorted(missing))}")
        if key in _RICH:
            results.append(everyone.told(_rich_subgroup(everyone, key), formula))
            continue
        found = _flip_test(searched, limits) if key == _FLIP_TEST else _consistency(searched, key)
        results += [searched.told(result, formula) for result in found]
    return results


def _needed(key: str) -> set[Outcome]:
    if key == _FLIP_TEST:
        return {"prediction"}
    if key in _RICH:
        return {"label", "prediction"}
    if key in _CONSISTENCY:
        return {_CONSISTENCY[key]}
    raise ValueError(f"expected a metric of the records themselves, found {key}")


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The records that are looked at, of `records` there are."""

    rows: RowData
    records: int
    _searched: dict[bytes, Neighbourhood] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: RowData) -> "_Rows":
        """As many as can be searched for neighbours."""
        return cls(rows.sampled(most_records(rows.features.shape[1])), len(rows.codes))

    def outcomes(self, which: Outcome) -> IntArray:
        """The outcome of each record; unclassified where there is none."""
        known = self.rows.actual if which == "label" else self.rows.predicted
        return np.full(len(self.rows.codes), UNCLASSIFIED, dtype=np.int64) if known is None else known

    def neighbourhood(self, among: BoolArray) -> Neighbourhood:
        """The neighbours of those records among themselves; the same records are searched once."""
        key = among.tobytes()
        if key not in self._searched:
            self._searched[key] = Neighbourhood.of(standardised(self.rows.features[among]))
        return self._searched[key]

    def within(self, member: Member) -> BoolArray:
        """Which records are in that set of groups."""
        return np.isin(self.rows.columns, member.columns)

    def told(self, result: Measured, formula: str) -> Measured:
        """The result with what is the same for all."""
        details: dict[str, object] = {"formula": formula, **result.details}
        if len(self.rows.codes) < self.records:
            details |= {"records": self.records, "records_drawn_by_lot": len(self.rows.codes)}
        if isinstance(result.number, Value):
            details |= caution(result.smallest_group)
        return replace(result, details=details)


def _flip_test(looked_at: _Rows, limits: AllLimits) -> list[Measured]:
    """Each monitored value, all of them pooled, and the one furthest out, beside the reference."""
    groups, predicted = looked_at.rows.groups, looked_at.outcomes("prediction")
    whose, other = monitored(groups), reference(groups)
    classified = predicted != UNCLASSIFIED
    of_reference = looked_at.within(other) & classified
    sets = [looked_at.within(member) & classified for member in whose]
    everyone = np.logical_or.reduce(sets) if sets else classified & False
    places = standardised(looked_at.rows.features)
    reason = NO_FEATURES if places.shape[1] == 0 else "" if of_reference.any() else f"no record{other.of} has a classified prediction"
    can = not reason and bool(everyone.any())
    found = flips(places[everyone], predicted[everyone], places[of_reference], predicted[of_reference]) if can else None
    results = []
    for member, chosen in zip(whose, sets, strict=True):
        details = _sides(member, other, predicted, (chosen, of_reference))
        if found is None or not chosen.any():
            number: Value | Undefined = Undefined(
                reason or f"no record{member.of} has a classified prediction", _count(chosen, of_reference)
            )
        else:
            of = chosen[everyone]
            number = _value(found.value(of), found.interval(of), _count(chosen, of_reference))
            details |= dict(zip(("flips_to_favourable", "flips_to_unfavourable"), found.towards(of), strict=True))
            details["neighbours"] = found.neighbours
        smallest = min(int(chosen.sum()), int(of_reference.sum()))
        results.append(_measured(_FLIP_TEST, member, number, smallest, details))
    return [*results, *headline(CATALOGUE[_FLIP_TEST], results, limits)]


def _sides(member: Member, other: Member, predicted: IntArray, sides: tuple[BoolArray, BoolArray]) -> dict[str, object]:
    details: dict[str, object] = {"monitored": member.name, "reference": other.name}
    for side, chosen in zip(("monitored", "reference"), sides, strict=True):
        details |= {f"{side}_favourable": int(predicted[chosen].sum()), f"{side}_n": int(chosen.sum())}
    return details


def _consistency(looked_at: _Rows, key: str) -> list[Measured]:
    """Everybody, and each group; the neighbours of a group's records are looked for among everybody."""
    which = _CONSISTENCY[key]
    outcomes = looked_at.outcomes(which)
    classified = outcomes != UNCLASSIFIED
    total = int(classified.sum())
    if looked_at.rows.features.shape[1] == 0:
        reason = NO_FEATURES
    elif total == 0:
        reason = f"no record has a classified {which}"
    else:
        reason = f"only {total} records have a classified {which}, fewer than the {NEIGHBOURS} nearest" if total < NEIGHBOURS else ""
    found = None if reason else agreement(looked_at.neighbourhood(classified), outcomes[classified])
    results = []
    for member in members(("overall", "group"), looked_at.rows.groups):
        of = looked_at.within(member)[classified]
        details = {"whom": member.name, "favourable": int(outcomes[classified][of].sum()), "n": int(of.sum()), "neighbours": NEIGHBOURS}
        if found is None or not of.any():
            number: Value | Undefined = Undefined(reason or f"no record{member.of} has a classified {which}", int(of.sum()))
        else:
            number = _value(found.value(of), found.interval(of), int(of.sum()))
        results.append(_measured(key, member, number, int(of.sum()), details))
    return results


def _rich_subgroup(looked_at: _Rows, key: str) -> Measured:
    rows, kind = looked_at.rows, _RICH[key]
    actual, predicted = looked_at.outcomes("label"), looked_at.outcomes("prediction")
    classified = np.flatnonzero((actual != UNCLASSIFIED) & (predicted != UNCLASSIFIED))
    protected = (rows.columns[:, None] == np.arange(len(rows.groups))).astype(np.float64) if rows.protected is None else rows.protected
    found = rich_subgroup(protected[classified], predicted[classified], actual[classified], kind)
    member, outcome = members(("overall",), rows.groups)[0], "unfavourable" if kind == "false_positive" else "favourable"
    judged = int((actual[classified] == (kind == "false_negative")).sum())
    details: dict[str, object] = {"whom": member.name, "n": len(classified), f"actual_{outcome}": judged}
    if found is None:
        alike = f"the records that are actually {outcome} are alike in every protected attribute"
        reason = alike if judged else f"no record with a classified prediction is actually {outcome}"
        return _measured(key, member, Undefined(reason, len(classified)), 0, details)
    inside, codes = int(found.members.sum()), rows.columns[classified[found.judged[found.members]]]
    labels = [*(group.label for group in rows.groups), "(no group)"]
    details |= {
        "rate": found.overall_rate,
        "subgroup_rate": found.rate,
        "subgroup_n": inside,
        "subgroup_of_groups": {labels[code]: int(count) for code, count in zip(*np.unique(codes, return_counts=True), strict=True)},
    }
    return _measured(key, member, _value(found.value, found.interval, len(classified)), min(inside, judged - inside), details)


def _value(value: float, interval: Interval, records: int) -> Value:
    return Value(value, interval.lower, interval.upper, interval.method, records)


def _count(*sets: BoolArray) -> int:
    return sum(int(chosen.sum()) for chosen in sets)


def _measured(key: str, member: Member, number: Value | Undefined, smallest: int, details: dict[str, object]) -> Measured:
    return Measured(metric=key, scope=member.scope, group=member.label, number=number, smallest_group=smallest, details=details)
