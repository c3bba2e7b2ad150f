"""The clause map: its rows, the words for their states, and that no row of a release was read long before it."""

import json
import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import msgspec
import pytest

from app.reports.regulator.clauses import CLAUSES, NOT_LEGAL_ADVICE, RuleClause, describe_sources
from app.reports.regulator.cover import tabulate_clauses
from app.reports.regulator.sheets import PeriodSheet
from tests.golden import golden

CHANGELOG = Path(__file__).resolve().parents[3] / "CHANGELOG.md"
MAX_AGE = timedelta(days=365)
RULES = {clause.id: clause.rule for clause in CLAUSES}
BY_ID = {clause.id: clause for clause in CLAUSES}


def test_the_rows_are_those_of_the_golden_file() -> None:
    expected = json.loads(golden("A9_accountability.json").read_text(encoding="utf-8"))["clauses"]

    assert json.loads(msgspec.json.encode(CLAUSES)) == expected


@pytest.mark.parametrize(
    ("clause", "day", "state"),
    [
        ("us-nj-13-16", date(2025, 12, 15), "in force since 2025-12-15"),
        ("us-nj-13-16", date(2025, 12, 14), "from 2025-12-15"),
        ("eu-ai-act-dates", date(2026, 12, 1), "from 2027-12-02"),
        ("us-sr-11-7", date(2026, 12, 1), "withdrawn on 2026-04-17, see SR 26-2 / OCC Bulletin 2026-13 / FDIC FIL-15-2026"),
        ("us-sr-11-7", date(2026, 4, 16), "withdrawn"),
        ("eu-pren-18283", date(2026, 12, 1), "draft"),
        ("iso-42001", date(2026, 12, 1), "published 2023"),
    ],
)
def test_the_word_for_the_state_is_made_from_dates_on_the_day_of_the_report(clause: str, day: date, state: str) -> None:
    assert BY_ID[clause].describe_state(day, RULES) == state


def test_an_ended_rule_leads_to_what_replaced_it() -> None:
    ended = [clause for clause in CLAUSES if clause.ended_on is not None]

    assert {clause.id for clause in ended} >= {"us-sr-11-7", "us-co-sb-24-205"}
    for clause in ended:
        assert clause.replaced_by is not None
        assert clause.id in BY_ID[clause.replaced_by].replaces


def test_the_line_below_the_table_counts_the_rows_of_secondary_sources_and_has_the_oldest_date() -> None:
    older = msgspec.structs.replace(CLAUSES[0], checked_on=date(2026, 1, 2), source_kind="primary")

    assert describe_sources([older, CLAUSES[1]]) == (
        "Not legal advice. State of the rules as read on 2026-01-02; 1 of 2 rows rest on secondary sources."
    )
    assert describe_sources(CLAUSES) == NOT_LEGAL_ADVICE


def test_a_report_names_what_it_has_apart_from_what_else_is_in_the_product() -> None:
    made = {"at": "2026-12-01T10:00:00+00:00"}
    data = {"clauses": msgspec.to_builtins(CLAUSES), "made": made, "preset": "ll144", "notice": NOT_LEGAL_ADVICE}
    table = tabulate_clauses(data, [PeriodSheet.LL144])
    rows = {clause.id: row[1:5] for clause, row in zip(CLAUSES, table.rows, strict=True)}

    assert rows["us-nyc-ll144"][1:3] == ("preset New York City Local Law 144; Local Law 144: impact ratios; who is in the report", "–")
    assert rows["eu-ai-act-dates"] == ("from 2027-12-02", "who is in the report", "–", "whether a system is high-risk")
    assert rows["eu-ai-act-73"][1:3] == (
        "–",
        "Evidence over time; Alerts, and who acknowledged what; API readAlert; evenhand report verify",
    )
    assert table.note == NOT_LEGAL_ADVICE


def test_ids_are_unique_and_wordings_are_short() -> None:
    assert len(BY_ID) == len(CLAUSES)
    assert max(len(clause.wording) for clause in CLAUSES) <= 200


def test_no_row_was_read_more_than_a_year_before_the_release() -> None:
    release = find_release_date(CHANGELOG.read_text(encoding="utf-8"))
    if release is None:
        return
    for clause in came_into_force(release):
        print(f"Read again: {clause.id} came into force on {clause.in_force_from}, after it was read on {clause.checked_on}.")  # noqa: T201 - a list to read

    assert list(read_too_early(release)) == []


def test_a_row_older_than_a_year_is_named() -> None:
    oldest = min(clause.checked_on for clause in CLAUSES)

    assert list(read_too_early(oldest + MAX_AGE)) == []
    assert list(read_too_early(oldest + MAX_AGE + timedelta(days=1)))
    assert [clause.id for clause in came_into_force(date(2027, 1, 1))] == ["us-co-sb-26-189"]


def test_the_date_of_the_release_is_that_of_the_newest_entry() -> None:
    assert find_release_date("# Changelog\n\n## 1.0.0 (2026-12-24)\n\n## 0.1.0 (2026-01-01)\n") == date(2026, 12, 24)
    assert find_release_date("# Changelog\n\n## Unreleased\n\n## 0.1.0 (2026-01-01)\n") is None


def find_release_date(changelog: str) -> date | None:
    """None before the release: then nothing is compared."""
    newest = re.search(r"^## .*$", changelog, re.MULTILINE)
    dated = re.search(r"\d{4}-\d\d-\d\d", newest[0]) if newest else None
    return date.fromisoformat(dated[0]) if dated else None


def read_too_early(release: date) -> Iterator[str]:
    return (clause.id for clause in CLAUSES if release - clause.checked_on > MAX_AGE)


def came_into_force(release: date) -> Iterator[RuleClause]:
    return (clause for clause in CLAUSES if clause.in_force_from is not None and clause.checked_on < clause.in_force_from <= release)
