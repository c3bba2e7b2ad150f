"""Alarms that a person closed: from that hour the evidence on one side of a figure begins again."""

from datetime import datetime

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from ...domain.checks import DataSet
from ...evidence.nulls import UnfairSide
from ...frozen import frozen
from ..tables import EvidenceClosureRow
from .figures import FigureKey
from .hours import CountedPlace


@frozen(kw_only=True)
class Closure:
    """The figure, the side of the metric's own limit, and the first hour that counts after it."""

    key: FigureKey
    direction: UnfairSide
    hour: datetime


def closures_of(session: Session, era_no: int) -> list[Closure]:
    rows = session.scalars(select(EvidenceClosureRow).where(EvidenceClosureRow.era_no == era_no).order_by(EvidenceClosureRow.no))
    return [
        Closure(
            key=FigureKey(place=CountedPlace(DataSet(row.data), row.attribute), group=row.group, metric=row.metric),
            direction=UnfairSide(row.direction),
            hour=row.hour,
        )
        for row in rows
    ]


def add_closure(session: Session, era_no: int, closure: Closure, *, alert_no: int) -> None:
    values = {
        "era_no": era_no,
        "data": closure.key.place.data,
        "attribute": closure.key.place.attribute,
        "group": closure.key.group,
        "metric": closure.key.metric,
        "direction": closure.direction,
        "hour": closure.hour,
        "alert_no": alert_no,
    }
    session.execute(insert(EvidenceClosureRow).values(values))
