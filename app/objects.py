"""Reads an object of one class as an object of another, by the names of their members."""

from typing import TypeVar

import msgspec

Read = TypeVar("Read")


class Joined:
    """The members of an object, together with further ones, which go before its own."""

    def __init__(self, source: object, others: dict[str, object]) -> None:
        self.__dict__.update(others, _source=source)

    def __getattr__(self, name: str) -> object:
        return getattr(self._source, name)


def read_object(kind: type[Read], source: object, /, **others: object) -> Read:
    """Returns an object of a dataclass: each field from `others` or the member of `source` of its name, as the field's type.

    A field with a default may lack both.
    """
    return msgspec.convert(Joined(source, others) if others else source, kind, from_attributes=True)
