"""The declarative base of every Row class."""

import uuid
from datetime import datetime
from typing import Annotated, Any, ClassVar

from sqlalchemy import BigInteger, DateTime, ForeignKey, Identity, Integer, MetaData, SmallInteger, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedColumn, mapped_column

CONSTRAINT_NAMES = {
    "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    "uq": "%(table_name)s_%(column_0_N_name)s_key",
    "fk": "%(table_name)s_%(column_0_name)s_fkey",
    "pk": "%(table_name)s_pkey",
}


def refers_to(
    column: str,
    kind: type[Integer] = Integer,
    *,
    ondelete: str = "CASCADE",
    **options: Any,  # noqa: ANN401 - those of the column
) -> MappedColumn[Any]:
    return mapped_column(kind, ForeignKey(column, ondelete=ondelete), **options)


Json = JSONB(none_as_null=True)
"""An absent value is SQL's NULL, never JSON's null."""

# Kinds of columns. An optional one may be NULL.
Bool = Mapped[bool]
Bytes = Mapped[bytes]
Float = Mapped[float]
Int = Mapped[int]
Int16 = Mapped[Annotated[int, mapped_column(SmallInteger)]]
Int64 = Mapped[Annotated[int, mapped_column(BigInteger)]]
JsonList = Mapped[list[Any]]
JsonObject = Mapped[dict[str, Any]]
JsonValue = Mapped[Annotated[Any, mapped_column(Json)]]
Text = Mapped[str]
Time = Mapped[datetime]

OptionalBytes = Mapped[bytes | None]
OptionalFloat = Mapped[float | None]
OptionalInt = Mapped[int | None]
OptionalInt64 = Mapped[Annotated[int, mapped_column(BigInteger)] | None]
OptionalList = Mapped[list[Any] | None]
OptionalObject = Mapped[dict[str, Any] | None]
OptionalText = Mapped[str | None]
OptionalTime = Mapped[datetime | None]
OptionalValue = Mapped[Annotated[Any, mapped_column(Json)] | None]

MadeId = Mapped[Annotated[str, mapped_column(unique=True, default=lambda: str(uuid.uuid4()))]]
NotYet = Mapped[Annotated[bool, mapped_column(default=False)]]
UniqueText = Mapped[Annotated[str, mapped_column(unique=True)]]
StoredAt = Mapped[Annotated[datetime, mapped_column(server_default=func.now())]]

RowNo = Mapped[Annotated[int, mapped_column(BigInteger, Identity(always=True), primary_key=True)]]
ShortRowNo = Mapped[Annotated[int, mapped_column(Identity(always=True), primary_key=True)]]
IntKey = Mapped[Annotated[int, mapped_column(primary_key=True)]]
TextKey = Mapped[Annotated[str, mapped_column(primary_key=True)]]
BytesKey = Mapped[Annotated[bytes, mapped_column(primary_key=True)]]
TimeKey = Mapped[Annotated[datetime, mapped_column(primary_key=True)]]

DeploymentNo = Mapped[Annotated[int, refers_to("deployments.no")]]
BoundDeploymentNo = Mapped[Annotated[int | None, refers_to("deployments.no", index=True)]]
DeploymentKey = Mapped[Annotated[int, refers_to("deployments.no", primary_key=True)]]
AlertNo = Mapped[Annotated[int, refers_to("alerts.no", BigInteger)]]
OptionalAlertNo = Mapped[Annotated[int, refers_to("alerts.no", BigInteger)] | None]
CheckNo = Mapped[Annotated[int, refers_to("checks.no", BigInteger, index=True)]]
ChannelKey = Mapped[Annotated[int, refers_to("alert_channels.no", primary_key=True, index=True)]]


class Row(DeclarativeBase):
    """Timestamps are aware; dicts and lists are JSONB."""

    metadata = MetaData(naming_convention=CONSTRAINT_NAMES)
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime: DateTime(timezone=True),
        dict[str, Any]: Json,
        list[Any]: Json,
    }


class QueuedRow(Row):
    """One process at a time works on it. `claimable_at` is when one may take it; NULL once it is over."""

    __abstract__ = True

    no: RowNo
    id: MadeId
    state: Text = mapped_column(default="queued")
    claimable_at: OptionalTime = mapped_column(default=func.now())
    attempts: Int = mapped_column(default=0)
    lease_token: OptionalText
