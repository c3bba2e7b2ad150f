"""The number of records that a page of the list states."""

import pytest

from app.dashboard.transactions import ListedRecords, say_count


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
