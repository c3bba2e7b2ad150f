"""Code that logs records, as a body."""

from typing import Any, Literal

from pydantic import Field

from ...payloads.registry import PayloadFormat
from ...web.body import Out, example
from .logging_code import CLIENT, RECORDS

_CODE = "curl --silent --fail-with-body http://127.0.0.1:8000/v1/deployments/credit-risk/payload-records …"


class SnippetOut(Out):
    """One piece of code that can be run as it is."""

    logs: Literal["payload", "feedback"]
    form: str = Field(json_schema_extra={"enum": [CLIENT, RECORDS, *PayloadFormat]})
    """The form of the body. `client`: the Python client logs. Where the code asks the model, the form of
    that request."""

    language: Literal["sh", "python"]
    """`sh` needs curl, `python` needs httpx or `evenhand-client`."""

    code: str
    asks_model: bool
    """The code asks the model first, and logs its answer."""


class SnippetsOut(Out):
    """Code that logs records of one deployment, filled in with its id and its columns."""

    model_config = example(
        {
            "snippets": [
                {"logs": "payload", "form": "records", "language": "sh", "code": _CODE, "asks_model": False}
            ],
            "key_variable": "EVENHAND_KEY",
            "has_values_of_record": False,
            "example": {"records": [{"id": "example-1", "features": {"Age": 31}, "prediction": 1}]},
        }
    )

    snippets: list[SnippetOut]
    has_values_of_record: bool
    """True: the values are those of the newest record in the database. False: they are examples of the
    right types, because no record there has the present columns."""

    example: dict[str, Any]
    """The body of one such record, for a try that stores nothing."""

    key_variable: str
    """The variable of the environment from which the code takes the API key. The code holds none."""
