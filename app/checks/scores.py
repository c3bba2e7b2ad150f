"""Probabilities of the favourable outcome, worked out from what the model answered.

A model answers one number, or one for each class, and nobody says which of them speaks of the favourable outcome. Its own
predictions do: the number goes with the outcome it leads to. Where it does not, there are no scores rather than wrong ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import msgspec
import numpy as np
import pyarrow as pa

from app.checks.classifying import canonical_texts, value_of
from app.domain.mitigation import Reading
from app.domain.outcomes import Outcome, OutcomeRule
from app.domain.values import Range, Scalar, canonical
from app.metrics.groups import FloatArray, IntArray

NO_PROBABILITIES = "no record was logged with a probability"
REAL_NUMBERS = "the model predicts real numbers, which have no probability"
MIXED = "some probabilities are one number and others are lists, or lists of different lengths"
OUTSIDE = "the probabilities are not all between 0 and 1"
ONE_OUTCOME = "all predictions with a probability have one outcome, so nothing shows which outcome the probability is of"
UNTIDY = "the probability does not rise or fall with the predicted outcome, so it is not the probability of one of the outcomes"
SEVERAL_CLASSES = (
    "the probability is one number, and there are more than two classes: it may be that of whatever was predicted;"
    " log a list with a number for each class"
)
TOO_FEW = (
    "a single number is recognised by at least 10 predictions with a probability, at least 3 of them favourable and 3 unfavourable;"
    " there are fewer"
)
NO_DISTRIBUTION = "the numbers of a list do not always add up to 1, so they are not the probabilities of the classes"
CONFIDENCE = "the probability is never below one half, so it may be that of whatever was predicted"
NO_PLACE = "the largest probability does not stand in the same place for every prediction of a class"

TWO = 2
HALF = 0.5
FEWEST, FEWEST_OF_SIDE = 10, 3
"""Predictions from which a number is recognised: fewer rise with it by chance too often."""

OFF_ONE = 1e-3
"""How far from 1 the numbers of a list may add up to, for their rounding."""
_DECODER = msgspec.json.Decoder(list[float | list[float | None] | None])
_ONE_DECODER = msgspec.json.Decoder(float | list[float | None])


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The probability of the favourable outcome per record [records], NaN where a record has none, and how it was read; or why not."""

    values: FloatArray | None
    reason: str = ""
    reading: Reading | None = None


def favourable_scores(probabilities: pa.ChunkedArray, predicted: pa.ChunkedArray, outcomes: IntArray, rule: OutcomeRule) -> Scores:
    """The scores of records: what was answered, and the predictions, as JSON texts, and the predictions' outcomes."""
    if any(isinstance(value, Range) for value in rule.favourable):
        return Scores(None, REAL_NUMBERS)
    known = np.asarray(probabilities.is_valid().to_numpy(), dtype=np.bool_)
    if not known.any():
        return Scores(None, NO_PROBABILITIES)
    table = _numbers(probabilities.drop_null())
    if table is None:
        return Scores(None, MIXED)
    found = _reading(table, predicted.filter(pa.array(known)), outcomes[known], rule)
    if isinstance(found, str):
        return Scores(None, found)
    values = np.full(len(known), np.nan)
    values[known] = _read(table, found)
    return Scores(values, reading=found)


def scores_by(reading: Reading, probabilities: pa.ChunkedArray) -> FloatArray:
    """The scores of records [records] by a way of reading that is known, from JSON texts; NaN where a record has none of that form.

    Another form, such as that of another model revision, hides no score but its own.
    """
    known = np.asarray(probabilities.is_valid().to_numpy(), dtype=np.bool_)
    values = np.full(len(known), np.nan)
    if known.any():
        texts = probabilities.drop_null()
        table = _numbers(texts)
        values[known] = [_read_one(text, reading) for text in texts.to_pylist()] if table is None else _read_all(table, reading)
    return values


def _read_all(table: FloatArray, reading: Reading) -> FloatArray:
    """The scores [records] of answers that are all of one form; NaN if it is not the one that is read."""
    if table.ndim == 1:
        is_read = reading.form == "number"
    else:
        classes = len(reading.classes) or table.shape[1]
        is_read = reading.form == "list" and table.shape[1] == classes and max(reading.favourable, default=0) < classes
    return _read(table, reading) if is_read else np.full(len(table), np.nan)


def _read_one(text: str, reading: Reading) -> float:
    """The score of one answer beside answers of other forms."""
    answer = _ONE_DECODER.decode(text)
    table = np.asarray([answer], dtype=np.float64)
    return float(_read_all(table, reading)[0])


def _read(table: FloatArray, reading: Reading) -> FloatArray:
    if table.ndim == 1:
        return table if reading.rises else 1 - table
    # One by one, as for a single record: a threshold is somebody's score, to the last digit.
    total = reduce(add, (table[:, place] for place in reading.favourable), np.zeros(len(table)))
    # A sum of parts of one can come out a trifle above it.
    scores: FloatArray = np.minimum(total, 1.0)
    return scores


def _reading(table: FloatArray, predicted: pa.ChunkedArray, outcomes: IntArray, rule: OutcomeRule) -> Reading | str:
    """How the numbers speak of the favourable outcome; or why nobody can tell."""
    if not ((table >= 0) & (table <= 1)).all():
        return OUTSIDE
    classes = {canonical(value) for value in (*rule.favourable, *rule.unfavourable) if not isinstance(value, Range)}
    are_two = len(classes.union(canonical_texts(predicted.drop_null()).unique().to_pylist())) <= TWO
    if table.ndim == 1 and not are_two:
        return SEVERAL_CLASSES
    if table.ndim == TWO and (np.abs(table.sum(axis=1) - 1) > OFF_ONE).any():
        return NO_DISTRIBUTION
    if not {Outcome.FAVOURABLE, Outcome.UNFAVOURABLE} <= set(outcomes.tolist()):
        return ONE_OUTCOME
    return _of_number(table, outcomes) if table.ndim == 1 else _of_list(table, predicted, outcomes, rule, are_two=are_two)


def _numbers(texts: pa.ChunkedArray) -> FloatArray | None:
    """The answers [records] or [records, classes]; None where they are not all of one form."""
    try:
        return np.asarray(texts.cast(pa.float64()).to_numpy(), dtype=np.float64)
    except pa.ArrowInvalid:
        decoded = _DECODER.decode(f"[{','.join(texts.to_pylist())}]")
    try:
        table = np.asarray(decoded, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return table if table.ndim in {1, TWO} else None


def _of_number(numbers: FloatArray, outcomes: IntArray) -> Reading | str:
    """A single number: the probability of the outcome whose predictions have the higher ones."""
    if _are_few(outcomes):
        return TOO_FEW
    rises = _rises(numbers, outcomes)
    if rises is None:
        return UNTIDY
    if numbers[outcomes != Outcome.UNCLASSIFIED].min() >= HALF:
        return CONFIDENCE
    return Reading("number", rises=rises)


def _of_list(table: FloatArray, predicted: pa.ChunkedArray, outcomes: IntArray, rule: OutcomeRule, *, are_two: bool) -> Reading | str:
    """A number for each class: the sum over the places of the favourable classes."""
    classes, place_of = _classes(table, predicted)
    places = None if place_of is None else _favourable_places(table, classes, place_of, rule)
    if places is not None:
        return Reading("list", favourable=tuple(places), classes=_by_place(table, classes, place_of or (), rule))
    # With a cut-off other than one half the larger of two numbers is not always that of the predicted class, yet it rises with it.
    is_clear = are_two and table.shape[1] == TWO and not _are_few(outcomes)
    rises = _rises(table[:, 1], outcomes) if is_clear else None
    return NO_PLACE if rises is None else Reading("list", favourable=(1 if rises else 0,))


def _by_place(table: FloatArray, classes: Sequence[Scalar], place_of: Sequence[int | None], rule: OutcomeRule) -> tuple[str | None, ...]:
    """The canonical text of the class at each place, of more than two classes; of two, a cut-off says more.

    None also of a text that the outcomes take for no class but would take for one as a number, for what is kept has no types.
    """
    if table.shape[1] <= TWO:
        return ()
    found: list[str | None] = [None] * table.shape[1]
    for one, place in zip(classes, place_of, strict=True):
        if place is not None and rule.classify(one) is rule.classify_text(canonical(one)):
            found[place] = canonical(one)
    return tuple(found)


def _are_few(outcomes: IntArray) -> bool:
    """Whether there are too few predictions to recognise a number by."""
    sides = [int((outcomes == outcome).sum()) for outcome in (Outcome.FAVOURABLE, Outcome.UNFAVOURABLE)]
    return sum(sides) < FEWEST or min(sides) < FEWEST_OF_SIDE


def _rises(numbers: FloatArray, outcomes: IntArray) -> bool | None:
    """Whether every favourable prediction has a number at least as high as every unfavourable one, or False for the reverse."""
    favourable, unfavourable = numbers[outcomes == Outcome.FAVOURABLE], numbers[outcomes == Outcome.UNFAVOURABLE]
    rises, falls = favourable.min() >= unfavourable.max(), favourable.max() <= unfavourable.min()
    return None if rises == falls else bool(rises)


def _classes(table: FloatArray, predicted: pa.ChunkedArray) -> tuple[list[Scalar], Sequence[int | None] | None]:
    """The predicted classes and the place of each; None for all places where the predictions do not show them."""
    encoded = predicted.combine_chunks().dictionary_encode()
    classes = [value_of(text) for text in encoded.dictionary.to_pylist()]
    return classes, _places(table, encoded.indices.to_numpy(zero_copy_only=False), len(classes))


def _favourable_places(table: FloatArray, classes: Sequence[Scalar], place_of: Sequence[int | None], rule: OutcomeRule) -> list[int] | None:
    """The places of the favourable classes; None where the predictions do not show them all."""
    of_side: dict[Outcome, list[int]] = {outcome: [] for outcome in Outcome}
    for one, place in zip(classes, place_of, strict=True):
        if place is not None:
            of_side[rule.classify(one)].append(place)
    favourable, unfavourable = of_side[Outcome.FAVOURABLE], of_side[Outcome.UNFAVOURABLE]
    if len(favourable) == len(rule.favourable):
        return favourable
    # A class that nobody was predicted shows no place; but if all classes are listed, what the other side leaves is this side's.
    if len(unfavourable) == len(rule.unfavourable) and table.shape[1] == len(rule.favourable) + len(rule.unfavourable):
        return [place for place in range(table.shape[1]) if place not in unfavourable]
    return None


def _places(table: FloatArray, codes: IntArray, classes: int) -> Sequence[int | None] | None:
    """Where each class's predictions have their largest number, None for a class only seen in ties; None where that is not clear."""
    largest = table.max(axis=1) if table.shape[1] else np.zeros(len(table))
    is_clear = (table == largest[:, None]).sum(axis=1) == 1
    seen = np.zeros((classes, table.shape[1]), dtype=np.bool_)
    seen[codes[is_clear], table[is_clear].argmax(axis=1) if is_clear.any() else []] = True
    if (seen.sum(axis=1) > 1).any() or (seen.sum(axis=0) > 1).any():
        return None
    return [int(row.argmax()) if row.any() else None for row in seen]
