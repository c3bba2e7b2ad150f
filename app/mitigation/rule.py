"""Rule of mitigation, which a live request applies to a few records, a check to its whole window.

The model's answers to copies of a record give its outcome with a reference value, which the mode combines
with the record's own. Nothing is random, only outcomes that the model itself gave are returned, and no other
record has an effect. Source: spec of the fairness check, section 8.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..base.values import Range, frozen, frozen_arrays
from ..domain.mitigation import CutOff, Mode, Profile, Reading
from ..domain.monitor import Outcome, OutcomeRule
from ..sources.arrays.favourable_scores import NumberCells, classify_cells, read_scores_by_reading
from ..statistics.group_labels import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]

Probability: TypeAlias = "float | tuple[float, ...] | None"

UNKNOWN = int(Outcome.UNCLASSIFIED)
"""Outcome as reference of a record whose copies decide nothing."""

EQUALITY_TOLERANCE = 1e-12
"""Difference of shares or means that count as equal: sums in another order differ in the last digits."""

_DECODER = msgspec.json.Decoder(float | tuple[float, ...])


@frozen
class Judge:
    """Parts of a profile that decide outcomes: the outcome rule, the reading of probabilities, and the
    cut-off.

    The last two are None if unknown.
    """

    rule: OutcomeRule
    reading: Reading | None
    cut_off: CutOff | None

    @classmethod
    def of(cls, rule: OutcomeRule, profile: Profile) -> "Judge":
        return cls(rule, profile.reading, profile.cut_off)

    @property
    def predicts_numbers(self) -> bool:
        """Whether the model predicts real numbers: then outcomes are ranges, and the mean of copies has
        one.
        """
        return any(isinstance(value, Range) for value in self.rule.favourable)

    @property
    def mean_may_differ(self) -> bool:
        """Whether the mean of numbers may have another outcome than all of them: only if an outcome
        consists of several ranges.
        """
        return self.predicts_numbers and max(len(self.rule.favourable), len(self.rule.unfavourable)) > 1


@frozen_arrays
class CopyAnswers:
    """The model's answers to copies, one entry for each copy [copies], in any order.

    `records` are the places of the copied records, `shares` the part of the reference records that each
    copy represents, `numbers` the predictions of a model that predicts real numbers, else NaN.
    """

    records: IntArray
    outcomes: IntArray
    shares: FloatArray
    probabilities: Sequence[Probability]
    numbers: FloatArray

    def select(self, is_chosen: BoolArray) -> "CopyAnswers":
        return CopyAnswers(
            self.records[is_chosen],
            self.outcomes[is_chosen],
            self.shares[is_chosen],
            [self.probabilities[entry] for entry in np.flatnonzero(is_chosen).tolist()],
            self.numbers[is_chosen],
        )

    def select_weighted(self) -> "CopyAnswers":
        """Selects answers with a share above 0; all of a record without such, with equal shares."""
        has_share = self.shares > 0
        of_record = np.isin(self.records, self.records[has_share])
        return replace(self, shares=np.where(of_record, self.shares, 1.0)).select(has_share | ~of_record)


def decide_as_reference(
    classified: IntArray, favourable: IntArray, read_answers: Callable[[IntArray], CopyAnswers], judge: Judge
) -> IntArray:
    """Decides the outcome of each record with a reference value [records], UNKNOWN where its copies decide
    nothing.

    `classified` and `favourable` [records] count the copies with any outcome, and with the favourable one.
    If the copies of a record agree, they decide. Of the others `read_answers` returns the answers: their
    mean probability is compared with the model's own cut-off. Without probabilities the outcome of the
    greater share of copies counts, and a tie decides nothing. Unclassified copies take no part. If the
    model predicts real numbers, the outcome of their mean counts; if the copies agree but their mean has
    another outcome, nothing is decided.
    """
    outcomes: IntArray = np.where(
        classified == 0,
        UNKNOWN,
        np.where(favourable == 0, int(Outcome.UNFAVOURABLE), int(Outcome.FAVOURABLE)),
    )
    is_divided = (favourable > 0) & (favourable < classified)
    # Most records have copies that agree: reading the answers of all would take many times longer.
    read = np.flatnonzero((classified > 1) if judge.mean_may_differ else is_divided)
    if not len(read):
        return outcomes
    answers = read_answers(read)
    weighted = answers.select(answers.outcomes != UNKNOWN).select_weighted()
    weighted = replace(weighted, records=np.searchsorted(read, weighted.records))
    sides = (int(Outcome.UNFAVOURABLE), int(Outcome.FAVOURABLE))
    unfavourable_shares, favourable_shares = (
        np.bincount(weighted.records, weighted.shares * (weighted.outcomes == side), len(read))
        for side in sides
    )
    by_share = np.where(
        np.abs(favourable_shares - unfavourable_shares) <= EQUALITY_TOLERANCE,
        UNKNOWN,
        np.where(favourable_shares > unfavourable_shares, sides[1], sides[0]),
    )
    by_mean = _decide_by_means(average_probabilities(weighted, len(read)), judge)
    decided = np.where(by_mean == UNKNOWN, by_share, by_mean)
    if judge.predicts_numbers:
        numbers = average_numbers(weighted, len(read))
        # A mean between the ranges decides nothing: the shares of its copies must not decide instead.
        of_mean = classify_cells(NumberCells(pa.array(numbers)), judge.rule)
        of_mean = np.where(is_divided[read] | (of_mean == outcomes[read]), of_mean, UNKNOWN)
        decided = np.where(np.isnan(numbers), decided, of_mean)
    outcomes[read] = decided
    return outcomes


def average_probabilities(answers: CopyAnswers, count: int) -> list[Probability]:
    """Averages the probabilities of each record's copies by share [records], in the model's own form.

    None where a record has no copies, or one without a probability or of another form.
    """
    weighted = answers.select_weighted()
    means: list[Probability] = [None] * count
    by_record: dict[int, list[int]] = {}
    for entry, record in enumerate(weighted.records.tolist()):
        by_record.setdefault(record, []).append(entry)
    for record, entries in by_record.items():
        shares = weighted.shares[entries].tolist()
        probabilities = [weighted.probabilities[entry] for entry in entries]
        numbers = [probability for probability in probabilities if isinstance(probability, int | float)]
        lists = [probability for probability in probabilities if isinstance(probability, tuple)]
        if len(numbers) == len(entries):
            means[record] = _average(numbers, shares)
        elif len(lists) == len(entries) and len(set(map(len, lists))) == 1:
            means[record] = tuple(_average(column, shares) for column in zip(*lists, strict=True))
    return means


def average_numbers(answers: CopyAnswers, count: int) -> FloatArray:
    """Means by share [records]; NaN where a record has none."""
    with_numbers = replace(answers, probabilities=answers.numbers.tolist())
    return np.array(average_probabilities(with_numbers, count), np.float64)


def substitute(outcomes: IntArray, as_reference: IntArray, is_monitored: BoolArray, mode: Mode) -> IntArray:
    """Outcomes [records] after mitigation; a record's own one where nothing better is known."""
    is_known = is_monitored & (outcomes != UNKNOWN) & (as_reference != UNKNOWN)
    # The code of the favourable outcome is the greater one, so lifting takes the maximum.
    return np.where(
        is_known,
        as_reference if mode is Mode.REFERENCE_SUBSTITUTION else np.maximum(outcomes, as_reference),
        outcomes,
    )


def read_score_texts(texts: Sequence[str | None], reading: Reading | None) -> FloatArray:
    """NaN where a text cannot be read."""
    if reading is None:
        return np.full(len(texts), np.nan)
    return read_scores_by_reading(reading, pa.chunked_array([pa.array(texts, pa.string())]))


def read_known_scores(texts: Sequence[str | None], reading: Reading | None) -> list[float | None]:
    """None where a text cannot be read."""
    return [None if math.isnan(score) else score for score in read_score_texts(texts, reading).tolist()]


def write_probabilities(probabilities: Iterable[Probability]) -> list[str | None]:
    return [
        None if probability is None else msgspec.json.encode(probability).decode()
        for probability in probabilities
    ]


def read_probability(text: str | None) -> Probability:
    """None where the text is neither a number nor a list of numbers."""
    if text is None:
        return None
    try:
        probability: Probability = _DECODER.decode(text)
    except msgspec.ValidationError:
        return None
    return probability


def _decide_by_means(means: Sequence[Probability], judge: Judge) -> IntArray:
    codes: IntArray = np.full(len(means), UNKNOWN, dtype=np.int64)
    if judge.cut_off is not None:
        cut_off = judge.cut_off
        scores = read_score_texts(write_probabilities(means), judge.reading)
        # Above the cut-off, or at or above the lowest favourable score seen, if all unfavourable ones seen
        # are lower.
        was_seen = (cut_off.lowest_favourable > cut_off.highest_unfavourable) & (
            scores >= cut_off.lowest_favourable - EQUALITY_TOLERANCE
        )
        is_favourable = was_seen | (scores > cut_off.value + EQUALITY_TOLERANCE)
        codes = np.where(
            np.isnan(scores),
            UNKNOWN,
            np.where(is_favourable, int(Outcome.FAVOURABLE), int(Outcome.UNFAVOURABLE)),
        )
    classes = judge.reading.classes if judge.reading is not None else ()
    class_means = [
        index for index, mean in enumerate(means) if isinstance(mean, tuple) and len(mean) == len(classes) > 0
    ]
    if class_means:
        # A model of several classes predicts the one with the greatest probability; equal ones must lead to
        # one outcome.
        table = np.array([means[index] for index in class_means], dtype=np.float64)
        is_greatest = table.max(axis=1, keepdims=True) - table <= EQUALITY_TOLERANCE
        outcomes = np.array(
            [UNKNOWN if text is None else int(judge.rule.classify_text(text)) for text in classes]
        )
        highest = np.where(is_greatest, outcomes, outcomes.min()).max(axis=1)
        lowest = np.where(is_greatest, outcomes, outcomes.max()).min(axis=1)
        codes[class_means] = np.where(highest == lowest, highest, UNKNOWN)
    return codes


def _average(numbers: Sequence[float], shares: Sequence[float]) -> float:
    """Averages by share, never outside the numbers: rounding must not make a probability of more than 1."""
    # The exact sum does not depend on the order of the copies, which differs between a live request and a
    # check.
    mean = math.fsum(number * share for number, share in zip(numbers, shares, strict=True)) / math.fsum(
        shares
    )
    return min(max(mean, min(numbers)), max(numbers))
