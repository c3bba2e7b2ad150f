"""Files with flags of records live as long as the policy keeps the records that they are about."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from app.base.clock import utc_now
from app.database.engine import Database
from app.domain.deployment import Endpoint
from app.retention.expire import apply_policies
from app.retention.policy import RetentionPolicy
from app.retention.queries import place_hold, put_policy, release_hold
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.lakes import Lake, lake_of
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, scene

pytestmark = pytest.mark.thorough


@pytest.fixture
def lake(database: Database, tmp_path: Path) -> Iterator[Lake]:
    """A deployment with the flags of two hours of a month that is long over, whose policy keeps records for one month."""
    with serve(RuleScorer()) as server:
        lake = lake_of(scene(database, APPLICANT, monitor_of(SEX), endpoint=Endpoint(url=server.url)), tmp_path)
        for no in range(2):
            lake.write(applicants(30, 30, 10, prefix=f"h{no}-"), NOON + no * HOUR)
            lake.check(NOON + no * HOUR)
        with database.transaction() as session:
            put_policy(session, lake.stage.deployment.no, RetentionPolicy(records_months=1))
        yield lake


def flag_files(lake: Lake) -> list[Path]:
    return sorted((lake.folder / "payload" / "_evenhand" / "flagged").glob("*.parquet"))


def windows(lake: Lake) -> list[dict[str, Any]]:
    query = text('SELECT "window" FROM checks WHERE deployment_no = :no ORDER BY no')
    with lake.stage.database.transaction() as session:
        return list(session.scalars(query, {"no": lake.stage.deployment.no}))


def test_aged_flags_are_deleted_and_counted_and_no_check_names_their_file_any_more(lake: Lake) -> None:
    before, measured = windows(lake), lake.stage.count("measurements")
    answers = sorted((lake.folder / "payload" / "_evenhand").glob("*/*.parquet"))
    (other := flag_files(lake)[0].with_name("of-somebody-else.parquet")).touch()

    (ended,) = apply_policies(lake.stage.database)

    assert dict(ended.counts) == {"flagged_records": sum(window["flagged_records"]["sex"] for window in before)}
    assert flag_files(lake) == [other]
    assert [answer.exists() for answer in answers if answer.parent.name != "flagged"] == [True] * (len(answers) - 2)
    assert windows(lake) == [{name: value for name, value in window.items() if name != "flag_file"} for window in before]
    assert all(window["flagged_records"] for window in windows(lake))
    assert lake.stage.count("measurements") == measured
    assert apply_policies(lake.stage.database) == []


def test_a_hold_keeps_them(lake: Lake) -> None:
    database, no = lake.stage.database, lake.stage.deployment.no
    with database.transaction() as session:
        place_hold(session, no, reason="a lawsuit", by="a lawyer")
    assert apply_policies(database) == []
    assert len(flag_files(lake)) == 2

    with database.transaction() as session:
        release_hold(session, no, by="a lawyer")
    assert len(apply_policies(database)) == 1
    assert flag_files(lake) == []


def test_files_that_are_not_on_this_machine_stay_named_until_a_worker_reaches_them(lake: Lake) -> None:
    folder, before = flag_files(lake)[0].parent, windows(lake)
    away = folder.rename(lake.folder / "unmounted")
    with capture_logs() as logs:
        assert apply_policies(lake.stage.database) == []
    (line,) = [log for log in logs if log["event"] == "flag_files_out_of_reach"]
    assert (line["deployment"], line["files"], line["folder"]) == ("in-files", 2, str(folder))
    assert windows(lake) == before

    away.rename(folder)
    assert len(apply_policies(lake.stage.database)) == 1
    assert flag_files(lake) == []


def test_a_file_that_is_gone_or_not_whole_is_named_no_more(lake: Lake) -> None:
    first, second = flag_files(lake)
    first.unlink()
    second.write_bytes(b"half of")

    assert apply_policies(lake.stage.database) == []
    assert flag_files(lake) == []
    assert not any("flag_file" in window for window in windows(lake))


def test_a_file_that_a_newer_check_has_replaced_stays_for_as_long_as_its_records(lake: Lake) -> None:
    # A batch may get records of a later time, and its file has one name.
    with lake.stage.database.transaction() as session:
        shared = flag_files(lake)[0]
        query = text("""UPDATE checks SET "window" = jsonb_set("window", '{flag_file}', to_jsonb(CAST(:path AS text)))""")
        session.execute(query, {"path": str(shared)})
        newest = text("UPDATE checks SET span_end = :now WHERE no = (SELECT max(no) FROM checks)")
        session.execute(newest, {"now": utc_now()})

    assert apply_policies(lake.stage.database) == []
    assert shared.exists()
