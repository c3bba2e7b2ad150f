"""Pseudonyms of values as bodies."""

from pydantic import Field

from ...web.body import In, Out, ScalarJson, example

MAX_VALUES = 1000


class PseudonymsIn(In):
    """Values of one column, in the type in which they are sent."""

    model_config = example({"column": "Postcode", "values": ["10115", "20095"]})

    column: str = Field(max_length=200, json_schema_extra={"minLength": 1})
    values: list[ScalarJson] = Field(min_length=1, max_length=MAX_VALUES)


class PseudonymsOut(Out):
    """The pseudonyms, in the order of the values."""

    model_config = example(
        {"column": "Postcode", "pseudonyms": ["p_3q2-7wAAECAwQFBgcICQoL", "p_AAECAwQFBgcICQoLDA0ODw"]}
    )

    column: str
    pseudonyms: list[str]
