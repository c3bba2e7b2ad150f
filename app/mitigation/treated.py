"""What mitigation makes of a window's records, attribute by attribute, from outcomes of copies that are known already."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.checks.classifying import OutcomeClassifier, outcome_codes, value_of
from app.checks.grouping import Grouping
from app.checks.outcomes_of_copies import CopyOutcomes
from app.checks.scores import scores_by
from app.domain.mitigation import AttributeProfile, Mode
from app.domain.outcomes import Outcome
from app.domain.values import Range, number_of
from app.metrics.groups import FloatArray, IntArray
from app.mitigation.deciding import CopyAnswer, Judge, Probability, outcome_as_reference

UNKNOWN = int(Outcome.UNCLASSIFIED)
"""The outcome as reference of a record that is not monitored, or whose copies tell nothing."""

_DECODER = msgspec.json.Decoder(float | tuple[float, ...])


@dataclass(frozen=True, slots=True, eq=False)
class Treated:
    """The records of a window under the mitigation of one attribute.

    `own` and `after` are their outcomes [records] without and with it, `as_reference` [records] those with a reference value, and
    `copies_after` [records, groups] the favourable copies among the classified ones of `copies`.
    """

    copies: CopyOutcomes
    own: IntArray
    as_reference: IntArray
    after: IntArray
    copies_after: IntArray

    @property
    def grouping(self) -> Grouping:
        """The attribute's groups; records of another model revision are in none."""
        return self.copies.grouping

    def is_new(self) -> npt.NDArray[np.bool_]:
        """Whether the model was asked about copies of the record in this check [records]."""
        found = np.zeros(len(self.own), dtype=np.bool_)
        for kept in self.copies.answers:
            if kept.are_new:
                found[kept.records] = True
        return found

    def is_undecided(self) -> npt.NDArray[np.bool_]:
        """Whether copies were scored for the record and tell nothing [records]."""
        tells_nothing: npt.NDArray[np.bool_] = (self.copies.known.sum(axis=1) > 0) & (self.as_reference == UNKNOWN)
        return tells_nothing

    def is_monitored(self) -> npt.NDArray[np.bool_]:
        """Whether each record has a monitored value and a classified outcome [records]."""
        takes_part: npt.NDArray[np.bool_] = monitored(self.grouping) & (self.own != Outcome.UNCLASSIFIED)
        return takes_part


def treated(copies: CopyOutcomes, own: IntArray, profile: AttributeProfile, judge: Judge, mode: Mode, own_scores: FloatArray) -> Treated:
    """The records' outcomes after mitigation. `own_scores` [records] are needed in parity mode only, NaN where there is none."""
    as_reference = outcomes_as_reference(copies, profile, judge)
    if mode is Mode.PARITY:
        thresholds = dict(profile.thresholds)
        after = lifted(own, own_scores, thresholds_of(copies.grouping, thresholds))
        return Treated(copies, own, as_reference, after, _copies_under_thresholds(copies, thresholds, judge))
    after = substituted(own, as_reference, copies.grouping, mode)
    return Treated(copies, own, as_reference, after, _copies_substituted(copies, own, mode))


def monitored(grouping: Grouping) -> npt.NDArray[np.bool_]:
    """Whether each record has a monitored value [records]."""
    # NEITHER, which is -1, finds the appended last place.
    found: npt.NDArray[np.bool_] = np.append(grouping.is_monitored(), False)[grouping.codes]
    return found


def substituted(own: IntArray, as_reference: IntArray, grouping: Grouping, mode: Mode) -> IntArray:
    """The outcomes [records] after mitigation by substitution, as `deciding.debiased_outcome` says for one record."""
    is_known = monitored(grouping) & (own != Outcome.UNCLASSIFIED) & (as_reference != UNKNOWN)
    found: IntArray = np.where(is_known, as_reference if mode is Mode.REFERENCE_SUBSTITUTION else np.maximum(own, as_reference), own)
    return found


def thresholds_of(grouping: Grouping, thresholds: Mapping[str, float]) -> FloatArray:
    """The threshold of each record's group [records]; infinite where there is none."""
    of_group = [thresholds.get(group.label, np.inf) if group.role == "monitored" else np.inf for group in grouping.groups]
    found: FloatArray = np.array([*of_group, np.inf])[grouping.codes]
    return found


def lifted(own: IntArray, scores: FloatArray, thresholds: FloatArray) -> IntArray:
    """The outcomes [records] after parity mode: an unfavourable one whose score reaches the threshold becomes favourable."""
    found: IntArray = np.where((own == Outcome.UNFAVOURABLE) & (scores >= thresholds), int(Outcome.FAVOURABLE), own)
    return found


def outcomes_as_reference(copies: CopyOutcomes, profile: AttributeProfile, judge: Judge) -> IntArray:
    """The outcome of each record with a reference value [records], UNKNOWN where its copies do not tell.

    Where the copies of a record agree no probability is read.
    """
    shares, counted = profile.shares(), counted_references(copies.grouping, profile)
    classified, favourable = copies.classified[:, counted].sum(axis=1), copies.favourable[:, counted].sum(axis=1)
    found = np.where(classified == 0, UNKNOWN, np.where(favourable == 0, int(Outcome.UNFAVOURABLE), int(Outcome.FAVOURABLE)))
    is_divided = (favourable > 0) & (favourable < classified)
    for record, answers in reference_answers(copies, np.flatnonzero(is_divided), shares, judge).items():
        decided = outcome_as_reference(answers, judge)
        found[record] = UNKNOWN if decided is None else int(decided)
    return found.astype(np.int64)


def counted_references(grouping: Grouping, profile: AttributeProfile) -> list[int]:
    """The positions of the reference groups whose copies decide: those that somebody was logged with; all, where nobody was."""
    shares = profile.shares()
    reference = [place for place, group in enumerate(grouping.groups) if group.role == "reference"]
    return [place for place in reference if shares.get(grouping.groups[place].label, 0) > 0] or reference


def reference_answers(
    copies: CopyOutcomes, records: npt.NDArray[np.int64], shares: Mapping[str, float], judge: Judge
) -> dict[int, list[CopyAnswer]]:
    """The answers to the reference copies of the records at these positions; shares are by reference group."""
    found: dict[int, list[CopyAnswer]] = {}
    if not len(records):
        return found
    classify = OutcomeClassifier(judge.rule)
    predicts_numbers = any(isinstance(value, Range) for value in judge.rule.favourable)
    for kept in copies.answers:
        group = copies.grouping.groups[kept.target]
        if group.role != "reference":
            continue
        share = shares.get(group.label, 0.0) / copies.targets[kept.target].draws
        places = np.flatnonzero(np.isin(kept.records, records))
        chosen = pa.array(places)
        texts = zip(kept.outcomes.take(chosen).to_pylist(), kept.probabilities.take(chosen).to_pylist(), strict=True)
        for place, (outcome, probability) in zip(places.tolist(), texts, strict=True):
            value = value_of(outcome)
            number = number_of(value) if predicts_numbers else None
            answer = CopyAnswer(classify(value), read_probability(probability), share, number)
            found.setdefault(int(kept.records[place]), []).append(answer)
    return found


def read_probability(text: str | None) -> Probability:
    """A stored probability; None where there is none, or of no known form."""
    if text is None:
        return None
    try:
        found: Probability = _DECODER.decode(text)
    except msgspec.ValidationError:
        return None
    return found


def _copies_substituted(copies: CopyOutcomes, own: IntArray, mode: Mode) -> IntArray:
    """Favourable copies after mitigation by substitution [records, groups].

    A synthetic monitored record is held against the reference record it was copied from; copies into reference values stay.
    """
    is_monitored = copies.grouping.is_monitored()[None, :]
    favourable = (own == Outcome.FAVOURABLE)[:, None]
    stays = copies.favourable if mode is Mode.LIFT_ONLY else np.zeros_like(copies.favourable)
    found: IntArray = np.where(is_monitored, np.where(favourable, copies.classified, stays), copies.favourable)
    return found


def _copies_under_thresholds(copies: CopyOutcomes, thresholds: Mapping[str, float], judge: Judge) -> IntArray:
    """Favourable copies after parity mode [records, groups]: those into a monitored group are held to its threshold."""
    found = copies.favourable.copy()
    for kept in copies.answers:
        group = copies.grouping.groups[kept.target]
        if group.role == "monitored" and group.label in thresholds and judge.reading is not None:
            is_unfavourable = outcome_codes(kept.outcomes, judge.rule) == Outcome.UNFAVOURABLE
            lifts = is_unfavourable & (scores_by(judge.reading, kept.probabilities) >= thresholds[group.label])
            np.add.at(found[:, kept.target], kept.records, lifts)
    return found
