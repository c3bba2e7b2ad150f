"""A deployment's tables of files, as its row holds them."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ...domain.definitions import Definition
from ...domain.tables_of_files import FeedbackColumns, FeedbackTable, PayloadColumns, PayloadTable, TableFormat


def write_tables(definition: Definition) -> dict[str, Any] | None:
    """Returns the stored form; None where records are logged."""
    if definition.payload is None:
        return None
    feedback = None if definition.feedback is None else asdict(definition.feedback)
    return {"payload": asdict(definition.payload), "feedback": feedback}


def read_payload_table(stored: Mapping[str, Any] | None) -> PayloadTable | None:
    if stored is None:
        return None
    table = stored["payload"]
    return PayloadTable(**{**table, "format": TableFormat(table["format"]), "columns": PayloadColumns(**table["columns"])})


def read_feedback_table(stored: Mapping[str, Any] | None) -> FeedbackTable | None:
    if stored is None or stored["feedback"] is None:
        return None
    table = stored["feedback"]
    return FeedbackTable(**{**table, "format": TableFormat(table["format"]), "columns": FeedbackColumns(**table["columns"])})
