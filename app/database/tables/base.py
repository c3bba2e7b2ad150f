"""The declarative base of every Row class."""

import uuid
from datetime import datetime
from typing import Annotated, Any, ClassVar

from sqlalchemy import BigInteger, DateTime, ForeignKey, Identity, MetaData, SmallInteger, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedColumn, mapped_column

CONSTRAINT_NAMES = {
    "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    "uq": "%(table_name)s_%(column_0_N_name)s_key",
    "fk": "%(table_name)s_%(column_0_name)s_fkey",
    "pk": "%(table_name)s_pkey",
}


def refers_to(
    column: str, *kind: type[BigInteger], ondelete: str = "CASCADE", **options: bool
) -> MappedColumn[Any]:
    return mapped_column(*kind, ForeignKey(column, ondelete=ondelete), **options)


Json = JSONB(none_as_null=True)
"""An absent value is SQL's NULL, never JSON's null."""

Int16 = Annotated[int, mapped_column(SmallInteger)]
Int64 = Annotated[int, mapped_column(BigInteger)]
JsonValue = Annotated[Any, mapped_column(Json)]
JsonObject = dict[str, Any]
JsonList = list[Any]


MadeId = Annotated[str, mapped_column(unique=True, default=lambda: str(uuid.uuid4()))]
NotYet = Annotated[bool, mapped_column(default=False)]
UniqueText = Annotated[str, mapped_column(unique=True)]
StoredAt = Annotated[datetime, mapped_column(server_default=func.now())]

RowNo = Annotated[int, mapped_column(BigInteger, Identity(always=True), primary_key=True)]
ShortRowNo = Annotated[int, mapped_column(Identity(always=True), primary_key=True)]
IntKey = Annotated[int, mapped_column(primary_key=True)]
TextKey = Annotated[str, mapped_column(primary_key=True)]
BytesKey = Annotated[bytes, mapped_column(primary_key=True)]
TimeKey = Annotated[datetime, mapped_column(primary_key=True)]

DeploymentNo = Annotated[int, refers_to("deployments.no")]
BoundDeploymentNo = Annotated[int | None, refers_to("deployments.no", index=True)]
DeploymentKey = Annotated[int, refers_to("deployments.no", primary_key=True)]
AlertNo = Annotated[int, refers_to("alerts.no", BigInteger)]
CheckNo = Annotated[int, refers_to("checks.no", BigInteger, index=True)]
ChannelKey = Annotated[int, refers_to("alert_channels.no", primary_key=True, index=True)]


class Row(DeclarativeBase):
    """One stored row. Timestamps are aware; dicts and lists are JSONB."""

    metadata = MetaData(naming_convention=CONSTRAINT_NAMES)
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime: DateTime(timezone=True),
        JsonObject: Json,
        JsonList: Json,
    }


class QueuedRow(Row):
    """A row that one process at a time works on. `claimable_at` is when one may take it; NULL once it is
    over.
    """

    __abstract__ = True

    no: Mapped[RowNo]
    id: Mapped[MadeId]
    state: Mapped[str] = mapped_column(default="queued")
    claimable_at: Mapped[datetime | None] = mapped_column(default=func.now())
    attempts: Mapped[int] = mapped_column(default=0)
    lease_token: Mapped[str | None]
