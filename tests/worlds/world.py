"""Worlds: groups with known outcomes and labels, and the limits that they are held against. Measured by the code of the product."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property

import numpy as np
from hypothesis import strategies as st

from app.checks.measure import measure_table
from app.domain.check import DataSet, Measurement
from app.domain.monitor import Comparison, Limits, Monitor, MonitoredAttribute, OutcomeRule
from app.statistics.group_labels import Role
from app.statistics.tables.count_table import LabelledCells
from tests.builders.count_tables import count_groups

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
ATTRIBUTE = "kind"

PAYLOAD = ("disparate_impact", "statistical_parity_difference", "difference_in_positive_proportions_in_predicted_labels")
FEEDBACK = (
    "true_positive_rate_difference",
    "recall_difference",
    "false_negative_rate_difference",
    "false_positive_rate_ratio",
    "specificity_difference",
    "average_odds_difference",
    "accuracy_difference",
    "error_rate_ratio",
)


@dataclass(frozen=True, slots=True)
class GroupTruth:
    """One group: how many records of each label were predicted what (`fp`: unfavourable label, predicted favourable)."""

    name: str
    role: Role
    tn: int
    fp: int
    fn: int
    tp: int

    def __add__(self, other: "GroupTruth") -> "GroupTruth":
        return GroupTruth(self.name, self.role, self.tn + other.tn, self.fp + other.fp, self.fn + other.fn, self.tp + other.tp)

    @property
    def records(self) -> int:
        """All of them."""
        return self.tn + self.fp + self.fn + self.tp

    @property
    def favourable(self) -> int:
        """Those predicted favourable."""
        return self.fp + self.tp


@dataclass(frozen=True)
class World:
    """What is true of some records, and what a monitor watches. `others` are limits of single metrics."""

    groups: tuple[GroupTruth, ...]
    lower: float
    upper: float | None
    others: tuple[tuple[str, Limits], ...] = ()

    @cached_property
    def monitor(self) -> Monitor:
        """The monitor of the world."""
        values = {role: tuple(group.name for group in self.groups if group.role == role) for role in ("monitored", "reference")}
        attribute = MonitoredAttribute(
            feature=ATTRIBUTE,
            monitored=values["monitored"],
            reference=values["reference"],
            threshold=self.lower,
            upper_threshold=self.upper,
            metric_limits=self.others,
        )
        outcomes = OutcomeRule(favourable=("yes",), unfavourable=("no",))
        return Monitor(outcomes=outcomes, attributes=(attribute,), metrics=(*PAYLOAD, *FEEDBACK))

    @cached_property
    def measurements(self) -> list[Measurement]:
        """Every figure of the world, as a check measures it."""
        pairs = tuple((group.name, group.role) for group in self.groups)
        payload = count_groups(pairs, [(group.records - group.favourable, group.favourable) for group in self.groups])
        cells = np.zeros((len(pairs) + 1, 3, 3, 2), np.int64)
        for place, group in enumerate(self.groups):
            cells[place, 0, 0, 1], cells[place, 0, 1, 0] = group.tn, group.fp
            cells[place, 1, 0, 0], cells[place, 1, 1, 1] = group.fn, group.tp
        labelled = LabelledCells(pairs, cells)  # type: ignore[arg-type]
        feedback = replace(labelled, cohort=labelled.count_labels())
        tables = ((DataSet.AS_LOGGED, payload), (DataSet.LABELLED, feedback))
        return [
            figure
            for data, table in tables
            for figure in measure_table(data, Comparison((ATTRIBUTE,)), table, monitor=self.monitor, at=NOON)
        ]

    @cached_property
    def sides(self) -> dict[str, GroupTruth]:
        """What each name in a sentence stands for: a group, or the groups of a role together."""
        found = {group.name: group for group in self.groups}
        for role in ("monitored", "reference"):
            members = [group for group in self.groups if group.role == role]
            if members:
                listed = ", ".join(group.name for group in members[:3]) + (", …" if len(members) > 3 else "")
                found.setdefault(listed, sum(members[1:], start=members[0]))
        return found

    def limits_of(self, metric: str) -> tuple[float | None, float | None]:
        """The limits of a metric, as the world was made."""
        if metric == "disparate_impact":
            return self.lower, self.upper
        given = dict(self.others).get(metric)
        if given is not None:
            return given.lower, given.upper
        return (0.8, 1.25) if metric.endswith("_ratio") else (-0.1, 0.1)


SIZES = (0, 3, 12, 60, 400, 5000)
RATES = (0.0, 0.02, 0.2, 0.35, 0.5, 0.51, 0.8, 1.0)
LIMITS = ((0.8, 1.25), (0.8, None), (0.95, None), (1.0, 1.0), (1.0, None), (0.9, 1.25))
OTHERS = (
    (),
    (("statistical_parity_difference", Limits(lower=-0.1)), ("true_positive_rate_difference", Limits(lower=-0.05))),
    (("statistical_parity_difference", Limits(upper=0.1)), ("false_positive_rate_ratio", Limits(upper=1.25))),
    (("false_negative_rate_difference", Limits(lower=-0.02, upper=0.3)), ("recall_difference", Limits(upper=0.1))),
)


@st.composite
def groups_of(draw: st.DrawFn, name: str, role: Role) -> GroupTruth:
    """One group, of any size down to nobody."""
    records, share, right = draw(st.sampled_from(SIZES)), draw(st.sampled_from(RATES)), draw(st.sampled_from(RATES))
    favourable = round(records * share)
    tp, tn = round(favourable * right), round((records - favourable) * right)
    return GroupTruth(name, role, tn, favourable - tp, records - favourable - tn, tp)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A world of 1 to 20 groups, with a limit on one side or on both."""
    monitored, reference = draw(st.integers(1, 17)), draw(st.integers(0, 3))
    names = [f"group {chr(ord('A') + place)}" for place in range(monitored)]
    found = [draw(groups_of(name, "monitored")) for name in names]
    found += [draw(groups_of(f"others {place}", "reference")) for place in range(reference)]
    lower, upper = draw(st.sampled_from(LIMITS))
    return World(tuple(found), lower, upper, draw(st.sampled_from(OTHERS)))
