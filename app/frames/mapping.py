"""Categories of a frame by a mapping: values renamed to those of a scheme, and columns of weights."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..domain.category_schemes import CategoryMapping
from ..domain.values import canonical
from ..errors import InvalidInput
from ..impact.weighted import WeightedPeople, WeightedTable, weigh_categories
from .categories import PersonAnswers
from .columns import column_of, numbers_of


def map_values(frame: pd.DataFrame, attributes: Sequence[str], mappings: Sequence[CategoryMapping]) -> pd.DataFrame:
    """Returns the frame with the values of mapped attributes replaced by their categories; others of these columns are missing.

    Raises:
        InvalidInput: a mapping is of no attribute, or none of its values is in the column.
    """
    for one in mappings:
        named = one.values  # noqa: PD011 - a mapping's own member
        if not named:
            continue
        if one.attribute not in attributes:
            raise InvalidInput.of("categories", f"{one.attribute!r} is not one of the attributes, which are {', '.join(attributes)}")
        categories = {canonical(value).strip(): category for value, category in named.items()}
        column = column_of(frame, one.attribute, "attribute")
        mapped = column.map(lambda value, known=categories: known.get(canonical(value).strip()), na_action="ignore")
        if mapped.notna().sum() == 0:
            raise InvalidInput.of("categories", f"none of the values that are mapped occurs in {one.attribute!r}")
        frame = frame.assign(**{one.attribute: mapped.astype(object)})
    return frame


def weigh_frame(frame: pd.DataFrame, mappings: Sequence[CategoryMapping], answers: PersonAnswers) -> tuple[WeightedTable, ...]:
    """Returns a table of each mapping with weights, over the people with an answer.

    Raises:
        InvalidInput: a column of weights is missing, or holds no probabilities.
    """
    tables = []
    for one in mappings:
        if not one.weights:
            continue
        weights = np.array([numbers_of(column_of(frame, name, "categories"), "categories") for name in one.weights])
        assessed = answers.are_assessed
        records = np.ones(int(assessed.sum()), dtype=np.int64)
        people = WeightedPeople(tuple(one.weights.values()), weights[:, assessed], records, answers.are_selected[assessed])
        try:
            tables.append(weigh_categories(one.attribute, people))
        except ValueError as error:
            raise InvalidInput.of("categories", f"{one.attribute}: {error}") from error
    return tuple(tables)
