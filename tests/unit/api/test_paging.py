import base64
from typing import Annotated

import msgspec
import pytest

from app.base.errors import InvalidInput
from app.domain.paging import Paging
from app.web.route_declarations import cut, cut_at_place, read_number_cursor, read_place_cursor


class Place(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    size: float
    name: Annotated[str, msgspec.Meta(pattern=r"\A[^\x00]*\Z")]


@pytest.mark.parametrize("number", [1, 255, 2**31, 2**63 - 1])
def test_a_cursor_is_read_back(number: int) -> None:
    page, cursor = cut([number, number + 1], Paging(2), int)

    assert page == [number]
    assert read_number_cursor(cursor) == number


def test_the_last_page_has_no_cursor() -> None:
    assert cut([1, 2], Paging(3), int) == ([1, 2], None)
    assert read_number_cursor(None) == 0


@pytest.mark.parametrize("cursor", ["x", "é", "\0", "=", "_" * 40, "//////////8="])
def test_what_is_no_cursor_of_ours_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInput):
        read_number_cursor(cursor)


@pytest.mark.parametrize("place", [Place(0.1 + 0.2, "a"), Place(0.0, ""), Place(5e-324, "Größe × 😀"), Place(1.0, "x" * 200)])
def test_the_cursor_of_a_place_is_read_back_to_the_last_digit(place: Place) -> None:
    page, cursor = cut_at_place([place, place], 1, lambda item: item)

    assert page == [place]
    assert cursor is not None
    assert read_place_cursor(cursor, Place) == place
    assert read_place_cursor(None, Place) is None
    assert cut_at_place([place], 1, lambda item: item) == ([place], None)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"1",
        b"[]",
        b"[1]",
        b'[1,"a",2]',
        b'["a",1]',
        b'[1,"\\u0000"]',
        b'[1,"\\ud800"]',
        b'[1e999,"a"]',
        b'[NaN,"a"]',
        b'[1,"\xff"]',
        b"{}",
    ],
)
def test_what_is_no_place_of_the_list_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidInput):
        read_place_cursor(base64.urlsafe_b64encode(content).decode(), Place)


@pytest.mark.parametrize("cursor", ["x", "é", "\0", "="])
def test_what_is_no_cursor_of_a_place_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInput):
        read_place_cursor(cursor, Place)
