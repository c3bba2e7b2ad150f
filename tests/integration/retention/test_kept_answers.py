"""Kept answers about records in files live as long as the policies say, and no longer than the deployment."""

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from app.access.audit.activity_queries import record_activity
from app.base.clock import utc_now
from app.database.engine import Database
from app.deployments.queries import Definition, Deployments, build_definition
from app.domain.deployment import Endpoint, PayloadTable, TableFormat
from app.retention.erase import perform_erasures
from app.retention.expire import apply_policies, delete_left_files
from app.retention.policy import RecordSelector, RetentionPolicy
from app.retention.queries import DELETED_TABLE, place_hold, put_policy, release_hold, request_erasure
from app.sources.tables.own_files import OwnPlaces, _list_own_files
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.lakes import Lake, lake_of
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, PlainSealer, scene

pytestmark = pytest.mark.thorough

KEPT = 63
"""Of the older check: 60 copies, and 3 records that were asked again."""


@pytest.fixture
def lake(database: Database, tmp_path: Path) -> Iterator[Lake]:
    """A deployment with kept answers of two hours, those of the first asked for a year ago."""
    with serve(RuleScorer()) as server:
        lake = lake_of(scene(database, APPLICANT, monitor_of(SEX), endpoint=Endpoint(url=server.url)), tmp_path)
        for no in range(2):
            lake.write(applicants(30, 30, 10, prefix=f"h{no}-"), NOON + no * HOUR)
            lake.check(NOON + no * HOUR)
            if no == 0:
                age(answer_files(lake))
        yield lake


def own(lake: Lake) -> Path:
    return lake.folder / "payload" / "_evenhand"


def places(lake: Lake) -> OwnPlaces:
    return OwnPlaces((lake.folder,))


def answer_files(lake: Lake) -> list[Path]:
    return sorted(file for file in own(lake).glob("*/*.parquet") if file.parent.name != "flagged")


def age(files: list[Path]) -> None:
    for file in files:
        then = (utc_now() - timedelta(days=365)).timestamp()
        os.utime(file, (then, then))


def put(lake: Lake, policy: RetentionPolicy, no: int | None = None) -> None:
    with lake.stage.database.transaction() as session:
        put_policy(session, lake.stage.deployment.no if no is None else no, policy)


@pytest.mark.parametrize(
    "policy", [RetentionPolicy(answers_months=6), RetentionPolicy(records_months=6), RetentionPolicy(records_months=24, answers_months=6)]
)
def test_aged_answers_are_deleted_and_counted(lake: Lake, policy: RetentionPolicy) -> None:
    before = answer_files(lake)
    other = before[0].parent / "notes.txt"
    other.touch()
    age([other])
    put(lake, policy)

    (ended,) = apply_policies(lake.stage.database, places(lake))

    assert ended.counts["kept_answers"] == KEPT
    assert len(answer_files(lake)) == len(before) // 2
    assert other.exists()
    assert apply_policies(lake.stage.database, places(lake)) == []
    assert len(list((lake.folder / "payload").glob("*.parquet"))) > 0


def test_an_erasure_takes_a_record_out_of_answers_and_flags_and_counts_them(lake: Lake) -> None:
    files = [file for file in own(lake).rglob("*.parquet") if "h0-40" in pq.read_table(file)["record_id"].to_pylist()]
    ages = {file: file.stat().st_mtime_ns for file in files}
    database, deployment = lake.stage.database, lake.stage.deployment
    with database.transaction() as session:
        selector = RecordSelector(record_ids=("h0-40", "never-logged"))
        request_erasure(session, deployment.no, deployment.id, erasure_id="e-1", selector=selector, by="user:eve")
    (ended,) = perform_erasures(database, places(lake), settled_after=timedelta(0))

    assert {file.parent.name == "flagged" for file in files} == {True, False}
    assert ended.counts == {"flagged_records": 1, "kept_answers": 1}
    assert not [file for file in own(lake).rglob("*.parquet") if "h0-40" in pq.read_table(file)["record_id"].to_pylist()]
    assert {file: file.stat().st_mtime_ns for file in files if file.parent.name != "flagged"}.items() <= ages.items()


def test_every_kind_of_file_with_a_records_id_is_one_that_an_erasure_rewrites(lake: Lake) -> None:
    kinds = {file.suffix for file in own(lake).rglob("*") if file.is_file() and b"h0-40" in file.read_bytes()}
    with_ids = {file for file in own(lake).rglob("*") if file.is_file() and b"h0-" in file.read_bytes()}

    assert kinds <= {".parquet"}
    assert with_ids <= {*_list_own_files(own(lake))}


def test_a_hold_keeps_them_and_so_does_a_deployment_that_shares_the_folder(lake: Lake) -> None:
    database, no, before = lake.stage.database, lake.stage.deployment.no, answer_files(lake)
    put(lake, RetentionPolicy(answers_months=6))
    with database.transaction() as session:
        place_hold(session, no, reason="a lawsuit", by="a lawyer")
    apply_policies(database, places(lake))
    assert answer_files(lake) == before

    with database.transaction() as session:
        release_hold(session, no, by="a lawyer")
        shared, _ = Deployments(session, PlainSealer()).create("shared", lake_definition(lake))
    apply_policies(database, places(lake))
    assert answer_files(lake) == before

    put(lake, RetentionPolicy(answers_months=24), shared.no)
    apply_policies(database, places(lake))
    assert answer_files(lake) == before

    put(lake, RetentionPolicy(answers_months=3), shared.no)
    assert [applied.counts for applied in apply_policies(database, places(lake))] == [{"kept_answers": KEPT}]
    assert len(answer_files(lake)) == len(before) // 2


def lake_definition(lake: Lake) -> Definition:
    return build_definition(lake.stage.deployment)


def delete(lake: Lake) -> None:
    """Deletes the deployment as its route does."""
    deployment = lake.stage.deployment
    assert deployment.payload is not None
    with lake.stage.database.transaction() as session:
        details = {DELETED_TABLE: [[deployment.payload.location, deployment.payload.format.value], None]}
        record_activity(session, "somebody", "deployment.deleted", deployment=deployment, details=details)
        Deployments(session, PlainSealer()).delete(deployment.id)


def test_files_of_a_deleted_deployment_are_deleted_and_nothing_else(lake: Lake) -> None:
    payload = sorted((lake.folder / "payload").glob("*.parquet"))
    content = [file.read_bytes() for file in payload]
    mine, linked = own(lake) / "notes.txt", own(lake) / ("a" * 32)
    mine.touch()
    linked.symlink_to(lake.folder / "payload")
    assert delete_left_files(lake.stage.database, places(lake)) == 0
    delete(lake)

    assert delete_left_files(lake.stage.database, OwnPlaces()) == 0
    assert answer_files(lake)
    # A process that died in between has left some of them.
    answer_files(lake)[0].unlink()
    apply_policies(lake.stage.database, places(lake))

    assert [file.read_bytes() for file in payload] == content
    assert sorted(own(lake).iterdir()) == [linked, mine]
    assert delete_left_files(lake.stage.database, places(lake)) == 0


def test_files_that_another_deployment_uses_stay(lake: Lake) -> None:
    with lake.stage.database.transaction() as session:
        Deployments(session, PlainSealer()).create("shared", lake_definition(lake))
    before = answer_files(lake)
    delete(lake)
    assert delete_left_files(lake.stage.database, places(lake)) == 0
    assert answer_files(lake) == before


def test_the_folder_of_files_is_never_outside_of_what_the_operator_names(tmp_path: Path) -> None:
    table = PayloadTable(location="/elsewhere/scores")
    assert OwnPlaces((tmp_path,)).folder("credit", table) is None
    assert OwnPlaces((tmp_path,)).folder("credit", PayloadTable(location="bank/lake/scores", format=TableFormat.JDBC)) is None
    assert OwnPlaces((), tmp_path / "answers").folder("credit", table) == tmp_path / "answers" / "credit"
