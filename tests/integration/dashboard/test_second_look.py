"""The totals in a sentence, compared with worlds whose truth is known, and the list of records to look at again."""

import html
import json
import re
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from app.base.values import Range
from app.database.engine import Database
from app.domain.deployment import Endpoint
from app.domain.monitor import DisplayNames, GroupName, MonitoredAttribute
from app.pages.record.second_look_page import MAX_COUNTED_FLAGS, say_flags
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.page_words import says, words
from tests.builders.statements import counted
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, scene
from tests.service import RunningService

PAGE = "/deployments/a-model"
NAMED = DisplayNames(
    favourable="rated No Risk",
    groups=(GroupName(feature="sex", group="female", name="women"), GroupName(feature="sex", group="male", name="men")),
)
AGE = MonitoredAttribute(feature="age", monitored=(Range(30, 39),), reference=(Range(40, 49),))


def statements(page: str) -> list[str]:
    return [html.unescape(re.sub(r"<[^>]*>", "", one)) for one in re.findall(r"<strong data-statement>(.*?)</strong>", page)]


@pytest.mark.nightly
def test_the_totals_are_those_of_the_world_in_every_hour(
    database: Database, reader: httpx.Client, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    # The model approves every man, and a woman only if she is rich: as a man, each woman who is not would be approved.
    with serve(RuleScorer()) as server:
        stage = scene(database, APPLICANT, replace(monitor_of(SEX, AGE), names=NAMED), endpoint=Endpoint(url=server.url))
        said, truth = [], []
        for place, (men, women, rich) in enumerate(((10, 10, 2), (30, 41, 17), (25, 12, 12))):
            stage.log(applicants(men, women, rich, prefix=f"{place}-"), NOON + place * HOUR)
            stage.check(NOON + place * HOUR)
            said.append(statements(reader.get(f"{PAGE}/transactions").text))
            refused = women - rich
            truth.append((refused, women))
    of_check = [statements(reader.get(f"{PAGE}/transactions", params={"check": check["id"]}).text) for check in checks_of(reader)]

    assert tmp_path
    # Each sentence leads to exactly the records that it counts.
    page = reader.get(f"{PAGE}/transactions", params={"check": checks_of(reader)[1]["id"]}).text
    (of_women,) = re.findall(r'<strong data-statement><a href="([^"]*)">24 of 41', page)
    listed = reader.get(html.unescape(of_women)).text
    assert "24 records fit the filter." in words(listed)
    assert len(set(re.findall(r"<code><bdi>(1-[^<]*)</bdi></code>", listed))) == 24
    for sentences, (refused, women) in zip(said, truth, strict=True):
        assert says("\n".join(sentences), *([str(refused)] if refused else []), f"{women} women", "men")
    assert said == snapshot
    assert [sorted(one) for one in reversed(of_check)] == [sorted(one) for one in said]


def checks_of(reader: httpx.Client) -> list[dict[str, str]]:
    found: list[dict[str, str]] = reader.get("/v1/deployments/a-model/checks").json()["checks"]
    return found


def test_without_an_endpoint_or_a_check_no_total_is_said(database: Database, reader: httpx.Client) -> None:
    stage = scene(database, APPLICANT, monitor_of(SEX), endpoint=None)
    before = reader.get(f"{PAGE}/transactions")
    stage.log(applicants(20, 20, 4), NOON)
    stage.check(NOON)
    after = [reader.get(f"{PAGE}/{page}") for page in ("transactions", "second-look")]

    assert [statements(page.text) for page in (before, *after)] == [[], [], []]
    assert "No record is flagged." in after[1].text


@pytest.mark.nightly
def test_the_list_has_every_flag_largest_gap_first_with_buttons_for_those_who_may_label(
    database: Database,
    service: RunningService,
    reader: httpx.Client,
    browser: httpx.Client,
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
) -> None:
    with serve(RuleScorer()) as server:
        stage = scene(database, APPLICANT, monitor_of(SEX, AGE), endpoint=Endpoint(url=server.url))
        stage.log(applicants(20, 20, 5), NOON)
        stage.check(NOON)
    listed = service.client.get("/v1/deployments/a-model/flagged-records").json()["flagged_records"]
    with counted(monkeypatch) as sent:
        page = service.client.get(f"{PAGE}/second-look", headers={"Accept": "text/html"}).text
    first = listed[0]["record"]["id"]
    label = {"records": [{"id": first, "label": listed[0]["record"]["prediction"]}]}
    service.client.post("/v1/deployments/a-model/feedback-records", json=label).raise_for_status()
    with counted(monkeypatch) as sent_after:
        labelled = service.client.get(f"{PAGE}/second-look", headers={"Accept": "text/html"}).text
    browser.post("/login", data={"key": service.key(Role.READ)})
    of_reader = browser.get(f"{PAGE}/second-look").text
    filtered = service.client.get(f"{PAGE}/second-look?attribute=age", headers={"Accept": "text/html"}).text

    assert len(listed) == 15
    assert re.findall(r"<code><bdi>(.*?)</bdi></code>", page) == [flagged["record"]["id"] for flagged in listed]
    assert all(flagged["why"] in words(page) for flagged in listed)
    assert page.count("data-label-form") == 15
    assert says(words(page), "15")
    assert words(page) == snapshot
    assert f'value="{html.escape(json.dumps(first), quote=True)}"'.replace("&quot;", "&#34;") in page
    assert labelled.count("data-label-form") == 14
    assert "data-label-value" not in of_reader
    assert words(filtered) == snapshot(name="filtered")
    assert sent == sent_after
    assert reader.get(f"{PAGE}/second-look?gap=nan").status_code == 422


@pytest.mark.parametrize(
    ("listed", "total", "is_all", "expected"),
    [(1, 1, True, "1 flag in all"), (50, 120, False, "50 flags of 120"), (50, MAX_COUNTED_FLAGS + 1, False, "50 flags of more than 1,000")],
)
def test_the_line_above_the_list_says_of_how_many_flags(listed: int, total: int, expected: str, *, is_all: bool) -> None:
    said = say_flags(listed, total, is_all=is_all)

    assert said.startswith(expected)
