"""The declarations of classes of values."""

from dataclasses import dataclass, field
from typing import Any, dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type | None = None, /, *, kw_only: bool = False, eq: bool = True) -> Any:  # noqa: ANN401 - the class, or what decorates it
    """A dataclass with slots whose objects never change."""
    make = dataclass(frozen=True, slots=True, kw_only=kw_only, eq=eq)
    return make if cls is None else make(cls)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen_by_name(cls: type) -> Any:  # noqa: ANN401 - the class
    """`frozen`, with each field given by its name."""
    return frozen(cls, kw_only=True)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def frozen_arrays(cls: type) -> Any:  # noqa: ANN401 - the class
    """`frozen`, of arrays, which cannot be compared as a whole."""
    return frozen(cls, eq=False)
