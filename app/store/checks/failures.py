"""Stores the cause of a failed check so that processes of the previous release can read it.

During a rolling upgrade they read the checks that this release ends. `failure` has only words that they know; a cause that is newer is
stored as a wider one, and by its own name in `narrow_failure`, which they do not read.
"""

from collections.abc import Mapping

from ...domain.checks import Failure

WIDER: Mapping[Failure, Failure] = {Failure.MONTHS_AWAY: Failure.INVALID_INPUT}
"""The causes that the previous release does not know, each with the cause that it reads in its place."""


def failure_columns(failure: Failure) -> dict[str, str | None]:
    """Returns the columns of a check that store its failure."""
    wider = WIDER.get(failure)
    return {"failure": wider or failure, "narrow_failure": None if wider is None else failure}


def read_failure(failure: str | None, narrow_failure: str | None) -> Failure | None:
    """Returns the stored failure: the narrow one if this release knows it, else the wide one."""
    if failure is None:
        return None
    wide = Failure(failure)
    # A process of the previous release that ends the check again does not touch `narrow_failure`.
    return next((narrow for narrow, wider in WIDER.items() if narrow == narrow_failure and wider is wide), wide)
