"""The form of an id and of a moment."""

import re
from datetime import date
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import AwareDatetime, BeforeValidator, Field

ID_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,63}$"
"""Pattern of a deployment's id."""

UUID_PATTERN = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"

FilterText = Annotated[str | None, Query(max_length=1000, pattern=r"^[^\x00]*$")]

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def _require(form: re.Pattern[str], what: str) -> BeforeValidator:
    """Pydantic would also take numbers, as seconds since 1970."""

    def check(sent: object) -> object:
        if not isinstance(sent, str) or not form.fullmatch(sent):
            raise ValueError(f"must be {what}")
        return sent

    return BeforeValidator(check)


_MOMENT = "a timestamp with its time zone, such as 2026-03-01T09:00:00Z"
Timestamp = Annotated[AwareDatetime, Field(strict=False, examples=["2026-03-01T09:00:00Z"]), _require(_TIMESTAMP, _MOMENT)]
Day = Annotated[date, Field(strict=False, examples=["2026-03-01"]), _require(_DAY, "a day, such as 2026-03-01")]


def uuid_path(description: str, example: str) -> Any:  # noqa: ANN401 - as `Path` itself
    """Part of an address that is a UUID."""
    return Path(description=description, pattern=UUID_PATTERN, examples=[example])
