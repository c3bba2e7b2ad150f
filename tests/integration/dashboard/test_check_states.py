"""The list of checks, and the pages of checks that run or ended without figures."""

import html
from dataclasses import replace
from typing import Any

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from app.domain.check import CheckState, Failure
from tests.builders.applicants import applicants, monitor_of
from tests.builders.heartbeats import let_a_worker_answer
from tests.builders.page_words import says, words
from tests.integration.dashboard.check_pages import CHECKS, HOSTILE, checked, set_check
from tests.scenes import HOUR, NOON, Scene
from tests.service import RunningService


def test_the_list_shows_each_check_with_its_state_records_verdict_and_who_asked(
    stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    checked(stage)
    stage.log(applicants(20, 5, prefix="next"), NOON + HOUR)
    stage.watch(monitor_of(min_records=40))
    stage.check(NOON + HOUR)

    text = reader.get(CHECKS).text
    rows = [words(row) for row in text.partition("<tbody>")[2].split("</tr>")]
    assert "2026-03-02 13:00 to 14:00 UTC" in rows[0]
    assert "25 + 15 earlier" in rows[0]
    assert "2026-03-02 12:00 to 13:00 UTC" in rows[1]
    assert says(rows[1], "succeeded", "unfair", "50")
    assert rows == snapshot
    assert "key test" in rows[1]


def test_a_check_that_read_the_newest_records_only_says_so_at_its_top(stage: Scene, reader: httpx.Client) -> None:
    stage.log(applicants(20, 30), NOON)
    stage.watch(monitor_of(max_records=40))
    stage.check(NOON)
    (check,) = reader.get(f"/v1{CHECKS}").json()["checks"]
    text = words(reader.get(f"{CHECKS}/{check['id']}").text)

    assert text.index("It read the newest 40 of 50 records.") < text.index("Report of this check")


def test_the_list_filters_by_state_and_says_so_where_there_is_none(stage: Scene, reader: httpx.Client) -> None:
    check = checked(stage)

    assert all(check.id in reader.get(CHECKS, params={"state": state}).text for state in ("succeeded", ""))
    failed = reader.get(CHECKS, params={"state": "failed"}).text.partition('id="of-tab"')[2]
    assert check.id not in failed
    assert "No check is in this state: failed." in failed


@pytest.mark.usefixtures("stage")
@pytest.mark.nightly
def test_the_list_goes_on_to_older_checks_under_the_same_filter(service: RunningService, reader: httpx.Client) -> None:
    for no in range(35):
        span = {"from": f"2026-02-01T{no // 2:02}:{no % 2 * 30:02}:00Z", "to": "2026-02-02T00:00:00Z"}
        assert service.client.post(f"/v1{CHECKS}", json=span).status_code == 202

    first = reader.get(CHECKS, params={"state": "queued"}).text
    older = html.unescape(first.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0])
    second = reader.get(CHECKS + older).text
    assert older.startswith("?state=queued&cursor=")
    assert (first.count('scope="row"'), second.count('scope="row"')) == (30, 5)
    assert "Show older ones" not in second


@pytest.mark.usefixtures("stage")
def test_an_empty_list_says_what_to_do(service: RunningService, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    waiting = words(reader.get(CHECKS).text)
    service.client.delete("/v1/deployments/a-model/fairness-monitor")
    unwatched = words(reader.get(CHECKS).text)

    assert "Check fairness now" not in unwatched
    assert waiting == snapshot(name="watched")
    assert unwatched == snapshot(name="without a monitor")


def test_a_check_that_runs_shows_how_far_it_is_and_can_be_cancelled_by_those_who_may(
    service: RunningService, stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    let_a_worker_answer(stage.database)
    check = stage.queue(replace(stage.check(NOON).run.span, start=NOON - HOUR))
    set_check(stage, check, progress={"step": "asking the model about copies", "done": 20, "total": 50})

    manager = reader.get(f"{CHECKS}/{check.id}").text
    reader.post("/login", data={"key": service.key(Role.READ)})
    only_reads = reader.get(f"{CHECKS}/{check.id}").text
    for text in (manager, only_reads):
        assert f'data-check="/v1{CHECKS}/{check.id}"' in text
        assert 'max="50" value="20"' in text
        assert says(words(text), "20 of 50")
    assert f'data-api="POST /v1{CHECKS}/{check.id}/cancellation"' in manager
    assert "cancellation" not in only_reads
    set_check(stage, check, cancel_requested=True)
    reader.post("/login", data={"key": service.admin_key})
    stopping = reader.get(f"{CHECKS}/{check.id}").text
    assert "/cancellation" not in stopping
    assert words(manager) == snapshot(name="running")
    assert words(stopping) == snapshot(name="stopping")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"failure": Failure.SCORING_FAILED}, "Test the model's endpoint on Configure and fix what the reason names. Then check again."),
        ({"failure": Failure.INVALID_INPUT}, "change on Configure what the reason names. Then check again."),
        ({"failure": Failure.INTERRUPTED}, "The workers' log says why they stopped. Then check again."),
        ({"failure": None}, "Look for {id} in the workers' log. Then check again."),
        ({"claimable_at": NOON}, "It is tried again automatically from 2026-03-02 12:00 UTC on."),
        ({"state": CheckState.CANCELLED}, "It stored no figures."),
        ({"state": CheckState.INSUFFICIENT_DATA, "window": {"records": 1, "min_records": 1200}}, "Log 1,199 more records, or lower"),
    ],
)
def test_a_check_that_ended_without_figures_says_why_and_what_to_do(
    stage: Scene, reader: httpx.Client, values: dict[str, Any], told: str
) -> None:
    let_a_worker_answer(stage.database)
    check = stage.queue(replace(stage.check(NOON).run.span, start=NOON - HOUR))
    set_check(stage, check, **({"state": CheckState.FAILED, "reason": HOSTILE, "finished_at": NOON} | values))

    said = words(reader.get(f"{CHECKS}/{check.id}").text)
    assert HOSTILE in said
    assert told.replace("{id}", check.id) in said
    assert "Check this time again" in said
    assert "Report" not in said
