"""A group's or outcome's value in JSON: a scalar, or a closed range `[lo, hi]`."""

from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from app.domain.values import GroupValue, Range

_RANGE_ENDS = 2


def group_value(sent: Any) -> GroupValue:  # noqa: ANN401 - it is this function that finds out what was sent
    """The value that JSON stands for.

    A validator of our own, not a union: pydantic would name the branches of a union in the place of a problem.

    Raises:
        ValueError: it is neither a scalar nor two numbers in a list.
    """
    if isinstance(sent, list):
        return _range(sent)
    if isinstance(sent, str | int | float | Range):
        return sent
    raise ValueError("must be text, a number, true or false, or a range [lo, hi]")


def group_value_json(value: GroupValue) -> object:
    """The form in which `group_value` reads it."""
    return [value.lo, value.hi] if isinstance(value, Range) else value


def _range(sent: list[Any]) -> Range:
    if len(sent) != _RANGE_ENDS or any(isinstance(end, bool) or not isinstance(end, int | float) for end in sent):
        raise ValueError("a range must be two numbers: [lo, hi]")
    try:
        return Range(float(sent[0]), float(sent[1]))
    except OverflowError as error:
        raise ValueError("the ends of a range must be finite numbers") from error


GroupValueJson = Annotated[
    str | int | float | bool | Range,
    PlainValidator(group_value),
    PlainSerializer(group_value_json),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1, "maxLength": 200},
                {"type": "integer"},
                {"type": "number"},
                {"type": "boolean"},
                {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2, "description": "A closed range [lo, hi]."},
            ]
        }
    ),
]
