"""Evidence over time on records in files: the counts and states of logged records, whatever files they come in, and its alerts."""

import os
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from app.alerts.evaluate import evaluate_evidence
from app.database.engine import Database
from app.database.tables import ChangedHourRow, EvidenceHourRow
from app.domain.monitor import EvidenceSettings
from app.evidence.present_state import read_deployment_evidence
from app.evidence.queries.eras import find_era
from app.evidence.queries.figure_states import find_era_figures
from app.evidence.update import update_deployment, update_evidence
from app.worker.looks import look_for_late_files
from tests.builders.evidence_worlds import SEX, START, import_labels, present_era, update, watched, world
from tests.builders.lakes import Lake, lake_of
from tests.examples import many
from tests.scenes import HOUR, Scene
from tests.service import RunningService, running_service

HORIZON = EvidenceSettings(label_horizon_hours=3)
HOURS = 6
END = START + 40 * HOUR
"""Long enough after the last label that labels are not waited for any more."""

RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "sex": st.sampled_from(["female", "male", "other", None]),
            "prediction": st.sampled_from([0, 1, 7]),
            "minute": st.integers(0, HOURS * 60 - 1),
            "revision": st.sampled_from(["1", "1", "0"]),
            "truth": st.sampled_from([None, 0, 1]),
            "delay": st.integers(0, 400),
        }
    ),
    min_size=1,
    max_size=40,
)


def in_files(stage: Scene, folder: Path) -> Lake:
    """A deployment with the same monitor, whose records lie there."""
    return lake_of(stage, folder, deployment_id=uuid.uuid4().hex)


def count(lake: Lake, until: datetime = END) -> None:
    """Lists the files, and counts the hours before that moment."""
    look_for_late_files(lake.stage.database, lake.stage.places.roots)
    update_deployment(lake.stage.database, lake.stage.deployment.no, until, places=lake.stage.places)


def hours_of(stage: Scene) -> list[tuple[object, ...]]:
    """The stored counts of all hours of the present era."""
    with stage.database.transaction() as session:
        era = find_era(session, stage.deployment.no, stage.deployment.model_revision)
        row = EvidenceHourRow
        found = session.execute(select(row.data, row.attribute, row.hour, row.cells).where(row.era_no == (era and era.no))).all()
    return sorted((data, attribute, hour, sorted(map(tuple, cells), key=str)) for data, attribute, hour, cells in found)


def states_of(stage: Scene) -> dict[object, object]:
    """The state of each figure, by its key."""
    with stage.database.transaction() as session:
        stored = find_era_figures(session, stage.deployment.no, stage.deployment.model_revision)
    return {} if stored is None else {figure.key: (figure.first_hour, figure.state) for figure in stored.present}


def write(lake: Lake, rows: Sequence[dict[str, Any]], *, labels: bool = True) -> None:
    """Writes records as a file, and their labels as others."""
    if rows:
        lake.write(rows, START)
    for row in rows if labels else ():
        if row["truth"] is not None:
            lake.label([(row["id"], row["truth"])], row["at"] + timedelta(minutes=row["delay"]))


@pytest.mark.nightly
@settings(max_examples=many(10), deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
@given(records=RECORDS, cut=st.integers(0, 41), order=st.randoms(use_true_random=False))
def test_files_have_the_counts_and_states_of_logged_records(
    database: Database, records: list[dict[str, Any]], cut: int, order: Random
) -> None:
    stage = watched(database, evidence=HORIZON, deployment_id=uuid.uuid4().hex, attributes=(replace(SEX, reference=None),))
    # Files are counted up to the last hour they reach, and logged records up to now: the last record brings both to the same hour, whose
    # threshold depends on the comparisons that there are by then.
    records = [*records, {"sex": None, "prediction": 7, "minute": 40 * 60 - 1, "revision": "1", "truth": None, "delay": 0}]
    rows = [row | {"id": str(no), "at": START + timedelta(minutes=row["minute"]), "place": "x"} for no, row in enumerate(records)]
    for row in rows:
        stage.log([row | {"person": None}], row["at"], revision=row["revision"])
        if row["truth"] is not None:
            import_labels(stage, [(row["id"], row["truth"])], row["at"] + timedelta(minutes=row["delay"]))
    update(stage, END)

    mixed = order.sample(rows, len(rows))
    with TemporaryDirectory() as folder:
        lake = in_files(stage, Path(folder))
        write(lake, mixed[:cut])
        count(lake)
        # Late files, and a second listing in which nothing has changed.
        write(lake, mixed[cut:])
        count(lake)
        count(lake)
        at_once = in_files(stage, Path(folder) / "at-once")
        write(at_once, rows)
        count(at_once)

    assert hours_of(lake.stage) == hours_of(at_once.stage) == hours_of(stage)
    assert states_of(at_once.stage) == states_of(lake.stage) == states_of(stage)


@pytest.mark.nightly
def test_labels_count_whose_records_come_days_after_they_were_waited_for(database: Database, tmp_path: Path) -> None:
    stage = watched(database, evidence=HORIZON)
    rows = [
        {"id": str(no), "at": START + HOUR, "sex": sex, "place": "x", "prediction": 1, "truth": 1, "delay": 5}
        for no, sex in enumerate(["female", "male"])
    ]
    lake, at_once = in_files(stage, tmp_path / "late"), in_files(stage, tmp_path / "at-once")
    count(lake)
    write(lake, rows)
    write(at_once, rows)
    count(lake)
    count(at_once)

    assert {data for data, *_ in hours_of(at_once.stage)} == {"as_logged", "labelled"}
    assert hours_of(lake.stage) == hours_of(at_once.stage)


def falling(lake: Lake, ratios: Sequence[float], first: int = 0) -> None:
    """Writes a file for each hour in which women are approved with that ratio of the men's rate."""
    by_hour: dict[datetime, list[dict[str, Any]]] = {}
    for no, record in enumerate(world([1.0] * first + list(ratios), seed=1, records=120)):
        row = {"id": f"{first}-{no}", "sex": record.sex, "place": "x", "prediction": record.approved}
        by_hour.setdefault(record.hour, []).append(row | {"at": record.hour + timedelta(minutes=record.minute)})
    for hour in sorted(by_hour)[first:]:
        lake.write(by_hour[hour], hour)


@pytest.fixture
def lake(database: Database, tmp_path: Path) -> Lake:
    """A deployment whose records lie in files, with the rule that it starts with."""
    stage = watched(database, metrics=("disparate_impact",))
    return in_files(stage, tmp_path)


def test_hours_that_no_file_has_reached_are_not_counted_as_empty(lake: Lake) -> None:
    falling(lake, [1.0] * 3)
    count(lake, START + 20 * HOUR)
    assert present_era(lake.stage).counted_until == START + 3 * HOUR

    falling(lake, [1.0] * 2, first=3)
    count(lake, START + 20 * HOUR)
    assert present_era(lake.stage).counted_until == START + 5 * HOUR
    with lake.stage.database.transaction() as session:
        assert session.scalars(select(ChangedHourRow.hour)).all() == []


@pytest.mark.thorough
def test_a_file_that_goes_or_cannot_be_read_is_tried_again(lake: Lake, database: Database) -> None:
    falling(lake, [1.0, 0.5, 1.0])
    count(lake)
    before = hours_of(lake.stage)
    file = sorted((lake.folder / "payload").glob("*.parquet"))[1]
    kept = file.read_bytes()
    file.unlink()
    count(lake)
    assert hours_of(lake.stage) == [one for one in before if one[2] != START + HOUR]

    # Listed, then damaged before it is counted: the next update says why, and the one after its repair counts it.
    file.write_bytes(kept)
    look_for_late_files(database, (lake.folder,))
    file.write_bytes(kept[:100])
    update_evidence(database, grace=timedelta(0), places=lake.stage.places)
    assert "cannot be read" in str(present_era(lake.stage).problem)
    file.write_bytes(kept)
    update_evidence(database, grace=timedelta(0), places=lake.stage.places)
    assert present_era(lake.stage).problem is None
    assert hours_of(lake.stage) == before


def test_a_late_file_whose_times_cannot_be_read_is_listed_again(lake: Lake, database: Database) -> None:
    falling(lake, [1.0, 1.0, 1.0])
    count(lake)
    before = hours_of(lake.stage)
    rows = [{"id": f"late{no}", "sex": sex, "place": "x", "prediction": 1} for no, sex in enumerate(["female", "male"])]
    late = lake.write(rows, START + HOUR)
    status = late.stat()
    content = late.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    # The span is in the footer, the hours are in the rows.
    late.write_bytes(content[:4] + bytes(footer - 4) + content[footer:])
    os.utime(late, ns=(status.st_atime_ns, status.st_mtime_ns))
    look_for_late_files(database, (lake.folder,))

    # As after a short failure of a store: the same file, of the same size and time.
    late.write_bytes(content)
    os.utime(late, ns=(status.st_atime_ns, status.st_mtime_ns))
    count(lake)

    assert {counts[2] for counts in hours_of(lake.stage) if counts not in before} == {START + HOUR}


def test_a_monitor_that_names_people_says_that_files_cannot_have_them(lake: Lake) -> None:
    lake.stage.watch(replace(lake.stage.monitor(), evidence=EvidenceSettings(person="person")))
    falling(lake, [1.0])
    look_for_late_files(lake.stage.database, (lake.folder,))
    update_evidence(lake.stage.database, grace=timedelta(0), places=lake.stage.places)
    with lake.stage.database.transaction() as session:
        found = read_deployment_evidence(session, lake.stage.deployment.no)
    assert found is not None
    assert all("which record of a person was the first" in str(comparison.reason) for comparison in found.comparisons)


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    """The service, which may read that folder."""
    with running_service(database, tmp_path / "data", table_roots=str(tmp_path)) as service:
        yield service


@pytest.mark.nightly
def test_the_rule_that_a_deployment_starts_with_opens_an_alert_with_its_page_and_report(lake: Lake, service: RunningService) -> None:
    falling(lake, [1.0] * 20 + [0.3] * 15)
    lake.check(START + 34 * HOUR)
    count(lake, START + 40 * HOUR)
    evaluate_evidence(lake.stage.database)

    name = lake.stage.deployment.id
    (alert,) = service.client.get("/v1/alerts?state=open").json()["alerts"]
    assert (alert["kind"], alert["group"]) == ("unfair", "female")
    onset = datetime.fromisoformat(alert["facts"]["since"]) if "facts" in alert else datetime.fromisoformat(alert["since"])
    assert abs(onset - (START + 20 * HOUR)) <= 2 * HOUR
    pages = {path: service.client.get(path, headers={"Accept": "text/html"}) for path in (f"/alerts/{alert['id']}", f"/deployments/{name}")}
    assert [page.status_code for page in pages.values()] == [200, 200]
    assert all(words in page.text for words, page in zip(("less often than", "Unfair since"), pages.values(), strict=True))
    evidence = service.client.get(f"/v1/deployments/{name}/evidence").json()
    assert "Unfair" in {comparison["state"] for comparison in evidence["comparisons"]}
    plan = service.client.get(f"/v1/deployments/{name}/evidence/plan")
    assert plan.status_code == 200
    assert plan.json()["comparisons"][0]["hours"] is not None
    report = service.client.get(f"/v1/deployments/{name}/report.html")
    assert report.status_code == 200
    assert "less often than" in report.text


@pytest.mark.thorough
def test_where_times_are_dates_a_block_is_a_day_and_no_hour_is_named(lake: Lake) -> None:
    days = [START.replace(hour=0) + timedelta(days=number) for number in range(12)]
    for number, one in enumerate(days):
        rows = [
            {"id": f"{number}-{no}", "sex": record.sex, "place": "x", "prediction": record.approved}
            for no, record in enumerate(world([0.3 if number >= 6 else 1.0], seed=number, records=200))
        ]
        lake.write(rows, one)
    # The last day is not over.
    count(lake, days[-1] + 5 * HOUR)
    with lake.stage.database.transaction() as session:
        found = read_deployment_evidence(session, lake.stage.deployment.no)

    assert found is not None
    assert {hour for *_, hour, _ in hours_of(lake.stage)} == set(days[:-1])
    unfair = next(one for one in found.comparisons if one.statement is not None and one.statement.row == 1)
    assert unfair.since == days[6]
    assert unfair.start_text is not None
    assert unfair.statement is not None
    assert all(":" not in words for words in (unfair.start_text, unfair.statement.sentence))
    assert "The newest day alone lies outside." in unfair.statement.sentence
    assert unfair.alarm_at is not None
    assert unfair.alarm_at in {day + timedelta(days=1) for day in days[6:]}
