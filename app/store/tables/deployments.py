"""Deployments, and versions of their record schema."""

from datetime import date, datetime
from typing import Any

from sqlalchemy import SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from .base import DeploymentKey, Int16, Row, ShortRowNo, StoredAt, UniqueText


class DeploymentRow(Row):
    """One watched model. `credentials`, the endpoint's secret, and `column_key`, of its protected columns, are encrypted.

    `record_tables` names the files of its records; NULL: they are logged. `earliest` is the first possible day of one.
    """

    __tablename__ = "deployments"

    no: Mapped[ShortRowNo]
    id: Mapped[UniqueText]
    name: Mapped[str]
    problem_type: Mapped[str]
    outputs: Mapped[dict[str, Any]]
    schema_version: Mapped[Int16]
    model_revision: Mapped[str]
    endpoint: Mapped[dict[str, Any] | None]
    credentials: Mapped[bytes | None]
    column_key: Mapped[bytes | None]
    owner: Mapped[str | None]
    purpose: Mapped[str | None]
    record_tables: Mapped[dict[str, Any] | None]
    earliest: Mapped[date | None]
    created_at: Mapped[StoredAt]
    updated_at: Mapped[StoredAt]


class EndpointFailureRow(Row):
    """Failures in a row of an endpoint. It is not called until `open_until`; NULL: the breaker never opened."""

    __tablename__ = "endpoint_failures"

    deployment_no: Mapped[DeploymentKey]
    failures: Mapped[int]
    reason: Mapped[str]
    failed_at: Mapped[StoredAt]
    open_until: Mapped[datetime | None]


class DeploymentSchemaRow(Row):
    """Columns of one schema version: lists of {name, type, kind}, and a protected column's `storage`."""

    __tablename__ = "deployment_schemas"

    deployment_no: Mapped[DeploymentKey]
    version: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    features: Mapped[list[Any]]
    meta: Mapped[list[Any]]
