"""Every reason in words has its kind, and only names that we know are counted as fields."""

import ast
from pathlib import Path

import pytest

from app.domain import record as cells
from app.domain.record_times import RejectionReason
from app.intake.logging import service
from app.intake.logging.encode_lines import describe_excess
from app.intake.logging.rejection_counts import classify_reason, find_field
from tests.unit.ingest.plans import plan

_RAISED = {"CellRefused": 0, "RecordRefused": 1, "_require": 1, "add": 2, "add_all": 2}
"""Calls that state a reason, and the position of the reason."""


def reasons_in_code() -> list[str]:
    """The reasons of the ingestion code as they begin, a `#` where a value is filled in."""
    found = []
    for file in (*Path(service.__file__).parent.glob("*.py"), Path(cells.__file__)):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                position = _RAISED.get(name)
                if position is not None and len(node.args) > position:
                    found.append(words_of(node.args[position]))
    return [words for words in found if words]


def words_of(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "#" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_every_reason_of_the_code_has_a_kind() -> None:
    reasons = reasons_in_code()

    assert len(reasons) > 25
    assert [reason for reason in reasons if classify_reason(reason) is RejectionReason.OTHER] == []


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("is missing; a feature without a value must be sent as null", RejectionReason.MISSING),
        ("is not a column of the schema; the schema has is missing", RejectionReason.UNKNOWN_FIELD),
        ("must be a whole number, found 'is missing'", RejectionReason.WRONG_TYPE),
        ("must be a whole number of at most 64 bits", RejectionReason.OUT_OF_RANGE),
        ("must lie within [0, 1], found 2", RejectionReason.OUT_OF_RANGE),
        ("must be a time as ISO 8601, such as 2030-01-31T12:00:00Z, found 'x'", RejectionReason.UNUSABLE_TIME),
        ("has 3 values under 4 columns", RejectionReason.WRONG_SHAPE),
        ("must have at most 2,000 characters, found 3,000", RejectionReason.UNUSABLE_TEXT),
        (describe_excess(10**9), RejectionReason.TOO_LARGE),
    ],
)
def test_a_value_in_the_words_does_not_change_the_kind(reason: str, kind: RejectionReason) -> None:
    assert classify_reason(reason) is kind


def test_a_field_is_a_column_or_a_member_and_nothing_that_a_sender_made_up() -> None:
    target = plan().target

    assert find_field("features.Age", target) == "Age"
    assert find_field("scored_at", target) == "scored_at"
    assert find_field("features.Anna Smith", target) == ""
    assert find_field("Anna Smith", target) == ""
