"""Checks of a day, and sums of their count tables."""

from datetime import datetime
from typing import Any

from sqlalchemy import ARRAY, DateTime, ForeignKeyConstraint, Index, Integer, String, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import DeploymentKey, Int64, Row, RowNo, StoredAt, TimeKey


class CheckDayRow(Row):
    """One day (UTC) with ended checks. The members from `failed` on, and its rows in `table_days`, hold if `is_kept`.

    A trigger of `checks` takes `is_kept` back in every transaction that changes an ended check. The row is locked before a day is added up,
    so such a transaction is over, or takes the sums back.
    """

    __tablename__ = "check_days"
    __table_args__ = (Index("check_days_changed_idx", "changed_at", postgresql_where=text("NOT is_kept")),)

    deployment_no: Mapped[DeploymentKey]
    day: Mapped[TimeKey]
    is_kept: Mapped[bool] = mapped_column(server_default=text("false"))
    changed_at: Mapped[StoredAt]
    failed: Mapped[int | None]
    reason: Mapped[str | None]
    topped_up: Mapped[int | None]
    logged: Mapped[Int64 | None]
    changed_version_at: Mapped[list[datetime] | None] = mapped_column(ARRAY(DateTime(timezone=True)))
    revisions: Mapped[list[str | None] | None] = mapped_column(ARRAY(String))
    monitors: Mapped[list[int | None] | None] = mapped_column(ARRAY(Integer))


class TableDayRow(Row):
    """Sum of the count tables of `hours` hours of a day from `hour` on that were counted alike.

    Of each hour the newest check with these outcomes counts, and its own records.
    """

    __tablename__ = "table_days"
    __table_args__ = (
        ForeignKeyConstraint(["deployment_no", "day"], ["check_days.deployment_no", "check_days.day"], ondelete="CASCADE"),
        Index("table_days_series_idx", "deployment_no", "data", "attribute", "day"),
        Index("table_days_day_idx", "deployment_no", "day"),
    )

    no: Mapped[RowNo]
    deployment_no: Mapped[int]
    day: Mapped[datetime]
    data: Mapped[str]
    attribute: Mapped[str]
    favourable: Mapped[list[Any]]
    unfavourable: Mapped[list[Any]]
    hour: Mapped[datetime]
    hours: Mapped[int]
    cells: Mapped[dict[str, Any]]
