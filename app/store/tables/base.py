"""The declarative base of every Row class."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, TypeAlias

from sqlalchemy import BigInteger, DateTime, ForeignKey, Identity, MetaData, SmallInteger, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, mapped_column

CONSTRAINT_NAMES = {
    "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    "uq": "%(table_name)s_%(column_0_N_name)s_key",
    "fk": "%(table_name)s_%(column_0_name)s_fkey",
    "pk": "%(table_name)s_pkey",
}


Json = JSONB(none_as_null=True)
"""An absent value is SQL's NULL, never JSON's null."""

Int16: TypeAlias = Annotated[int, mapped_column(SmallInteger)]
Int64: TypeAlias = Annotated[int, mapped_column(BigInteger)]
JsonValue: TypeAlias = Annotated[Any, mapped_column(Json)]
UniqueText: TypeAlias = Annotated[str, mapped_column(unique=True)]
StoredAt: TypeAlias = Annotated[datetime, mapped_column(server_default=func.now())]

RowNo: TypeAlias = Annotated[int, mapped_column(BigInteger, Identity(always=True), primary_key=True)]
ShortRowNo: TypeAlias = Annotated[int, mapped_column(Identity(always=True), primary_key=True)]
TextKey: TypeAlias = Annotated[str, mapped_column(primary_key=True)]
BytesKey: TypeAlias = Annotated[bytes, mapped_column(primary_key=True)]
TimeKey: TypeAlias = Annotated[datetime, mapped_column(primary_key=True)]

DeploymentNo: TypeAlias = Annotated[int, mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"))]
BoundDeploymentNo: TypeAlias = Annotated[int | None, mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"), index=True)]
DeploymentKey: TypeAlias = Annotated[int, mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"), primary_key=True)]


class Row(DeclarativeBase):
    """One stored row. Timestamps are aware; dicts and lists are JSONB."""

    metadata = MetaData(naming_convention=CONSTRAINT_NAMES)
    type_annotation_map: ClassVar[dict[Any, Any]] = {datetime: DateTime(timezone=True), dict[str, Any]: Json, list[Any]: Json}
