"""Locks the deployments of a write and finds the batches that were checked against something older."""

from collections.abc import Sequence

from .batches import Batch, StaleTarget
from .link import Rows, Veto
from .targets import ROW_VERSION

# A deployment that is being deleted is skipped, not waited for: writes to others must not wait for a long deletion.
PREPARATION = f"""
PREPARE lock_deployments (int[]) AS
SELECT no, {ROW_VERSION} FROM deployments WHERE no = ANY ($1) ORDER BY no FOR KEY SHARE SKIP LOCKED
""".encode()  # noqa: S608 - nothing of it comes from outside


def begin(batches: Sequence[Batch]) -> bytes:
    """Returns the script's beginning: a transaction that locks the batches' deployments."""
    numbers = ",".join(str(no) for no in sorted({batch.deployment_no for batch in batches}))
    return f"BEGIN; EXECUTE lock_deployments ('{{{numbers}}}');".encode()


def veto_stale(batches: Sequence[Batch]) -> Veto:
    """Returns a veto that objects if the deployments that were locked are not those the batches were checked against."""

    def veto(found: list[Rows]) -> StaleTarget | None:
        versions = {int(no or 0): (version or b"").decode() for no, version in found[0]}
        stale = [batch for batch in batches if versions.get(batch.deployment_no) != batch.row_version]
        return StaleTarget(stale) if stale else None

    return veto
