"""Records of ids that were erased on request."""

from collections.abc import Mapping, Sequence
from typing import Final

from ..domain.retention import digest_id
from ..store.writing import Target

ERASED: Final = "is of a record that was erased on request; it is not stored again"


def find_erased(ids: Sequence[str | None], target: Target) -> Mapping[int, str]:
    """Problem of each id that was erased, by position."""
    if not target.erased:
        return {}
    return {position: ERASED for position, one in enumerate(ids) if one is not None and digest_id(one) in target.erased}
