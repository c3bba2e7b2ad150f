"""The one declaration of a class of values."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform, overload

Value = TypeVar("Value")


@overload
def frozen(cls: type[Value], /) -> type[Value]: ...


@overload
def frozen(*, kw_only: bool = False, eq: bool = True) -> Callable[[type[Value]], type[Value]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[Value] | None = None, /, *, kw_only: bool = False, eq: bool = True) -> object:
    """A dataclass with slots whose objects never change. `eq=False` for arrays, which cannot be compared as a whole."""
    make = dataclass(frozen=True, slots=True, kw_only=kw_only, eq=eq)
    return make if cls is None else make(cls)
