"""The number of records that a page of the list states."""

from datetime import UTC, datetime

import pytest

from app.pages.alerts.alert_page import say_affected
from app.pages.record.page import ListedRecords, say_count
from app.records.record_list import RecordListQuery
from app.sources.stored.record_queries import RecordCount


@pytest.mark.parametrize(
    ("listed", "read", "is_narrowed", "is_all", "expected"),
    [
        (12, None, False, True, "12 records in all."),
        (12, None, True, True, "12 records fit the filter."),
        (1, None, True, True, "1 record fits the filter."),
        (50, 1500, False, False, "50 records of the 1,500 that the check read."),
        (12, 12, False, True, "12 records in all."),
        (50, None, False, False, "50 records on this page. Other pages may have more."),
        (50, None, True, False, "50 records on this page fit the filter. Other pages may have more."),
    ],
)
def test_it_is_the_whole_number_where_it_is_known(listed: int, read: int | None, *, is_narrowed: bool, is_all: bool, expected: str) -> None:
    window = None if read is None else {"records": read - 1, "additional_records": 1}

    assert say_count(listed, window, ListedRecords(is_narrowed=is_narrowed, is_all=is_all)) == expected


@pytest.mark.parametrize(
    ("listed", "is_all", "expected"),
    [
        (50, False, "50 records on this page of the 59 that fit the filter, as the check counted them."),
        (59, True, "59 records fit the filter."),
        # Some were erased since.
        (57, True, "57 records fit the filter."),
    ],
)
def test_a_filter_that_the_check_has_counted_says_how_many_fit(listed: int, expected: str, *, is_all: bool) -> None:
    assert say_count(listed, {"records": 400}, ListedRecords(is_narrowed=True, is_all=is_all, fitting=59)) == expected


@pytest.mark.parametrize(
    ("listed", "count", "expected"),
    [
        (1, RecordCount(records=1, is_least=False), "1 record in all"),
        (5, RecordCount(records=5, is_least=False), "5 records in all"),
        (5, RecordCount(records=1059, is_least=False), "The newest 5 of 1,059 records"),
        (5, RecordCount(records=5, is_least=True), "The newest 5 of at least 5 records"),
    ],
)
def test_an_alert_says_of_how_many_affected_records_it_shows_the_newest(listed: int, count: RecordCount, expected: str) -> None:
    times = {"since": datetime(2026, 11, 23, 10, tzinfo=UTC), "until": datetime(2026, 11, 23, 13, tzinfo=UTC)}
    of_times = ", logged from 2026-11-23 10:00 to 2026-11-23 13:00 UTC, when there was enough evidence"

    assert say_affected(listed, count, RecordListQuery()) == f"{expected}."
    assert say_affected(listed, count, RecordListQuery(**times)) == f"{expected}{of_times}."
