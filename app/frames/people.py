"""People of a frame by category, with controls and scores."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ..domain.outcomes import Outcome
from ..errors import InvalidInput
from ..impact.categories import CategoryTable, highest_rate
from ..impact.four_fifths import compare_categories
from ..impact.people import AttributeCategories, Control, CountedPeople, divide_numbers, has_many_numbers
from .categories import PersonAnswers, encode_known
from .columns import MISSING, column_of, encode, is_numeric, numbers_of

NO_SCORES = "no column of scores was named"


def choose_references(tables: Sequence[CategoryTable], chosen: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Reference categories of each attribute: chosen ones, or else the one that four-fifths ratios are taken to.

    Raises:
        InvalidInput: a chosen one does not occur.
    """
    found = {}
    for table in tables:
        if table.comparison.is_together:
            continue
        (name,) = table.comparison.features
        labels = [one.label for one in table.categories]
        for label in chosen.get(name, ()):
            if label not in labels:
                raise InvalidInput.of("reference", f"{label!r} is not a category of {name!r}, which has {', '.join(labels)}")
        best = compare_categories(table).compared_with or highest_rate(table.categories)
        found[name] = tuple(chosen.get(name, ())) or (() if best is None else (best.label,))
    return found


def people_of_frame(
    frame: pd.DataFrame,
    references: Mapping[str, Sequence[str]],
    controls: Sequence[str],
    *,
    answers: PersonAnswers,
    score: str | None,
) -> CountedPeople:
    """One row for each record, with the attributes of `references`.

    Raises:
        InvalidInput: a column is missing or cannot be used.
    """
    attributes = []
    for name, reference in references.items():
        encoded = encode_known(frame, name)
        order = sorted(range(len(encoded.texts)), key=encoded.texts.__getitem__)
        labels = tuple(encoded.texts[place] for place in order)
        places = np.array([*np.argsort(order).tolist(), MISSING], dtype=np.int64)
        roles = tuple("reference" if label in reference else None for label in labels)
        # MISSING is -1, and so the place at the end.
        attributes.append(AttributeCategories(name, labels, roles, places[encoded.codes], labels))
    outcomes = np.where(answers.are_selected, int(Outcome.FAVOURABLE), int(Outcome.UNFAVOURABLE))
    outcomes[~answers.are_assessed] = int(Outcome.UNCLASSIFIED)
    scores = None if score is None else numbers_of(column_of(frame, score, "score"), "score")
    return CountedPeople(
        np.ones(len(frame), dtype=np.int64),
        outcomes,
        tuple(attributes),
        tuple(_read_control(frame, name) for name in controls),
        scores,
        "" if score is not None else NO_SCORES,
    )


def _read_control(frame: pd.DataFrame, name: str) -> Control:
    column = column_of(frame, name, "control")
    numbers = numbers_of(column, "control") if is_numeric(column) else None
    if numbers is not None and has_many_numbers(numbers):
        return divide_numbers(name, numbers, np.ones(len(frame), dtype=np.int64))
    encoded = encode(column, "control")
    return Control(name, encoded.texts, encoded.codes.astype(np.int64))
