"""Categories of the people in a frame: how many of each a tool assessed and selected."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..domain.comparisons import Comparison
from ..domain.texts import TOGETHER
from ..errors import InvalidInput
from ..frozen import frozen
from ..impact.categories import Category, CategoryTable
from ..metrics.groups import NEITHER, ComparedGroup, IntArray
from ..metrics.left_out import CountedRecords, Marks, count_records
from .columns import MISSING, Encoded, column_of, encode, numbers_of
from .grouping import attribute_names
from .outcomes import FAVOURABLE, UNCLASSIFIED, UNFAVOURABLE, OutcomeLists, outcomes_of

MOST_CATEGORIES = 500
"""Max values of one attribute."""


@frozen
class Selection:
    """Counted people: tables of each attribute and, of several, of all together, and the records of each.

    `answers` are those of each record. `assessed` people have a prediction or a score. `unknown` ones lack a value of an attribute.
    """

    tables: tuple[CategoryTable, ...]
    records: tuple[CountedRecords, ...]
    answers: "PersonAnswers"
    assessed: int
    unknown: int


def count_selected(
    frame: pd.DataFrame, *, attributes: Sequence[str], prediction: str, favourable: object = 1, unfavourable: object = None
) -> Selection:
    """Counts the people that a selecting tool selected: those with a favourable prediction.

    `favourable` and `unfavourable` are as for `measure_frame`. An empty value of an attribute is an unknown category.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    outcomes = outcomes_of(column_of(frame, prediction, "prediction"), OutcomeLists.of(favourable, unfavourable), "prediction")
    answers = PersonAnswers(outcomes.codes != UNCLASSIFIED, outcomes.codes == FAVOURABLE, "predictions", outcomes.is_missing)
    if not answers.are_assessed.any():
        raise InvalidInput.of("prediction", f"{prediction!r} has no value that is favourable or unfavourable")
    return _count(frame, attributes, answers)


def count_scored(frame: pd.DataFrame, *, attributes: Sequence[str], score: str) -> Selection:
    """Counts who has a score above the median of all, unknown categories included. A tie is not above.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    scores = numbers_of(column_of(frame, score, "score"), "score")
    are_assessed = ~np.isnan(scores)
    if not are_assessed.any():
        raise InvalidInput.of("score", f"{score!r} has no number")
    median = float(np.median(scores[are_assessed]))
    return _count(frame, attributes, PersonAnswers(are_assessed, scores > median, "scores", ~are_assessed, median))


@frozen(eq=False)
class PersonAnswers:
    """Per record, whether the tool assessed the person, and selected it; `kind` are the answers of `count_records`.

    `median` is of all assessed scores.
    """

    are_assessed: Marks
    are_selected: Marks
    kind: str
    are_missing: Marks
    median: float | None = None


def _count(frame: pd.DataFrame, attributes: Sequence[str], answers: PersonAnswers) -> Selection:
    columns = [encode_known(frame, name) for name in (attribute_names(attributes) if attributes else ())]
    together = [tuple(columns)] if len(columns) > 1 else []
    several = [*((one,) for one in columns), *together]
    counted = [_tabulate(one, answers) for one in several]
    tables, records = [table for table, _ in counted], [one for _, one in counted]
    if not columns:
        records = [_count_people("", (), np.full(len(frame), NEITHER), answers, None)]
    unknown = tables[-1].unknown if tables else 0
    return Selection(tuple(tables), tuple(records), answers, int(answers.are_assessed.sum()), unknown)


def encode_known(frame: pd.DataFrame, name: str) -> Encoded:
    """Attribute by its values; an empty text is an unknown value."""
    column = column_of(frame, name, "attribute")
    encoded = encode(column.mask(column.map(lambda value: isinstance(value, str) and not value.strip()).astype(bool)), "attribute")
    if len(encoded.texts) > MOST_CATEGORIES:
        raise InvalidInput.of(
            "attribute", f"{name!r} holds {len(encoded.texts):,} different values where at most {MOST_CATEGORIES} categories are expected"
        )
    return encoded


def _tabulate(columns: Sequence[Encoded], answers: PersonAnswers) -> tuple[CategoryTable, CountedRecords]:
    comparison = Comparison(tuple(one.name for one in columns))
    shape = [len(one.texts) for one in columns]
    known = np.logical_and.reduce([one.codes != MISSING for one in columns])
    cell = np.ravel_multi_index([one.codes[known].astype(np.int64) for one in columns], shape) if known.any() else np.zeros(0, np.int64)
    cells, place = np.unique(cell, return_inverse=True)
    places = zip(*(axis.tolist() for axis in np.unravel_index(cells, shape)), strict=True)
    names = [tuple(one.texts[code] for one, code in zip(columns, codes, strict=True)) for codes in places]
    order = sorted(range(len(names)), key=names.__getitem__)
    codes = np.full(known.size, NEITHER)
    codes[known] = np.argsort(order)[place]
    groups = [ComparedGroup(TOGETHER.join(names[no]), "monitored") for no in order]
    records = _count_people(comparison.label, groups, codes, answers, ~known)
    categories = [
        Category(names[no], people, selected)
        for no, people, selected in zip(order, records.counts.sum(axis=1).tolist(), records.counts[:, FAVOURABLE].tolist(), strict=False)
        if people
    ]
    return CategoryTable(comparison, tuple(categories), int((answers.are_assessed & ~known).sum())), records


def _count_people(
    attribute: str, groups: Sequence[ComparedGroup], codes: IntArray, answers: PersonAnswers, lacks_value: Marks | None
) -> CountedRecords:
    outcomes = np.select([~answers.are_assessed, answers.are_selected], [UNCLASSIFIED, FAVOURABLE], UNFAVOURABLE)
    return count_records(
        attribute, groups, codes, outcomes, answers=answers.kind, lacks_answer=answers.are_missing, lacks_value=lacks_value
    )
