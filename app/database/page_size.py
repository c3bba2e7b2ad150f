"""Limits of one page of records."""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from ..base.frozen import frozen

MAX_PAGE_BYTES = 8 * 2**20
"""Max bytes of a page's values as JSON. The first record is always in it."""

Item = TypeVar("Item")


@frozen
class Page(Generic[Item]):
    """Items in order. `is_cut`: there was no room for all."""

    items: list[Item]
    is_cut: bool


def fill_page(items: Iterable[Item], size_of: Callable[[Item], int]) -> Page[Item]:
    """Returns as many of the items as a page has room for; reads one item beyond."""
    page: list[Item] = []
    room = MAX_PAGE_BYTES
    for item in items:
        if page and room <= 0:
            return Page(page, is_cut=True)
        page.append(item)
        room -= size_of(item)
    return Page(page, is_cut=False)
