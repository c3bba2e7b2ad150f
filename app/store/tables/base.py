"""The declarative base of every Row class."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import DateTime, MetaData
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase

CONSTRAINT_NAMES = {
    "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    "uq": "%(table_name)s_%(column_0_N_name)s_key",
    "fk": "%(table_name)s_%(column_0_name)s_fkey",
    "pk": "%(table_name)s_pkey",
}


Json = JSONB(none_as_null=True)
"""An absent value is SQL's NULL, never JSON's null."""


class Row(DeclarativeBase):
    """One stored row. Timestamps are aware; dicts and lists are JSONB."""

    metadata = MetaData(naming_convention=CONSTRAINT_NAMES)
    type_annotation_map: ClassVar[dict[Any, Any]] = {datetime: DateTime(timezone=True), dict[str, Any]: Json, list[Any]: Json}
