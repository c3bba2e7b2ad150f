"""Mitigation of a window's records, from outcomes of copies that are known already."""

from functools import partial

import numpy as np
import pyarrow as pa

from ...checks.outcomes_of_copies import CopyOutcomes
from ...domain.mitigation import AttributeProfile, Mode
from ...domain.outcomes import Outcome
from ...domain.values import number_of
from ...frozen import frozen
from ...metrics.groups import IntArray
from ...records.cells import parse_value
from ...records.grouping import Grouping
from ...records.outcomes import outcome_codes
from ..rule import UNKNOWN, BoolArray, CopyAnswers, Judge, Probability, outcomes_as_reference, read_probability, substitute


@frozen(eq=False)
class TreatedWindow:
    """The records of a window under the mitigation of one attribute.

    `own` and `after` are their outcomes [records] without and with it, `as_reference` [records] those with a reference value, and
    `copies_after` [records, groups] the favourable copies among the classified ones of `copies`.
    """

    copies: CopyOutcomes
    profile: AttributeProfile
    judge: Judge
    own: IntArray
    as_reference: IntArray
    after: IntArray
    copies_after: IntArray

    @property
    def grouping(self) -> Grouping:
        """The attribute's groups; records of another model revision are in none."""
        return self.copies.grouping

    @property
    def monitored_labels(self) -> list[str]:
        return [group.label for group in self.grouping.groups if group.role == "monitored"]

    def is_new(self) -> BoolArray:
        """Returns whether copies of the record were sent to the model in this check [records]."""
        found = np.zeros(len(self.own), dtype=np.bool_)
        for kept in self.copies.answers:
            if kept.are_new:
                found[kept.records] = True
        return found

    def is_undecided(self) -> BoolArray:
        """Returns whether copies were scored for the record and decide nothing [records]."""
        decides_nothing: BoolArray = (self.copies.known.sum(axis=1) > 0) & (self.as_reference == UNKNOWN)
        return decides_nothing

    def is_monitored(self) -> BoolArray:
        """Returns whether each record has a monitored value and a classified outcome [records]."""
        takes_part: BoolArray = find_monitored(self.grouping) & (self.own != UNKNOWN)
        return takes_part


def treat_window(copies: CopyOutcomes, own: IntArray, profile: AttributeProfile, judge: Judge, mode: Mode) -> TreatedWindow:
    as_reference = find_outcomes_as_reference(copies, profile, judge)
    after = substitute(own, as_reference, find_monitored(copies.grouping), mode)
    # A synthetic monitored record is compared with the reference record it was copied from; copies into reference values stay.
    favourable = (own == Outcome.FAVOURABLE)[:, None]
    stays = copies.favourable if mode is Mode.LIFT_ONLY else np.zeros_like(copies.favourable)
    substituted = np.where(favourable, copies.classified, stays)
    copies_after = np.where(copies.grouping.is_monitored()[None, :], substituted, copies.favourable)
    return TreatedWindow(copies, profile, judge, own, as_reference, after, copies_after)


def find_monitored(grouping: Grouping) -> BoolArray:
    found: BoolArray = np.append(grouping.is_monitored(), False)[grouping.codes]
    return found


def find_outcomes_as_reference(copies: CopyOutcomes, profile: AttributeProfile, judge: Judge) -> IntArray:
    """Returns the outcome of each record with a reference value [records], UNKNOWN where its copies do not decide."""
    counted = find_counted_references(copies.grouping, profile)
    classified, favourable = copies.classified[:, counted].sum(axis=1), copies.favourable[:, counted].sum(axis=1)
    return outcomes_as_reference(classified, favourable, partial(read_reference_answers, copies, profile, judge), judge)


def find_counted_references(grouping: Grouping, profile: AttributeProfile) -> list[int]:
    """Returns the positions of the reference groups whose copies decide: those with logged records; all, where none has any."""
    shares = profile.shares()
    reference = [place for place, group in enumerate(grouping.groups) if group.role == "reference"]
    return [place for place in reference if shares.get(grouping.groups[place].label, 0) > 0] or reference


def read_reference_answers(copies: CopyOutcomes, profile: AttributeProfile, judge: Judge, records: IntArray) -> CopyAnswers:
    shares, counted = profile.shares(), find_counted_references(copies.grouping, profile)
    places: list[IntArray] = [np.zeros(0, dtype=np.int64)]
    outcomes, parts = list(places), [np.zeros(0)]
    probabilities: list[Probability] = []
    numbers: list[float | None] = []
    for kept in copies.answers:
        if kept.target not in counted:
            continue
        chosen = np.flatnonzero(np.isin(kept.records, records))
        texts = kept.outcomes.take(pa.array(chosen))
        share = shares.get(copies.grouping.groups[kept.target].label, 0.0) / copies.targets[kept.target].draws
        places.append(kept.records[chosen])
        outcomes.append(outcome_codes(texts, judge.rule))
        parts.append(np.full(len(chosen), share))
        probabilities += map(read_probability, kept.probabilities.take(pa.array(chosen)).to_pylist())
        numbers += [number_of(parse_value(text)) if judge.predicts_numbers else None for text in texts.to_pylist()]
    return CopyAnswers(
        np.concatenate(places), np.concatenate(outcomes), np.concatenate(parts), probabilities, np.array(numbers, dtype=np.float64)
    )
