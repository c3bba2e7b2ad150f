"""What all bodies share: unknown members are refused, types are taken literally, numbers are finite."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

NOT_BLANK = r"\S"
"""Shown in the documentation; refused by the rules of the domain, whose words are better."""


class In(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True, strict=True)


def _without_defaults(schema: dict[str, Any]) -> None:
    for member in schema.get("properties", {}).values():
        member.pop("default", None)


class Patch(In):
    """The body of a JSON merge patch (RFC 7396): a member that was not sent is no change, so its default means nothing."""

    model_config = ConfigDict(json_schema_extra=_without_defaults)

    def merged_into(self, document: dict[str, Any]) -> dict[str, Any]:
        """`document` with what was sent merged in; null forgets a member."""
        return _merged(document, self.model_dump(mode="json", exclude_unset=True))


def _merged(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    result = {name: value for name, value in document.items() if patch.get(name, value) is not None}
    for name, value in patch.items():
        if isinstance(value, dict):
            below = document.get(name)
            result[name] = _merged(below if isinstance(below, dict) else {}, value)
        elif value is not None:
            result[name] = value
    return result


class Out(BaseModel):
    """The body of an answer."""

    model_config = ConfigDict(frozen=True)


class ProblemField(Out):
    """One offending field of a request."""

    field: str = Field(examples=["attributes[0].monitored[1]"])
    message: str = Field(examples=["'women' is in the reference group, too"])


class Problem(Out):
    """An RFC 9457 problem document."""

    type: str = Field(description="A URI that programs may tell kinds of problems apart by.", examples=["urn:evenhand:problem:not-found"])
    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["There is no deployment credit-risk."])
    errors: list[ProblemField] | None = Field(default=None, description="Present where fields of the request are at fault.")
    request_id: str | None = Field(default=None, examples=["0f8c1d9e5b7a4c3e9d2f6a1b8c4e7d05"])


def example(content: dict[str, Any]) -> ConfigDict:
    """The model configuration that shows `content` in the API's documentation."""
    return ConfigDict(json_schema_extra={"examples": [content]})
