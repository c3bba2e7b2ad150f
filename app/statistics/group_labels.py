"""Groups of one attribute, the alignment of tables by them, and checks of arrays."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

Role = Literal["monitored", "reference"]
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
AnyArray = NDArray[Any]

Codes = IntArray

MISSING = -1
"""Code of a record without a value."""

NEITHER = -1
"""Code of a record in no group, or without a value."""


class ComparedGroup(NamedTuple):
    label: str
    role: Role


Groups = tuple[ComparedGroup, ...]


def build_groups(pairs: Iterable[Sequence[str]]) -> Groups:
    """Groups from labels and roles. Raises ValueError: a label occurs twice, or a role is unknown."""
    groups = tuple(ComparedGroup(label, cast("Role", role)) for label, role in pairs)
    if len({group.label for group in groups}) < len(groups):
        raise ValueError(f"expected each group once, found {[group.label for group in groups]}")
    unknown = {group.role for group in groups} - {"monitored", "reference"}
    if unknown:
        raise ValueError(f"expected the roles monitored and reference, found {sorted(unknown)}")
    return groups


def find_positions(groups: Groups, role: Role) -> tuple[int, ...]:
    return tuple(position for position, group in enumerate(groups) if group.role == role)


def unite_groups(tables: Sequence[Groups]) -> Groups:
    """Every label once, in order of first appearance, with its role in the last table that has it."""
    roles = {group.label: group.role for groups in tables for group in groups}
    return tuple(ComparedGroup(label, role) for label, role in roles.items())


def align_groups(tables: Sequence[Groups]) -> tuple[Groups, list[IntArray]]:
    """Groups of all tables, and the row of each table's rows among them: its groups and, last, no group."""
    groups = unite_groups(tables)
    row_of = {group.label: row for row, group in enumerate(groups)}
    rows = [[*(row_of[group.label] for group in table_groups), len(groups)] for table_groups in tables]
    return groups, [np.array(of_table, int) for of_table in rows]


def check_codes(codes: ArrayLike, least: int, beyond: int) -> IntArray:
    """Codes [records] as int64; ValueError if one is not an integer in `least <= code < beyond`."""
    array = np.asarray(codes)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iub"):
        raise ValueError(
            f"expected a flat array of integer codes, found {array.dtype} of shape {array.shape}"
        )
    if array.size and not (least <= array.min() and array.max() < beyond):
        raise ValueError(f"expected codes from {least} to {beyond - 1}, found {array.min()} to {array.max()}")
    return array.astype(int)


def check_counts(counts: ArrayLike, *shape: int) -> IntArray:
    """Counts of this shape as int64; ValueError if the shape differs or one is negative or no integer."""
    array = np.asarray(counts)
    if array.size == 0:
        # JSON cannot distinguish an empty matrix from an empty list.
        array = array.reshape(shape) if np.prod(shape) == 0 else array
    if array.shape != shape or (array.size and (array.dtype.kind not in "iub" or array.min() < 0)):
        raise ValueError(
            f"expected counts of shape {shape}, none negative, found {array.dtype} of shape {array.shape}"
        )
    return array.astype(int)


def divide(numerator: AnyArray, denominator: AnyArray) -> FloatArray:
    """Quotients, NaN or infinite where the denominator is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(numerator / denominator, float)


def divide_or(numerator: AnyArray, denominator: AnyArray, otherwise: float) -> FloatArray:
    """Quotients, `otherwise` where the denominator is zero or negative."""
    quotients = np.full(np.broadcast_shapes(np.shape(numerator), np.shape(denominator)), otherwise)
    np.divide(numerator, denominator, out=quotients, where=denominator > 0)
    return quotients


def cross_codes(
    codes: Sequence[NDArray[np.signedinteger[Any]]], sizes: Sequence[int], kind: DTypeLike = np.int64
) -> NDArray[np.signedinteger[Any]]:
    """Numbers the combination of each record's codes, the last attribute fastest; NEITHER if one is missing.

    The product of `sizes` must fit `kind`.
    """
    crossed = np.zeros(codes[0].size, kind)
    neither = np.zeros(codes[0].size, bool)
    for column, size in zip(codes, sizes, strict=True):
        neither |= column < 0
        crossed *= size
        crossed += column.astype(crossed.dtype, copy=False)
    crossed[neither] = NEITHER
    return crossed
