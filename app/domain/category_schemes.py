"""Schemes of categories that rules name, and mappings to them; as read in November 2026, not legal advice."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any

from ..errors import FieldProblem, InvalidInput, refuse
from ..frozen import frozen

SCHEMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
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
        "bisg": ("Hispanic", "White", "Black", "Asian or Pacific Islander", "American Indian or Alaska Native", "Multiracial"),
    }
)
"""Those of EEO-1 reports and of Local Law 144, and those that surname and place give probabilities of (BISG)."""

MAX_MAPPINGS = 20

MAX_VALUES = 500

MAX_MAPPING_LENGTH = 6_000
"""Max characters of mappings in an address; bodies and files take longer ones."""

EXAMPLE_MAPPING = '{"sex": {"scheme": "sex", "values": {"f": "Female", "m": "Male"}}}'


@frozen(kw_only=True)
class CategoryMapping:
    """Categories of one attribute, by its values or by weights.

    A value that is not in `values` is unknown. `weights` names a category for each column that holds the probability that a person is of
    it; `attribute` is then the title of the table only, and others are compared with `reference`. `scheme` None: any names.
    """

    attribute: str
    scheme: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, str] = field(default_factory=dict)
    reference: str | None = None


def mapping_problems(mappings: Sequence[CategoryMapping]) -> list[FieldProblem]:
    found = []
    if len(mappings) > MAX_MAPPINGS:
        found.append(FieldProblem("categories", f"must map at most {MAX_MAPPINGS} attributes, found {len(mappings)}"))
    names = [one.attribute for one in mappings]
    for one in mappings:
        place = f"categories.{one.attribute}"
        if names.count(one.attribute) > 1:
            found.append(FieldProblem(place, "is mapped twice"))
        if bool(one.values) == bool(one.weights):
            found.append(FieldProblem(place, "must have `values`, a category for each value, or `weights`, one for each column"))
        if max(len(one.values), len(one.weights)) > MAX_VALUES:
            found.append(FieldProblem(place, f"must have at most {MAX_VALUES} values or columns"))
        if one.scheme is not None and one.scheme not in SCHEMES:
            found.append(FieldProblem(f"{place}.scheme", f"must be one of {', '.join(SCHEMES)}, found {one.scheme!r:.100}"))
            continue
        known = None if one.scheme is None else SCHEMES[one.scheme]
        categories = [*one.values.values(), *one.weights.values()]
        found += [
            FieldProblem(place, f"{category!r:.100} is not a category of {one.scheme}, which has {', '.join(known or ())}")
            for category in dict.fromkeys(categories)
            if known is not None and category not in known
        ]
        if any(not category.strip() for category in categories):
            found.append(FieldProblem(place, "has a category without a name; leave out values whose category is unknown"))
        if len(set(one.weights.values())) < len(one.weights):
            found.append(FieldProblem(place, "has two columns of weights for one category"))
        if one.reference is not None and one.reference not in one.weights.values():
            named = ", ".join(one.weights.values()) or "none"
            found.append(FieldProblem(f"{place}.reference", f"must be a category that has weights ({named}), found {one.reference!r:.100}"))
    return found


def require_mappings(mappings: Sequence[CategoryMapping]) -> None:
    problems = mapping_problems(mappings)
    refuse(problems)


def parse_mappings(text: str) -> tuple[CategoryMapping, ...]:
    """Returns the mappings of a JSON object by attribute: `{"race": {"scheme": "eeo-1", "values": {"W": "White"}}}`."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidInput.of("categories", f"must be JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInput.of("categories", 'must be an object such as {"race": {"scheme": "eeo-1", "values": {"W": "White"}}}')
    mappings = tuple(_read_mapping(name, one) for name, one in found.items())
    require_mappings(mappings)
    return mappings


def _read_mapping(name: str, found: Any) -> CategoryMapping:  # noqa: ANN401 - any JSON
    members = {"scheme", "values", "weights", "reference"}
    if not isinstance(found, dict) or not set(found) <= members:
        raise InvalidInput.of(f"categories.{name}", f"must be an object with the members {', '.join(sorted(members))}")
    for member in ("values", "weights"):
        texts = found.get(member, {})
        if not isinstance(texts, dict) or not all(isinstance(one, str) for one in texts.values()):
            raise InvalidInput.of(f"categories.{name}.{member}", "must be an object of texts: the name of the category by value or column")
    for member in ("scheme", "reference"):
        if not isinstance(found.get(member), str | None):
            raise InvalidInput.of(f"categories.{name}.{member}", f"must be text, found {found[member]!r:.100}")
    return CategoryMapping(attribute=name, **found)
