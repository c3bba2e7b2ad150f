"""Code that logs records, as a body."""

from typing import Literal

from pydantic import Field

from ...payloads.registry import LOGGED
from ..snippets import RECORDS
from .base import Out, example

_CODE = "curl --silent --fail-with-body http://127.0.0.1:8000/v1/deployments/credit-risk/payload-records …"


class SnippetOut(Out):
    """One piece of code that can be run as it is."""

    logs: Literal["payload", "feedback"]
    form: str = Field(description="The form of the body.", json_schema_extra={"enum": [RECORDS, *LOGGED]})
    language: Literal["sh", "python"] = Field(description="`sh` needs curl, `python` needs httpx.")
    code: str


class SnippetsOut(Out):
    """Code that logs records of one deployment, filled in with its id and its columns, and with made-up values."""

    model_config = example(
        {
            "snippets": [{"logs": "payload", "form": "records", "language": "sh", "code": _CODE}],
            "key_variable": "EVENHAND_KEY",
        }
    )

    snippets: list[SnippetOut]
    key_variable: str = Field(description="The variable of the environment from which the code takes the API key. The code holds none.")
