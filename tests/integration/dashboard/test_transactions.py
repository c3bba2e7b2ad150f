"""The pages of records, over what a real check of a model that can be read has stored."""

import html
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urljoin

import httpx
import pytest
from sqlalchemy import text, update
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from app.base.values import Range
from app.database.engine import Database
from app.database.tables import CheckRow
from app.deployments.monitor.queries import delete_monitor
from app.domain.check import CheckState
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType
from app.domain.mitigation import ONLY_DIRECT
from app.domain.monitor import MonitoredAttribute
from app.sources.stored import record_queries as stored
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.bodies import deployment
from tests.builders.husbands import COLUMNS, THROUGH_ROLE, HusbandsFirst, people, train
from tests.builders.husbands import SEX as META_SEX
from tests.builders.page_words import says, words
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, Scene, SceneMemory, scene
from tests.service import RunningService

PAGE = "/deployments/a-model/transactions"
AGE = MonitoredAttribute(feature="age", monitored=(Range(30, 39),), reference=(Range(40, 49),))
HOSTILE = "<script>alert('x')</script> & \"so\" on"
IDS = [
    "plain",
    "a/b",
    "a//b/",
    "/lead",
    "../../activity",
    "..",
    ".",
    "%2e%2e",
    "100%25",
    "with  space",
    "?check=1#x",
    "Größe 😀 العربية",
    "a'; DROP TABLE payload_records; --",
    "\\",
    HOSTILE,
    "{{ 7 * 7 }}",
    "x" * 256,
]


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serve(RuleScorer()) as running:
        yield running


@pytest.fixture
def stage(database: Database, server: ModelServer, memory: SceneMemory) -> Scene:
    """Ten men, who are approved, and ten women, of whom the first two are rich; checked."""

    def make() -> Scene:
        watched = scene(database, APPLICANT, monitor_of(SEX, AGE, intersections=(("sex", "age"),)), endpoint=Endpoint(url=server.url))
        watched.log(applicants(10, 10, 2), NOON)
        watched.check(NOON)
        return watched

    return memory.recall(database, make)


def content(answer: httpx.Response) -> str:
    assert answer.status_code == 200, words(answer.text)
    return answer.text.partition("<main")[2].partition("</main>")[0]


def rows(page: str) -> list[str]:
    """What each row of the first table says."""
    return [
        words(row).strip() for row in re.findall(r"<tr[^>]*>(.*?)</tr>", page.partition("<tbody>")[2].partition("</tbody>")[0], re.DOTALL)
    ]


def addresses(page: str) -> list[str]:
    """Where the rows of a list lead to."""
    return [html.unescape(found) for found in re.findall(r'<th scope="row"[^>]*><a [^>]*href="([^"]*)"', page)]


def older(page: str) -> str | None:
    found = re.search(r'href="([^"]*)" rel="next"', page)
    return None if found is None else html.unescape(found[1])


def browsed(address: str) -> str:
    """The address as a browser asks for it: it takes `..` and `%2e%2e` for steps in the path."""
    path, mark, query = address.partition("?")
    return urljoin("http://host", re.sub("%2e", ".", path, flags=re.IGNORECASE)).removeprefix("http://host") + mark + query


def ids(reader: httpx.Client, query: str) -> set[str]:
    return set(re.findall(r"<code><bdi>(.*?)</bdi></code></a>", content(reader.get(f"{PAGE}?{query}"))))


def numbers(*ranges: range) -> set[str]:
    return {str(no) for each in ranges for no in each}


@pytest.mark.usefixtures("stage")
def test_the_list_shows_newest_first_what_was_decided_of_whom_and_what_changes_it(reader: httpx.Client) -> None:
    page = content(reader.get(PAGE))

    newest, oldest = rows(page)[0], rows(page)[-1]
    assert len(rows(page)) == 20
    assert newest.startswith("2026-03-02 12:00:00 UTC 19 female monitored 49 reference 0 unfavourable 0.1000 sex would be favourable 0.80")
    assert newest.endswith("favourable found by a check: sex")
    assert oldest == "2026-03-02 12:00:00 UTC 0 male reference 30 monitored 1 favourable 0.9000 sex would be unfavourable – –"
    assert addresses(page)[0] == f"{PAGE}/19"
    assert ONLY_DIRECT in words(page)


def test_of_two_classes_the_list_shows_the_probability_of_the_favourable_one(stage: Scene, reader: httpx.Client) -> None:
    decided = [(1, [0.2, 0.8]), (0, [0.7, 0.3])]
    stage.log(
        [
            {**applicants(1, 0)[0], "id": f"p{prediction}", "prediction": prediction, "probability": probability}
            for prediction, probability in decided
        ],
        NOON + HOUR,
    )

    both = rows(content(reader.get(f"{PAGE}?since=2026-03-02T13:00")))
    favourable = rows(content(reader.get(f"{PAGE}?since=2026-03-02T13:00&outcome=favourable")))

    assert " 0 unfavourable 0.3000 " in both[0]
    assert " 1 favourable 0.8000 " in both[1]
    # Of one outcome alone nothing shows which class the probabilities are of.
    assert " 1 favourable 0.2000 / 0.8000 " in favourable[0]


@pytest.mark.usefixtures("stage")
def test_each_filter_leaves_what_it_says_and_stays_chosen(reader: httpx.Client) -> None:
    female, both = quote('["sex","female"]'), quote('["sex × age","female × 40-49"]')

    assert ids(reader, f"among={female}") == ids(reader, "attribute=sex&group=female") == numbers(range(10, 20))
    assert ids(reader, f"among={both}") == numbers(range(10, 20))
    assert ids(reader, f"among={quote(chr(91) + chr(34) + 'age' + chr(34) + chr(93))}&changed=none&outcome=favourable") == numbers(
        range(12)
    )
    assert ids(reader, "outcome=unfavourable&changed=&mitigated=&since=&until=&among=") == numbers(range(12, 20))
    assert ids(reader, "changed=lost&attribute=sex") == numbers(range(10))
    assert ids(reader, "mitigated=changed") == numbers(range(12, 20))
    assert ids(reader, "since=2026-03-02T12:00&until=2026-03-02T12:01") == numbers(range(20))
    assert ids(reader, "since=2026-03-02T13:00:00.5%2B01:00&until=2026-03-02T12:00:00Z") == set()
    page = content(reader.get(f"{PAGE}?among={female}&outcome=unfavourable&changed=gained&since=2026-03-02T12:00"))
    assert re.findall(r"<option [^>]* selected>([^<]*)", page)[:3] == ["sex: female", "unfavourable", "a copy would be favourable"]
    assert 'value="2026-03-02T12:00"' in page
    assert "limit=50" in page
    assert "records fit the filter." in words(page)
    assert "/v1/deployments/a-model/payload-records?since=2026-03-02T12%3A00%3A00Z&amp;attribute=sex&amp;group=female" in page


def test_the_json_beside_a_page_has_its_records(stage: Scene, service: RunningService, reader: httpx.Client) -> None:
    stage.log([{**applicant, "id": f"b{applicant['id']}"} for applicant in applicants(40, 40)], NOON + HOUR)
    first, men = content(reader.get(PAGE)), content(reader.get(f"{PAGE}?attribute=sex&group=male"))
    second = content(reader.get(f"{PAGE}{older(first)}"))

    for page in (first, second, men):
        address = html.unescape(re.search(r'href="(/v1/[^"]*)" download="', page)[1])  # type: ignore[index]
        found = service.client.get(address).json()["payload_records"]
        assert [f"{PAGE}/{one['id']}" for one in found] == addresses(page)
    assert [len(addresses(page)) for page in (first, second, men)] == [50, 50, 50]
    assert not set(addresses(first)) & set(addresses(second))
    assert older(second) is None


def test_a_record_is_linked_and_found_again_whatever_its_id(stage: Scene, reader: httpx.Client, subtests: pytest.Subtests) -> None:
    for number, record_id in enumerate(IDS, start=1):
        hour = NOON + number * HOUR
        stage.log([{**applicants(0, 1)[0], "id": record_id}], hour)
        with subtests.test(record_id=record_id):
            listed = content(reader.get(f"{PAGE}?since={hour:%Y-%m-%dT%H:%M}"))
            (address,) = addresses(listed)
            page = content(reader.get(browsed(address)))
            as_json = re.search(r'href="(/v1/[^"]*)" download="', page)

            assert f"Record <bdi>{html.escape(record_id, quote=True).replace('&quot;', '&#34;').replace('&#x27;', '&#39;')}</bdi>" in page
            assert f"Record {record_id}".replace("  ", " ") in words(page).replace("  ", " ")
            assert says(words(page), "0", "unfavourable")
            assert HOSTILE not in listed + page
            if record_id in {".", ".."}:
                assert as_json is None
            else:
                assert as_json is not None
                assert reader.get(browsed(html.unescape(as_json[1]))).json()["id"] == record_id


def test_one_record_says_first_what_the_model_says_with_another_value(
    stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    stage.label([("15", 1)], NOON + HOUR)
    said = words(page := content(reader.get(f"{PAGE}/15")))

    assert says(said.replace("\n", " "), "0", "unfavourable", "sex", "male", "1")
    assert rows(page)[0] == "as logged – 0 0.1000 unfavourable –"
    assert rows(page)[1] == "sex male reference 1 0.9000 favourable yes: would be favourable"
    assert all(re.fullmatch(r"age 3\d drawn from 30-39 monitored 0 0.1000 unfavourable no", row) for row in rows(page)[2:4])
    assert len(rows(page)) == 4
    assert says(said.replace("\n", " "), "sex × age", "female × 40-49", "monitored")
    assert ONLY_DIRECT in said
    assert said == snapshot


@pytest.mark.usefixtures("stage")
def test_a_record_that_no_copy_changes_says_so(reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    said = words(content(reader.get(f"{PAGE}/10")))

    assert says(said.replace("\n", " "), "1", "favourable", "sex", "age")
    assert said == snapshot


def test_the_records_of_a_check_are_listed_and_say_how_it_read_them(
    stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    stage.watch(monitor_of(SEX, min_records=10))
    stage.log([{**applicant, "id": f"c{applicant['id']}"} for applicant in applicants(2, 2)], NOON + HOUR)
    check = stage.check(NOON + HOUR, trigger="schedule").run  # type: ignore[arg-type]

    listed = content(reader.get(f"{PAGE}?check={check.id}"))
    own, earlier, outside = (words(content(reader.get(f"{PAGE}/{no}?check={check.id}"))) for no in ("c0", "19", "0"))

    assert len(rows(listed)) == 10
    assert "2026-03-02 13:00 to 14:00 UTC" in words(listed)
    assert words(listed) == snapshot(name="list")
    assert [row.count("the check's own time") for row in rows(listed)] == [1] * 4 + [0] * 6
    assert [row.count("added from earlier") for row in rows(listed)] == [0] * 4 + [1] * 6
    assert addresses(listed)[0] == f"{PAGE}/c3?check={check.id}"
    assert (own, earlier, outside) == snapshot(name="records")
    carried = stage.check(NOON + 2 * HOUR, trigger="schedule").run  # type: ignore[arg-type]
    assert words(content(reader.get(f"{PAGE}/c0?check={carried.id}"))) == snapshot(name="carried")
    assert len(rows(content(reader.get(f"{PAGE}?check={carried.id}")))) == 10


def test_a_check_that_read_nothing_is_told_and_not_refused(stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    empty = stage.check(NOON - 5 * HOUR).run
    failed = stage.check(NOON - 6 * HOUR).run
    with stage.database.transaction() as session:
        session.execute(update(CheckRow).where(CheckRow.no == failed.no).values(state=CheckState.FAILED, window=None))

    assert words(content(reader.get(f"{PAGE}?check={empty.id}"))) == snapshot(name="empty")
    assert words(content(reader.get(f"{PAGE}?check={failed.id}"))) == snapshot(name="failed")
    assert words(content(reader.get(f"{PAGE}/3?check={failed.id}"))) == snapshot(name="record")
    assert reader.get(f"{PAGE}?check=00000000-0000-0000-0000-000000000000").status_code == 404


@pytest.mark.usefixtures("stage")
def test_an_empty_page_says_how_far_it_looked_and_goes_on(
    reader: httpx.Client, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr(stored, "MAX_SCANNED", 6)
    page = content(reader.get(f"{PAGE}?attribute=sex&group=male"))
    found: list[str] = []

    assert says(words(page), "2026-03-02 12:00 UTC")
    assert words(page) == snapshot
    while (further := older(page)) is not None:
        page = content(reader.get(f"{PAGE}{further}"))
        found += addresses(page)
    assert found == [f"{PAGE}/{no}" for no in reversed(range(10))]


@pytest.mark.usefixtures("stage")
def test_empty_lists_say_what_to_do(service: RunningService, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    service.client.post("/v1/deployments", json=deployment(id="quiet")).raise_for_status()
    quiet = words(content(reader.get("/deployments/quiet/transactions")))
    none = words(content(reader.get(f"{PAGE}?until=2020-01-01T00:00")))

    assert quiet == snapshot(name="quiet")
    assert none == snapshot(name="none")


def test_without_a_monitor_records_are_shown_as_they_were_logged(stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    with stage.database.transaction() as session:
        delete_monitor(session, stage.deployment.no)

    listed, one = content(reader.get(PAGE)), words(content(reader.get(f"{PAGE}/15")))

    assert rows(listed)[0] == "2026-03-02 12:00:00 UTC 19 0 0.1000 favourable found by a check: sex"
    assert 'name="outcome"' not in listed
    assert one == snapshot
    assert reader.get(f"{PAGE}?outcome=favourable").status_code == 409


def test_copies_that_an_earlier_monitor_asked_for_stand_apart(stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    stage.watch(monitor_of(MonitoredAttribute(feature="sex", monitored=("male",), reference=("other",))))

    said = words(content(reader.get(f"{PAGE}/15")))

    assert says(said, "3")
    assert said == snapshot


def test_what_the_mitigated_endpoint_answered_is_next_to_the_models_own_answer(
    stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    mitigated = (
        '{"prediction": 1, "probability": 0.9, "label": null, "changed": true, "changed_by": ["sex"], "mitigation": "changed",'
        ' "mode": "parity", "settings_version": 2, "profile_version": 3}'
    )
    with stage.database.transaction() as session:
        session.execute(text("UPDATE payload_records SET mitigated = CAST(:it AS jsonb) WHERE record_id = '15'"), {"it": mitigated})

    listed, said = rows(content(reader.get(f"{PAGE}?mitigated=changed"))), words(content(reader.get(f"{PAGE}/15")))

    assert any(row.endswith("1 favourable answered, changed by sex") for row in listed)
    assert says(said.replace("\n", " "), "1", "favourable", "0", "unfavourable", "0.9000", "0.1000")
    assert said == snapshot


def test_names_and_values_of_every_sort_are_shown_as_text(database: Database, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    columns = (
        Column(name=HOSTILE, type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
        Column(name="n", type=FieldType.NUMBER, kind=FieldKind.NUMERIC),
    )
    watched = scene(
        database,
        columns,
        monitor_of(MonitoredAttribute(feature=HOSTILE, monitored=(HOSTILE,), reference=None)),
        endpoint=None,
        meta=(Column(name="town", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),),
    )
    people = [(HOSTILE, 1e-7, 0), ("", None, 1), (None, 2.5, "perhaps"), ("m × n", 1, 1)]
    row: dict[str, Any] = {"town": "<b>", "probability": [0.4999999, 0.5000001]}
    watched.log([{**row, HOSTILE: a, "n": n, "prediction": p, "id": f"r{no}"} for no, (a, n, p) in enumerate(3 * people)], NOON)
    watched.check(NOON)

    listed = content(reader.get(PAGE))
    pages = [content(reader.get(f"{PAGE}/r{no}")) for no in range(4)]

    assert HOSTILE not in listed + "".join(pages)
    assert "<b>" not in listed + "".join(pages)
    assert "perhaps in neither outcome list 0.4999999 / 0.5000001" in words(listed)
    assert "0.0000001" in words(pages[0])
    assert '<span title="As logged: 0.4999999 / 0.5000001">0.4999999 / 0.5000001</span>' in pages[0]
    assert "missing in no group" in words(pages[2])
    assert words(pages[0]) == snapshot
    assert {": m × n", ": (blank)"} <= set(re.findall(r"(: m × n|: \(blank\))</option>", listed))


def test_a_copy_of_a_meta_field_says_which_features_it_borrowed(
    database: Database, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    with serve(HusbandsFirst()) as server:
        married = scene(database, COLUMNS, monitor_of(THROUGH_ROLE), endpoint=Endpoint(url=server.url), meta=(META_SEX,))
        train(married)
        married.log(people(10), NOON)
        married.check(NOON)

    page = content(reader.get(f"{PAGE}/0"))

    assert says(words(page).replace("\n", " "), "0", "unfavourable", "role", "sex", "male", "1")
    assert rows(page)[1] == "sex male reference by role = husband 1 0.9000 favourable yes: would be favourable"
    assert words(page) == snapshot


def test_another_deployments_records_are_not_found(stage: Scene, service: RunningService, browser: httpx.Client) -> None:
    service.client.post("/v1/deployments", json=deployment(id="another")).raise_for_status()
    other = service.client.get("/v1/deployments/another")
    assert other.status_code == 200
    with stage.database.transaction() as session:
        no = session.execute(text("SELECT no FROM deployments WHERE id = 'another'")).scalar_one()
    browser.post("/login", data={"key": service.key(Role.READ, no)})

    assert [browser.get(path).status_code for path in (PAGE, f"{PAGE}/15")] == [404, 404]
    assert browser.get("/deployments/another/transactions").status_code == 200
    assert browser.get("/deployments/another/transactions/15").status_code == 404


UNREADABLE = [
    "check=1",
    "since=yesterday",
    "until=0001-01-01T00:00%2B14:00",
    "cursor=!!",
    "outcome=good",
    "changed=all",
    "attribute=colour",
    "attribute=sex&group=women",
    "group=female",
    "group=%00",
    "among=x",
    "among=[]",
    "among=" + quote('["sex","\\u0000"]'),
    "among=" + quote('["sex","\\ud800"]'),
    "among=" + quote('["sex","female",1]'),
]


@pytest.mark.usefixtures("stage")
def test_a_filter_that_cannot_be_is_told_on_a_page(reader: httpx.Client, subtests: pytest.Subtests) -> None:
    for query in UNREADABLE:
        with subtests.test(query=query):
            answer = reader.get(f"{PAGE}?{query}")

            assert answer.status_code == 422
            assert "The request breaks a rule" in answer.text


@pytest.mark.usefixtures("stage")
def test_a_record_that_is_not_there_is_told_on_a_page(reader: httpx.Client, subtests: pytest.Subtests) -> None:
    for path in ("none", "", "?id=none", "%00", "15?check=1", "%FF"):
        with subtests.test(path=path):
            answer = reader.get(f"{PAGE}/{path}")
            assert answer.status_code in {404, 422}
            assert "<h1>" in answer.text
