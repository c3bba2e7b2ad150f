"""Alarms that a person closed: from that hour the evidence on one side of a figure begins again."""

from datetime import datetime

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from ...base.frozen import frozen
from ...database.binary_rows import list_column_values, read_row
from ...database.tables import EvidenceClosureRow
from ...statistics.e_values.nulls import UnfairSide
from .figure_states import FigureKey, read_key


@frozen(kw_only=True)
class Closure:
    """The figure, the side of the metric's own limit, and the first hour that counts after it."""

    key: FigureKey
    direction: UnfairSide
    hour: datetime


def read_closures(session: Session, era_no: int) -> list[Closure]:
    rows = session.scalars(select(EvidenceClosureRow).where(EvidenceClosureRow.era_no == era_no).order_by(EvidenceClosureRow.no))
    return [read_row(Closure, row, key=read_key(row)) for row in rows]


def add_closure(session: Session, era_no: int, closure: Closure, *, alert_no: int) -> None:
    values = list_column_values(closure) | list_column_values(closure.key) | list_column_values(closure.key.place)
    del values["key"], values["place"]
    session.execute(insert(EvidenceClosureRow).values(era_no=era_no, alert_no=alert_no, **values))
