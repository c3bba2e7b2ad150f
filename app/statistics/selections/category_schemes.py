"""Schemes of categories that rules name, and mappings to them; as read in November 2026, not legal advice."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any

from ...base.errors import FieldProblem, InvalidInput, refuse
from ...base.values import frozen_by_name

SCHEMES = MappingProxyType(
    {
        "sex": ("Female", "Male"),
        "eeo-1": (
            "Hispanic or Latino",
            "White",
            "Black or African American",
            "Native Hawaiian or Pacific Islander",
            "Asian",
            "Native American or Alaska Native",
            "Two or more races",
        ),
        "bisg": (
            "Hispanic",
            "White",
            "Black",
            "Asian or Pacific Islander",
            "American Indian or Alaska Native",
            "Multiracial",
        ),
    }
)
"""Those of EEO-1 reports and of Local Law 144, and those that surname and place give probabilities of
(BISG).
"""

MAX_MAPPINGS = 20

MAX_VALUES = 500

MAX_MAPPING_LENGTH = 6_000
"""Max characters of mappings in an address; bodies and files take longer ones."""

EXAMPLE_MAPPING = '{"sex": {"scheme": "sex", "values": {"f": "Female", "m": "Male"}}}'


@frozen_by_name
class CategoryMapping:
    """Categories of one attribute, by its values or by weights.

    A value that is not in `values` is unknown. `weights` names a category for each column that holds the
    probability that a person is of it; `attribute` is then the title of the table only, and others are
    compared with `reference`. `scheme` None: any names.
    """

    attribute: str
    scheme: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, str] = field(default_factory=dict)
    reference: str | None = None


def require_mappings(mappings: Sequence[CategoryMapping]) -> None:
    refuse(list(_find_problems(mappings)))


def _find_problems(mappings: Sequence[CategoryMapping]) -> Iterator[FieldProblem]:
    if len(mappings) > MAX_MAPPINGS:
        yield FieldProblem("categories", f"must map at most {MAX_MAPPINGS} attributes, found {len(mappings)}")
    names = [mapping.attribute for mapping in mappings]
    for mapping in mappings:
        field = f"categories.{mapping.attribute}"
        weighed = mapping.weights.values()
        if names.count(mapping.attribute) > 1:
            yield FieldProblem(field, "is mapped twice")
        if bool(mapping.values) == bool(mapping.weights):
            yield FieldProblem(
                field, "must have `values`, a category for each value, or `weights`, one for each column"
            )
        if max(len(mapping.values), len(mapping.weights)) > MAX_VALUES:
            yield FieldProblem(field, f"must have at most {MAX_VALUES} values or columns")
        if mapping.scheme is not None and mapping.scheme not in SCHEMES:
            yield FieldProblem(
                f"{field}.scheme", f"must be one of {', '.join(SCHEMES)}, found {mapping.scheme!r:.100}"
            )
            continue
        categories = [*mapping.values.values(), *weighed]
        allowed = categories if mapping.scheme is None else SCHEMES[mapping.scheme]
        for category in dict.fromkeys(categories):
            if category not in allowed:
                yield FieldProblem(
                    field,
                    f"{category!r:.100} is not a category of {mapping.scheme}, which has "
                    f"{', '.join(allowed)}",
                )
        if any(not category.strip() for category in categories):
            yield FieldProblem(
                field, "has a category without a name; leave out values whose category is unknown"
            )
        if len(set(weighed)) < len(mapping.weights):
            yield FieldProblem(field, "has two columns of weights for one category")
        if mapping.reference is not None and mapping.reference not in weighed:
            named = ", ".join(weighed) or "none"
            yield FieldProblem(
                f"{field}.reference",
                f"must be a category that has weights ({named}), found {mapping.reference!r:.100}",
            )


def parse_mappings(text: str) -> tuple[CategoryMapping, ...]:
    """Mappings of a JSON object by attribute: `{"race": {"scheme": "eeo-1", "values": {"W":
    "White"}}}`.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InvalidInput("categories", f"must be JSON: {error}") from error
    if not isinstance(document, dict):
        raise InvalidInput(
            "categories", 'must be an object such as {"race": {"scheme": "eeo-1", "values": {"W": "White"}}}'
        )
    mappings = tuple(_read_mapping(name, stored) for name, stored in document.items())
    require_mappings(mappings)
    return mappings


def _read_mapping(name: str, stored: Any) -> CategoryMapping:  # noqa: ANN401 - any JSON
    members = {"scheme", "values", "weights", "reference"}
    if not isinstance(stored, dict) or not set(stored) <= members:
        raise InvalidInput(
            f"categories.{name}", f"must be an object with the members {', '.join(sorted(members))}"
        )
    for member in ("values", "weights"):
        texts = stored.get(member, {})
        if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
            raise InvalidInput(
                f"categories.{name}.{member}",
                "must be an object of texts: the name of the category by value or column",
            )
    for member in ("scheme", "reference"):
        if not isinstance(stored.get(member), str | None):
            raise InvalidInput(f"categories.{name}.{member}", f"must be text, found {stored[member]!r:.100}")
    return CategoryMapping(attribute=name, **stored)
