"""Stores and reads deployments, with the secrets of their endpoints sealed, and counts their failures."""

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from typing import Any

import msgspec
from sqlalchemy import Select, and_, case, delete, func, insert, literal, select, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.orm import Session

from ..base.errors import Conflict, NotFound
from ..base.strict_json import JsonObject
from ..base.values import frozen, frozen_by_name
from ..database.binary_rows import equal, page_oldest, read_row
from ..database.engine import Sealer
from ..database.reseal import begin_sealing
from ..database.tables import (
    AlertRuleRow,
    ArrivalRow,
    AttributionRow,
    ChangedHourRow,
    CheckRow,
    CopyTargetRow,
    CounterfactualRow,
    DeploymentRow,
    DeploymentSchemaRow,
    EndpointFailureRow,
    FeedbackRecordRow,
    FigureDayRow,
    MonitorRow,
    PayloadKeyRow,
    PayloadRecordRow,
    RecordCountRow,
)
from ..domain.alert import DEFAULT_RULES, RuleContent
from ..domain.deployment import (
    HEALTHY,
    OPEN_FOR,
    OPENS_AFTER_FAILURES,
    BreakerState,
    Column,
    Deployment,
    Endpoint,
    EndpointHealth,
    ModelFacts,
    RecordSchema,
    RecordTables,
    has_protected_columns,
)
from ..domain.monitor import Monitor
from ..domain.paging import Paging
from .monitor.queries import read_monitor


@frozen_by_name
class Definition(ModelFacts):
    """Everything that people define of a deployment, its columns included."""

    features: tuple[Column, ...]
    meta: tuple[Column, ...]


def build_definition(deployment: Deployment) -> Definition:
    return read_row(Definition, deployment, features=deployment.schema.features, meta=deployment.schema.meta)


IS_OPEN = EndpointFailureRow.open_until.between(func.now(), func.now() + OPEN_FOR).label("is_open")


def record_no_answer(session: Session, deployment_no: int, reason: str) -> None:
    first_failure = select(DeploymentRow.no, literal(1), literal(reason)).where(
        DeploymentRow.no == deployment_no
    )
    insertion = postgresql_insert(EndpointFailureRow).from_select(
        ["deployment_no", "failures", "reason"], first_failure
    )
    failures = EndpointFailureRow.failures + 1
    next_failure = {
        "failures": failures,
        "reason": reason,
        "failed_at": func.now(),
        "open_until": case((failures >= OPENS_AFTER_FAILURES, func.now() + OPEN_FOR)),
    }
    session.execute(
        insertion.on_conflict_do_update(index_elements=[EndpointFailureRow.deployment_no], set_=next_failure)
    )


def record_answer(session: Session, deployment_no: int) -> None:
    session.execute(delete(EndpointFailureRow).where(EndpointFailureRow.deployment_no == deployment_no))


@frozen
class WatchedDeployment:
    deployment: Deployment
    monitor: Monitor | None


_MAX_SCHEMA_VERSION = 2**15 - 1
"""Every record carries its version in two bytes."""

_COLUMN_KEY_BYTES = 32


@frozen
class Deployments:
    """Stored deployments in one transaction; `_sealer` encrypts their secrets."""

    _session: Session
    _sealer: Sealer

    def create(self, deployment_id: str, definition: Definition) -> tuple[Deployment, bool]:
        """Creates a deployment, or reads the same one; returns also whether it is new.

        Raises:
            Conflict: there is one of that id with other content.
        """
        values = {
            **self._list_columns(definition),
            **self._new_column_key(definition),
            "id": deployment_id,
            "problem_type": definition.problem_type,
            "schema_version": 1,
        }
        insertion = (
            postgresql_insert(DeploymentRow)
            .values(values)
            .on_conflict_do_nothing(index_elements=[DeploymentRow.id])
        )
        no = self._session.scalar(insertion.returning(DeploymentRow.no))
        if no is not None:
            self._add_schema(no, 1, definition)
            for rule_id, content in DEFAULT_RULES.items():
                rule = {"deployment_no": no, "id": rule_id, "version": 1, **list_rule_columns(content)}
                self._session.execute(insert(AlertRuleRow).values(rule))
            return self.get_by_no(no), True
        stored = self.get(deployment_id)
        if build_definition(stored) != definition:
            raise Conflict(
                f"There is a deployment {deployment_id} already, with other content. Change it with PATCH, "
                "or choose another id."
            )
        return stored, False

    def get(self, deployment_id: str) -> Deployment:
        """Raises NotFound."""
        return self._require_one(_SELECT.where(DeploymentRow.id == deployment_id), deployment_id)

    def get_watched(self, deployment_id: str) -> WatchedDeployment:
        """Raises NotFound."""
        statement = _SELECT.add_columns(MonitorRow).outerjoin(
            MonitorRow, MonitorRow.deployment_no == DeploymentRow.no
        )
        row = self._session.execute(statement.where(DeploymentRow.id == deployment_id)).one_or_none()
        if row is None:
            raise NotFound("deployment", deployment_id)
        *rows, monitor = row
        return WatchedDeployment(self._read_deployment(*rows), monitor and read_monitor(monitor))

    def get_for_change(self, deployment_id: str) -> Deployment:
        """Locks it and its monitor against other changes; records may still be logged. Raises NotFound."""
        # FOR NO KEY UPDATE: writers of records, who hold FOR KEY SHARE, do not wait.
        lock = (
            select(DeploymentRow.no).where(DeploymentRow.id == deployment_id).with_for_update(key_share=True)
        )
        self._session.execute(lock)
        return self.get(deployment_id)

    def get_for_log(self, deployment_id: str) -> Deployment:
        """It cannot be deleted until the transaction ends. Raises NotFound."""
        lock = (
            select(DeploymentRow.no)
            .where(DeploymentRow.id == deployment_id)
            .with_for_update(read=True, key_share=True)
        )
        self._session.execute(lock)
        return self.get(deployment_id)

    def get_by_no(self, no: int) -> Deployment:
        """Raises NotFound."""
        return self._require_one(_SELECT.where(DeploymentRow.no == no), f"number {no}")

    def page(self, paging: Paging, *, only_no: int | None = None) -> list[Deployment]:
        statement = page_oldest(_SELECT.where(*equal({DeploymentRow.no: only_no})), DeploymentRow.no, paging)
        return [self._read_deployment(*rows) for rows in self._session.execute(statement)]

    def change(self, deployment: Deployment, definition: Definition) -> Deployment:
        """Other columns make a new schema version; stored records keep theirs."""
        before = build_definition(deployment)
        if before == definition:
            return deployment
        version = deployment.schema.version
        if (before.features, before.meta) != (definition.features, definition.meta):
            version += 1
            if version > _MAX_SCHEMA_VERSION:
                raise Conflict(
                    f"The columns of {deployment.id} have changed {version - 2:,} times, which is the "
                    "maximum. Register another deployment."
                )
            self._add_schema(deployment.no, version, definition)
        values = {**self._list_columns(definition), "schema_version": version, "updated_at": func.now()}
        if (
            self._session.scalar(select(DeploymentRow.column_key).where(DeploymentRow.no == deployment.no))
            is None
        ):
            values |= self._new_column_key(definition)
        self._session.execute(update(DeploymentRow).where(DeploymentRow.no == deployment.no).values(values))
        if before.endpoint != definition.endpoint:
            record_answer(self._session, deployment.no)
        return self.get_by_no(deployment.no)

    def delete(self, deployment_id: str) -> None:
        no = self.get_for_change(deployment_id).no
        # Checks and attributions first: a worker that stores a result holds its row, and needs the
        # deployment's row after it; the other order could end in a deadlock. Then the full lock, which waits
        # for writers of records and keeps new ones out.
        self._session.execute(delete(CheckRow).where(CheckRow.deployment_no == no))
        self._session.execute(delete(AttributionRow).where(AttributionRow.deployment_no == no))
        self._session.execute(select(DeploymentRow.no).where(DeploymentRow.no == no).with_for_update())
        targets = select(CopyTargetRow.no).where(CopyTargetRow.deployment_no == no)
        self._session.execute(delete(CounterfactualRow).where(CounterfactualRow.target_no.in_(targets)))
        for table in (
            FeedbackRecordRow,
            PayloadRecordRow,
            PayloadKeyRow,
            RecordCountRow,
            ArrivalRow,
            ChangedHourRow,
            FigureDayRow,
        ):
            self._session.execute(delete(table).where(table.deployment_no == no))
        self._session.execute(delete(DeploymentRow).where(DeploymentRow.no == no))

    def verify_sealer(self) -> None:
        """Raises what `unseal` raises if another key sealed a stored secret."""
        for column in (DeploymentRow.credentials, DeploymentRow.column_key):
            sealed = self._session.scalar(select(column).where(column.is_not(None)).limit(1))
            if sealed is not None:
                self._sealer.unseal(sealed)

    def column_keys(self, numbers: Collection[int]) -> dict[int, bytes]:
        statement = select(DeploymentRow.no, DeploymentRow.column_key).where(DeploymentRow.no.in_(numbers))
        rows = self._session.execute(statement.where(DeploymentRow.column_key.is_not(None)))
        return {no: self._sealer.unseal(sealed) for no, sealed in rows if sealed is not None}

    def _new_column_key(self, definition: Definition) -> dict[str, bytes]:
        if not has_protected_columns(definition.features, definition.meta):
            return {}
        begin_sealing(self._session)
        return {"column_key": self._sealer.seal(os.urandom(_COLUMN_KEY_BYTES))}

    def _require_one(
        self, statement: Select[DeploymentRow, DeploymentSchemaRow, EndpointFailureRow, bool], name: str
    ) -> Deployment:
        row = self._session.execute(statement).one_or_none()
        if row is None:
            raise NotFound("deployment", name)
        return self._read_deployment(*row)

    def _add_schema(self, no: int, version: int, definition: Definition) -> None:
        self._session.execute(
            insert(DeploymentSchemaRow).values(
                deployment_no=no, version=version, features=definition.features, meta=definition.meta
            )
        )

    def _list_columns(self, definition: Definition) -> JsonObject:
        endpoint = definition.endpoint
        stored_endpoint = None
        sealed = None
        if endpoint is not None:
            stored_endpoint = msgspec.to_builtins(replace(endpoint, credentials=None, headers={}, tls=None))
            secrets: JsonObject = {"headers": dict(endpoint.headers)} if endpoint.headers else {}
            if endpoint.tls is not None:
                secrets["tls"] = asdict(endpoint.tls)
            credentials = endpoint.credentials
            if credentials is not None:
                secrets["secret"] = credentials.secret
                stored_endpoint |= {
                    "credentials_kind": credentials.kind,
                    "credentials_name": credentials.name,
                    "token_url": credentials.token_url,
                    "scope": credentials.scope,
                }
            if secrets:
                # The credentials alone, or all as JSON after a NUL, which no secret holds.
                is_alone = secrets.keys() == {"secret"}
                secret_text = str(secrets["secret"]) if is_alone else f"\0{json.dumps(secrets)}"
                begin_sealing(self._session)
                sealed = self._sealer.seal(secret_text.encode())
        plain = ("name", "owner", "purpose", "outputs", "model_revision", "earliest")
        return {name: getattr(definition, name) for name in plain} | {
            "endpoint": stored_endpoint,
            "record_tables": definition.payload and RecordTables(definition.payload, definition.feedback),
            "credentials": sealed,
        }

    def _read_deployment(
        self,
        row: DeploymentRow,
        schema: DeploymentSchemaRow,
        failures: EndpointFailureRow | None,
        is_open: bool | None,  # noqa: FBT001 - a column
    ) -> Deployment:
        endpoint = None
        tables = read_tables(row.record_tables)
        if row.endpoint:
            stored = row.endpoint
            secrets: JsonObject = {}
            if row.credentials is not None:
                plain = self._sealer.unseal(row.credentials)
                secrets = json.loads(plain[1:]) if plain[:1] == b"\0" else {"secret": plain.decode()}
            opened = {"headers": secrets.get("headers", {}), "tls": secrets.get("tls"), "credentials": None}
            if secrets.get("secret") is not None:
                opened["credentials"] = stored | {
                    "kind": stored["credentials_kind"],
                    "name": stored["credentials_name"],
                    "secret": secrets["secret"],
                }
            endpoint = msgspec.convert(stored | opened, Endpoint)
        health = HEALTHY
        if failures is not None:
            states = {None: BreakerState.CLOSED, True: BreakerState.OPEN, False: BreakerState.HALF_OPEN}
            health = read_row(
                EndpointHealth, failures, state=states[is_open], tried_again_at=failures.open_until
            )
        return read_row(
            Deployment,
            row,
            schema=read_row(RecordSchema, schema),
            endpoint=endpoint,
            payload=tables.payload,
            feedback=tables.feedback,
            health=health,
        )


_SELECT = (
    select(DeploymentRow, DeploymentSchemaRow, EndpointFailureRow, IS_OPEN)
    .join(
        DeploymentSchemaRow,
        and_(
            DeploymentSchemaRow.deployment_no == DeploymentRow.no,
            DeploymentSchemaRow.version == DeploymentRow.schema_version,
        ),
    )
    .outerjoin(EndpointFailureRow, EndpointFailureRow.deployment_no == DeploymentRow.no)
)


def list_rule_columns(content: RuleContent) -> JsonObject:
    config = {name: getattr(content, name) for name in ("name", "remind_after_hours", "condition")}
    return {"kind": content.kind, "config": config, "enabled": content.enabled}


def find_existing_numbers(session: Session, numbers: Collection[int]) -> set[int]:
    """Deployments of these cannot be deleted until the transaction ends."""
    statement = select(DeploymentRow.no).where(DeploymentRow.no.in_(numbers)).order_by(DeploymentRow.no)
    return set(session.scalars(statement.with_for_update(read=True, key_share=True)))


def hold_deployment(session: Session, deployment_no: int, *, alone: bool = False) -> bool:
    """Keeps a deployment from being deleted; returns False if it is gone or being deleted.

    `alone` also keeps other transactions from holding it, and returns False if one does. Lock a check's row
    before: so does the deletion of a deployment.
    """
    lock = select(DeploymentRow.no).where(DeploymentRow.no == deployment_no)
    return session.scalar(lock.with_for_update(read=not alone, key_share=True, skip_locked=True)) is not None


def read_tables(stored: Mapping[str, Any] | None) -> RecordTables:
    return msgspec.convert(stored or {}, RecordTables)
