"""The page of records sorted by gap, and its CSV, which has the same order and begins before the log is searched."""

import html
import re
from collections.abc import Iterator, Sequence

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.database.engine import Database
from app.domain.deployment import Endpoint
from app.records import routes as payload_records
from app.records.record_list import RecordListPage, RecordListQuery, list_matching_records
from app.sources.stored import record_queries as stored
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, Scene, SceneMemory, scene
from tests.service import RunningService

PAGE = "/deployments/a-model/transactions"
CSV = "/v1/deployments/a-model/payload-records.csv"


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serve(RuleScorer()) as running:
        yield running


@pytest.fixture
def stage(database: Database, server: ModelServer, memory: SceneMemory) -> Scene:
    """Ten men and ten women, of whom the first two are rich, checked, with gaps that differ; then 60 men, whom no check looked at."""

    def make() -> Scene:
        watched = scene(database, APPLICANT, monitor_of(SEX), endpoint=Endpoint(url=server.url))
        watched.log(applicants(10, 10, 2), NOON)
        watched.check(NOON)
        watched.log(applicants(60, 0, prefix="b"), NOON + HOUR)
        with watched.database.transaction() as session:
            session.execute(text("UPDATE flagged_records SET gap = (record_no % 7) / 10.0"))
        return watched

    return memory.recall(database, make)


def ids(page: str) -> list[str]:
    return re.findall(r"<code><bdi>(.*?)</bdi></code></a>", page)


def flagged(stage: Scene) -> Sequence[str]:
    by_gap = "SELECT k.record_id FROM flagged_records f JOIN payload_keys k ON k.record_no = f.record_no ORDER BY gap DESC, f.record_no"
    with stage.database.transaction() as session:
        return session.scalars(text(by_gap)).all()


def test_the_order_goes_on_over_pages_and_the_csv_has_it_too(stage: Scene, service: RunningService, reader: httpx.Client) -> None:
    first = reader.get(f"{PAGE}?sort=gap").text
    further = html.unescape(re.findall(r'href="([^"]*)" rel="next"', first)[0])
    shown = [*ids(first), *ids(reader.get(f"{PAGE}{further}").text)]
    address = html.unescape(re.findall(r'href="(/v1/[^"]*\.csv[^"]*)" download', first)[0])
    sent = [line.split(",")[0] for line in service.client.get(address).text.splitlines()[1:]]

    assert shown[:8] == list(flagged(stage))
    assert len(shown) == len(set(shown)) == 80
    assert sent == shown
    assert 'aria-sort="descending"' in first
    assert reader.get(f"{PAGE}{further.replace('sort=gap', 'sort=newest')}").status_code == 422


def test_filters_and_order_are_combined(stage: Scene, reader: httpx.Client) -> None:
    women = reader.get(f"{PAGE}?sort=gap&attribute=sex&group=female&outcome=unfavourable").text

    assert ids(women) == list(flagged(stage))
    assert '<option value="gap" selected>' in women


def test_a_csv_of_a_filter_that_fits_nothing_begins_before_the_log_is_searched(
    stage: Scene, service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "MAX_SCANNED", 30)
    reads: list[RecordListPage] = []

    def noted(session: Session, deployment_no: int, wanted: RecordListQuery) -> RecordListPage:
        reads.append(list_matching_records(session, deployment_no, wanted))
        return reads[-1]

    monkeypatch.setattr(payload_records, "list_matching_records", noted)
    nothing = {"attribute": "sex", "group": "male", "outcome": "unfavourable"}
    with stage.database.transaction() as session:
        first = noted(session, stage.deployment.no, RecordListQuery(**nothing))  # type: ignore[arg-type]
    assert (len(first.records), len(reads)) == (0, 1)
    assert first.next_place is not None

    answer = service.client.get(CSV, params=nothing)

    assert len(answer.text.splitlines()) == 1
    assert [len(one.records) for one in reads] == [0, 0, 0, 0]
