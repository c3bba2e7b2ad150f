"""Months that an answer is without because their records lie in files."""

from typing import Any

from pydantic import Field

from ...domain.archives import MonthsInFiles
from .base import Out, example

MONTHS_IN_FILES: dict[str, Any] = {"months": ["2026-03"], "message": MonthsInFiles("credit-risk", ["2026-03"]).message}


class MonthsInFilesOut(Out):
    """Months in UTC whose records would be among these and lie in files."""

    model_config = example(MONTHS_IN_FILES)

    months: list[str]
    message: str = Field(description="One sentence that names the months and the command that brings one back.")

    @classmethod
    def of(cls, found: MonthsInFiles | None) -> "MonthsInFilesOut | None":
        """Returns the body; None where an answer is whole."""
        return None if found is None else cls.from_object(found)
