import pytest

from app.api.paging import cut, number_behind
from app.errors import InvalidInput


@pytest.mark.parametrize("number", [1, 255, 2**31, 2**63 - 1])
def test_a_cursor_is_read_back(number: int) -> None:
    page, cursor = cut([number, number + 1], 1, lambda item: item)

    assert page == [number]
    assert number_behind(cursor) == number


def test_the_last_page_has_no_cursor() -> None:
    assert cut([1, 2], 2, lambda item: item) == ([1, 2], None)
    assert number_behind(None) == 0


@pytest.mark.parametrize("cursor", ["x", "é", "\0", "=", "_" * 40, "//////////8="])
def test_what_is_no_cursor_of_ours_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInput):
        number_behind(cursor)
