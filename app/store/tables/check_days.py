"""Checks of a day, and sums of their count tables."""

from datetime import datetime
from typing import Any

from sqlalchemy import ARRAY, BigInteger, DateTime, ForeignKey, ForeignKeyConstraint, Identity, Index, Integer, String, func, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import Json, Row


class CheckDayRow(Row):
    """One day (UTC) with ended checks. The members from `failed` on, and its rows in `table_days`, hold if `is_kept`.

    A trigger of `checks` takes `is_kept` back in every transaction that changes an ended check. The row is locked before a day is added up,
    so such a transaction is over, or takes the sums back.
    """

    __tablename__ = "check_days"
    __table_args__ = (Index("check_days_changed_idx", "changed_at", postgresql_where=text("NOT is_kept")),)

    deployment_no: Mapped[int] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"), primary_key=True, autoincrement=False)
    day: Mapped[datetime] = mapped_column(primary_key=True)
    is_kept: Mapped[bool] = mapped_column(server_default=text("false"))
    changed_at: Mapped[datetime] = mapped_column(server_default=func.now())
    failed: Mapped[int | None]
    reason: Mapped[str | None]
    topped_up: Mapped[int | None]
    logged: Mapped[int | None] = mapped_column(BigInteger)
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

    no: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    deployment_no: Mapped[int]
    day: Mapped[datetime]
    data: Mapped[str]
    attribute: Mapped[str]
    favourable: Mapped[list[Any]] = mapped_column(Json)
    unfavourable: Mapped[list[Any]] = mapped_column(Json)
    hour: Mapped[datetime]
    hours: Mapped[int]
    cells: Mapped[dict[str, Any]]
