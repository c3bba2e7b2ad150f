"""Facts that the OpenScale SDK must find again: data marts, providers, assets, instances, imports, definitions of custom monitors."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, func
from sqlalchemy.orm import Mapped, mapped_column

from .base import Row


class OpenScaleDataMartRow(Row):
    """One data mart: a name under which subscriptions are found. All data are in this database, whichever it is."""

    __tablename__ = "openscale_data_marts"

    id: Mapped[str] = mapped_column(primary_key=True)
    entity: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    created_by: Mapped[str]


class OpenScaleProviderRow(Row):
    """One service provider. `secrets` are its credentials and the values of its headers, encrypted."""

    __tablename__ = "openscale_providers"

    id: Mapped[str] = mapped_column(primary_key=True)
    entity: Mapped[dict[str, Any]]
    secrets: Mapped[bytes | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    created_by: Mapped[str]
    modified_at: Mapped[datetime] = mapped_column(server_default=func.now())


class OpenScaleSubscriptionRow(Row):
    """Facts of a subscription that its deployment does not know: mart, provider, asset, the label's column."""

    __tablename__ = "openscale_subscriptions"

    deployment_no: Mapped[int] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"), primary_key=True)
    data_mart_id: Mapped[str] = mapped_column(ForeignKey("openscale_data_marts.id"), index=True)
    provider_id: Mapped[str | None] = mapped_column(ForeignKey("openscale_providers.id"), index=True)
    entity: Mapped[dict[str, Any]]
    created_by: Mapped[str]


class OpenScaleInstanceRow(Row):
    """One monitor instance as it was sent. The fairness monitor itself is in `monitors`."""

    __tablename__ = "openscale_instances"

    deployment_no: Mapped[int] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"), primary_key=True)
    definition_id: Mapped[str] = mapped_column(primary_key=True)
    entity: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    created_by: Mapped[str]


class OpenScaleImportRow(Row):
    """One measurement that was computed elsewhere and imported. It is never part of a series of Evenhand's own."""

    __tablename__ = "openscale_imports"
    __table_args__ = (Index("openscale_imports_instance_idx", "deployment_no", "definition_id", "at"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    deployment_no: Mapped[int] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"))
    definition_id: Mapped[str]
    at: Mapped[datetime]
    entity: Mapped[dict[str, Any]]
    created_by: Mapped[str]


class OpenScaleDefinitionRow(Row):
    """One definition of a custom monitor, whose measurements scripts post."""

    __tablename__ = "openscale_definitions"

    id: Mapped[str] = mapped_column(primary_key=True)
    entity: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    created_by: Mapped[str]
    modified_at: Mapped[datetime] = mapped_column(server_default=func.now())
