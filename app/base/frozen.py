"""The one declaration of a class of values."""

from dataclasses import dataclass, field
from typing import Any, dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type | None = None, /, *, kw_only: bool = False, eq: bool = True) -> Any:  # noqa: ANN401 - the class, or what decorates it
    """A dataclass with slots whose objects never change. `eq=False` for arrays, which cannot be compared
    as a whole.
    """
    make = dataclass(frozen=True, slots=True, kw_only=kw_only, eq=eq)
    return make if cls is None else make(cls)
