"""A group's or outcome's value in JSON."""

import math
from typing import Annotated, Any

import msgspec
from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from ..base.values import GroupValue, Range, Scalar, is_number

_RANGE_ENDS = 2


def read_group_value(sent: Any) -> GroupValue:  # noqa: ANN401 - it is this function that finds out what was sent
    """A JSON scalar or range; pydantic would name the branches of a union in a problem's place.

    A number that is not finite passes: the rules of columns and monitors refuse it at its place. Raises
    ValueError.
    """
    if isinstance(sent, list):
        # bool is a subclass of int: `[true, 5]` is no range.
        if len(sent) != _RANGE_ENDS or not all(map(is_number, sent)):
            raise ValueError("a range must be two numbers: [lo, hi]")
        try:
            return Range(*map(float, sent))
        except OverflowError as error:  # JSON may hold whole numbers of any length
            raise ValueError("the ends of a range must be finite numbers") from error
    if isinstance(sent, str | int | float | Range):
        return sent
    raise ValueError("must be text, a number, true or false, or a range [lo, hi]")


def read_scalar(sent: Any) -> Scalar:  # noqa: ANN401 - as above
    """Raises ValueError."""
    if isinstance(sent, str | int) or (isinstance(sent, float) and math.isfinite(sent)):
        return sent
    raise ValueError("must be text, a number, true or false")


_SCALAR_SCHEMAS = [
    {"type": "string", "minLength": 1, "maxLength": 200},
    {"type": "integer"},
    {"type": "number"},
    {"type": "boolean"},
]

ScalarJson = Annotated[Scalar, PlainValidator(read_scalar), WithJsonSchema({"anyOf": _SCALAR_SCHEMAS})]

RANGE_SCHEMA: dict[str, Any] = {
    "type": "array",
    "items": {"type": "number"},
    "minItems": 2,
    "maxItems": 2,
    "description": "A closed range [lo, hi].",
}

GroupValueJson = Annotated[
    GroupValue,
    PlainValidator(read_group_value),
    PlainSerializer(msgspec.to_builtins),
    WithJsonSchema({"anyOf": [*_SCALAR_SCHEMAS, RANGE_SCHEMA]}),
]
