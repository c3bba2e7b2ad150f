"""Watched deployments whose records are given hour by hour, and the evidence on them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from app.database.engine import Database
from app.database.partitions import ensure_months
from app.deployments.monitor.queries import find_monitor
from app.domain.check import DataSet
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.monitor import EvidenceSettings, Monitor, MonitoredAttribute, OutcomeRule
from app.evidence.queries.eras import Era, find_era, read_followed_deployment
from app.evidence.queries.figure_states import StoredFigure, find_era_figures
from app.evidence.update import update_deployment
from app.sources.stored.window_queries import note_changed_hours
from tests.connections import connect
from tests.scenes import HOUR, NOON, Scene, scene

SEX = MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",), threshold=0.8, upper_threshold=1.25)
TEXT: dict[str, Any] = {"type": FieldType.STRING, "kind": FieldKind.CATEGORICAL}
START = NOON


@dataclass(frozen=True)
class Logged:
    """One record: its hour, who it is about, the model's answer, and the label that was observed."""

    hour: datetime
    sex: str
    approved: int
    label: int | None = None
    person: str | None = None
    minute: int = 0
    place: str = "here"


def watched(
    database: Database,
    *,
    evidence: EvidenceSettings | None = None,
    deployment_id: str = "a-model",
    **more: Any,  # noqa: ANN401 - a monitor's members
) -> Scene:
    """A deployment whose approvals are watched by sex; each record is another person, unless a column says whose it is."""
    settings = evidence or EvidenceSettings()
    settings = settings if settings.person is not None else replace(settings, each_record_another_person=True)
    attributes = more.pop("attributes", (SEX,))
    monitor = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=attributes, evidence=settings, **more)
    columns = (Column(name="sex", **TEXT), Column(name="place", **TEXT))
    return scene(
        database, columns, monitor, endpoint=None, meta=(Column(name="person", **TEXT),), probability=None, deployment_id=deployment_id
    )


def world(ratios: Sequence[float], seed: int, *, records: int = 60, share: float = 0.4, base: float = 0.6) -> list[Logged]:
    """Hours in which women are approved with these ratios of the men's rate. Labels agree with the answers in 8 of 10 cases."""
    rng = np.random.default_rng(seed)
    logged = []
    for number, ratio in enumerate(ratios):
        for _ in range(records):
            is_female = rng.random() < share
            approved = int(rng.random() < base * (ratio if is_female else 1))
            label = approved if rng.random() < 0.8 else 1 - approved
            logged.append(Logged(START + number * HOUR, "female" if is_female else "male", approved, label, minute=int(rng.integers(60))))
    return logged


def log(stage: Scene, records: Iterable[Logged], *, first_no: int, noted: bool = False, revision: str = "1") -> None:
    """Stores the records. `noted` notes their hours as changed, as the write of an import does."""
    several = list(records)
    with stage.database.transaction() as session:
        ensure_months(session, sorted({(one.hour.year, one.hour.month) for one in several}))
        if noted:
            note_changed_hours(session, stage.deployment.no, sorted({one.hour for one in several}))
    no = stage.deployment.no
    with connect(stage.database.url) as connection, connection.cursor() as cursor:
        rows = [
            (one, first_no + place, f"{first_no}-{place}", one.hour.replace(minute=one.minute, microsecond=place % 1_000_000))
            for place, one in enumerate(several)
        ]
        with cursor.copy("COPY payload_keys (deployment_no, record_id, record_no, logged_at) FROM STDIN") as copy:
            for _, number, name, at in rows:
                copy.write_row((no, name, number, at))
        with cursor.copy(
            "COPY payload_records (deployment_no, logged_at, record_no, record_id, schema_version, model_revision, scored_at, features,"
            " meta, prediction) FROM STDIN"
        ) as copy:
            for record, number, name, at in rows:
                columns = (json.dumps([record.sex, record.place]), json.dumps([record.person]), json.dumps(record.approved))
                copy.write_row((no, at, number, name, 1, revision, at, *columns))
        with cursor.copy(
            "COPY feedback_records (deployment_no, feedback_id, feedback_no, logged_at, schema_version, label, record_no,"
            " record_logged_at, usable_at) FROM STDIN"
        ) as copy:
            for record, number, name, at in rows:
                if record.label is not None:
                    copy.write_row((no, name, number, at, 1, json.dumps(record.label), number, at, at))


def update(stage: Scene, until: datetime) -> int:
    """Brings the evidence up to date with the hours before `until`."""
    return update_deployment(stage.database, stage.deployment.no, until)


def import_labels(stage: Scene, labels: Iterable[tuple[str, object]], known_at: datetime) -> None:
    """Stores labels of records that are there, known at that time, and notes the hours of the records, as a historical import does."""
    no = stage.deployment.no
    with connect(stage.database.url) as connection:
        for record_id, label in labels:
            hours = connection.execute(
                """INSERT INTO feedback_records (deployment_no, feedback_id, feedback_no, logged_at, schema_version, label,
                                                 record_no, record_logged_at, usable_at)
                   SELECT deployment_no, record_id, 1000000 + record_no, %(at)s, 1, %(label)s,
                          record_no, logged_at, greatest(%(at)s, logged_at)
                   FROM payload_keys WHERE deployment_no = %(no)s AND record_id = %(id)s RETURNING record_logged_at""",
                {"at": known_at, "label": json.dumps(label), "no": no, "id": record_id},
            ).fetchone()
            assert hours is not None, record_id
            connection.execute("INSERT INTO changed_hours (deployment_no, hour) VALUES (%s, date_trunc('hour', %s, 'UTC'))", (no, *hours))


def present_era(stage: Scene, revision: str | None = None) -> Era:
    """The era of the present monitor with the present model revision, or with that one."""
    with stage.database.transaction() as session:
        monitor, deployment = find_monitor(session, stage.deployment.no), read_followed_deployment(session, stage.deployment.no)
        assert monitor is not None
        era = find_era(session, deployment.no, revision or deployment.model_revision)
    assert era is not None
    return era


def states(stage: Scene, revision: str | None = None) -> dict[tuple[DataSet, str, str, str], tuple[datetime, datetime, bool, bytes]]:
    """First hour, end, staleness and state of every figure of the present era, or of the one of that model revision."""
    era = present_era(stage, revision)
    assert era.problem is None, era.problem
    return {
        (figure.place.data, figure.place.attribute, figure.group, figure.metric): (
            figure.first_hour,
            figure.until,
            figure.is_stale,
            figure.state,
        )
        for figure in read_figures(stage, era)
    }


def read_figures(stage: Scene, era: Era) -> Sequence[StoredFigure]:
    """All that is stored of the figures of an era, the newest of its model revision."""
    with stage.database.transaction() as session:
        stored = find_era_figures(session, stage.deployment.no, era.model_revision)
    assert stored is not None
    assert stored.era == era
    return stored.present
