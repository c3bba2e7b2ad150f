"""Files with flags of records, by the checks that wrote them."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.orm import Session

_AGED = text(
    """SELECT "window"->>'flag_file' AS path FROM checks
       WHERE deployment_no = :no AND "window" ? 'flag_file' AND "window"->>'flag_file' > :after
       GROUP BY 1 HAVING max(span_end) <= :before ORDER BY 1 LIMIT :limit"""
)

_FORGET = text("""UPDATE checks SET "window" = "window" - 'flag_file' WHERE deployment_no = :no AND "window"->>'flag_file' = ANY(:paths)""")


def aged_flag_files(session: Session, deployment_no: int, *, after: str, before: datetime, limit: int) -> list[str]:
    """Returns the next paths of files all of whose checks end until that time."""
    return list(session.scalars(_AGED, {"no": deployment_no, "after": after, "before": before, "limit": limit}))


def forget_flag_files(session: Session, deployment_no: int, paths: Sequence[str]) -> None:
    session.execute(_FORGET, {"no": deployment_no, "paths": list(paths)})
