"""Training data over HTTP: uploaded, read back, measured, replaced, forgotten."""

import io
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pandas as pd
import pytest
from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from app.deployments.training import routes as training_data
from app.web import body as uploads
from tests.builders.bodies import deployment, monitor
from tests.builders.page_words import says
from tests.service import RunningService

DEPLOYMENT = "/v1/deployments/credit-risk"
PATH = f"{DEPLOYMENT}/training-data"
ROWS = "Age,Sex,Owner,Risk\n20,female,true,Risk\n40,male,false,No Risk\n40,female,true,No Risk\n24,male,,No Risk\n"
DISTRIBUTION = {
    "distributions": [
        {
            "columns": ["Sex"],
            "counts": [
                {"values": ["female"], "label": "No Risk", "records": 30},
                {"values": ["female"], "label": "Risk", "records": 70},
                {"values": ["male"], "label": "No Risk", "records": 60},
                {"values": ["male"], "label": "Risk", "records": 40},
            ],
        }
    ]
}


@pytest.fixture
def client(service: RunningService) -> httpx.Client:
    """A client of a service that has a deployment."""
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    return service.client


def put(client: httpx.Client, content: str | bytes = ROWS, media_type: str = "text/csv", **query: str) -> httpx.Response:
    return client.put(PATH, content=content, params={"label": "Risk"} | query, headers={"Content-Type": media_type})


def put_monitor(client: httpx.Client, **changes: object) -> None:
    client.put(f"{DEPLOYMENT}/fairness-monitor", json=monitor(**changes)).raise_for_status()


def measured(client: httpx.Client, **of: str | None) -> dict[str, Any]:
    """The one measurement of the training data that fits."""
    answer = client.get(f"{PATH}/measurements")
    assert answer.status_code == 200, answer.text
    found = [figure for figure in answer.json()["measurements"] if all(figure[name] == value for name, value in of.items())]
    assert len(found) == 1, found
    only: dict[str, Any] = found[0]
    return only


def errors(answer: httpx.Response) -> list[tuple[str, str]]:
    return [(error["field"], error["message"]) for error in answer.json()["errors"]]


def test_an_upload_is_read_back_as_a_summary_and_distributions(client: httpx.Client) -> None:
    sent = put(client)

    read = client.get(PATH).json()
    assert sent.status_code == 200
    assert {name: value for name, value in read.items() if name != "distributions"} == sent.json()
    assert {name: sent.json()[name] for name in ("form", "label", "weight", "records", "absent", "schema_version")} == {
        "form": "csv",
        "label": "Risk",
        "weight": None,
        "records": 4,
        "absent": ["Postcode"],
        "schema_version": 1,
    }
    assert sent.json()["processed_at"].endswith("Z")
    assert sent.json()["processing_seconds"] > 0
    assert [distribution["columns"] for distribution in read["distributions"]] == [["Age"], ["Sex"], ["Owner"]]
    assert client.get(PATH, params={"column": "Owner"}).json()["distributions"] == [
        {
            "columns": ["Owner"],
            "note": None,
            "counts": [
                {"values": [False], "label": "No Risk", "records": 1, "weight": None},
                {"values": [True], "label": "No Risk", "records": 1, "weight": None},
                {"values": [True], "label": "Risk", "records": 1, "weight": None},
                {"values": [None], "label": "No Risk", "records": 1, "weight": None},
            ],
        }
    ]


def test_uploading_again_replaces_and_deleting_forgets(client: httpx.Client) -> None:
    put_monitor(client)
    put(client)
    parquet = io.BytesIO()
    pd.read_csv(io.StringIO(ROWS)).head(2).to_parquet(parquet)

    again = put(client, parquet.getvalue(), "application/vnd.apache.parquet")

    assert (again.status_code, again.json()["form"], again.json()["records"]) == (200, "parquet", 2)
    assert client.get(PATH).json()["records"] == 2
    assert measured(client, metric="class_imbalance", attribute="Sex", scope="group")["n"] == 2
    assert client.delete(PATH).status_code == 204
    assert [client.delete(PATH).status_code, client.get(PATH).status_code, client.get(f"{PATH}/measurements").status_code] == [404] * 3


def test_an_upload_that_is_refused_leaves_the_earlier_one(client: httpx.Client) -> None:
    put(client)

    refused = put(client, ROWS + "old,male,true,Risk\n")

    assert (refused.status_code, errors(refused)) == (422, [("columns.Age", "row 5: must be a whole number, found 'old'")])
    assert client.get(PATH).json()["records"] == 4


def test_uploads_at_the_same_time_leave_one_of_them_whole(service: RunningService, client: httpx.Client) -> None:
    sizes = [1, 2, 3]
    callers = [service.new_client(headers=service.as_(Role.MANAGE)) for _ in sizes]  # a key may send two at a time
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda caller, size: put(caller, "\n".join(ROWS.splitlines()[: size + 1])), callers, sizes))

    read = client.get(PATH).json()
    assert [answer.status_code for answer in answers] == [200] * 3
    assert read["records"] in sizes
    assert [sum(count["records"] for count in distribution["counts"]) for distribution in read["distributions"]] == [read["records"]] * 3


def test_a_ready_distribution_is_taken_as_json_and_measured(client: httpx.Client, snapshot: SnapshotAssertion) -> None:
    put_monitor(client)

    sent = client.put(PATH, json=DISTRIBUTION)

    assert (sent.status_code, sent.json()["form"], sent.json()["records"]) == (200, "distribution", 200)
    found = measured(client, metric="difference_in_proportions_of_labels", attribute="Sex", scope="group")
    assert found["value"] == pytest.approx(0.3)
    assert (found["data"], found["verdict"], found["check_id"]) == ("training", "unfair", None)
    assert "male" in found["sentence"]
    assert says(said := measured(client, metric="class_imbalance", attribute="Age", scope="pooled")["reason"], "Age")
    assert said == snapshot


def test_a_ready_distribution_that_breaks_a_rule_is_refused_by_its_field(client: httpx.Client, subtests: pytest.Subtests) -> None:
    for body, field in (
        ({}, "distributions"),
        ({"distributions": []}, "distributions"),
        ({**DISTRIBUTION, "more": 1}, "more"),
        ({"distributions": [{"columns": ["Sex"], "counts": [{"values": ["a"], "label": 1}]}]}, "distributions[0].counts[0].records"),
        (
            {"distributions": [{"columns": ["Sex"], "counts": [{"values": ["a"], "label": 1, "records": 1.5}]}]},
            "distributions[0].counts[0].records",
        ),
        (
            {"distributions": [{"columns": ["Sex"], "counts": [{"values": [{}], "label": 1, "records": 1}]}]},
            "distributions[0].counts[0].values[0]",
        ),
        ({"distributions": [{"columns": ["Gender"], "counts": []}]}, "distributions[0].columns[0]"),
    ):
        with subtests.test(body=body, field=field):
            answer = client.put(PATH, json=body)

            assert answer.status_code == 422
            assert [place for place, _ in errors(answer)] == [field]


def test_bodies_of_other_types_or_packed_ones_are_not_understood(client: httpx.Client) -> None:
    multipart = client.put(PATH, files={"file": ("a.csv", ROWS, "text/csv")})
    packed = client.put(PATH, content=b"x", headers={"Content-Type": "text/csv", "Content-Encoding": "gzip"})
    nothing = client.put(PATH)

    assert [multipart.status_code, packed.status_code, nothing.status_code] == [415, 415, 415]
    assert "application/json, text/csv, application/vnd.apache.parquet" in multipart.json()["detail"]
    assert "gzip" in packed.json()["detail"]


def test_text_is_read_in_the_encoding_that_it_says_and_json_is_utf_8(client: httpx.Client, subtests: pytest.Subtests) -> None:
    for content_type, expected in (
        ("text/csv; charset=latin-1", 200),
        ("text/csv; charset=base64", 415),
        ("text/csv; charset=utf-8; charset=latin-1", 415),
        ("text/csv;charset*=us-ascii'en'utf-16", 422),
        ('TEXT/CSV; header=present; Charset="UTF-8"', 200),
        ("text/csv; charset=utf8", 200),
        ("text/csv;", 200),
        ("application/json; charset=latin-1", 415),
    ):
        with subtests.test(content_type=content_type, expected=expected):
            answer = put(client, ROWS, content_type)

            assert answer.status_code == expected, answer.text
            assert expected == 200 or "UTF-" in answer.json()["detail"]


def test_a_parameter_that_is_misspelt_or_given_twice_is_refused_by_name(client: httpx.Client) -> None:
    headers = {"Content-Type": "text/csv"}
    misspelt = client.put(PATH, content=ROWS, params={"label": "Risk", "wieght": "Age"}, headers=headers)
    twice = client.put(PATH, content=ROWS, params=[("label", "Owner"), ("label", "Risk")], headers=headers)

    unknown = "is no parameter of this address; did you mean weight? It takes label, weight"
    assert (misspelt.status_code, errors(misspelt)) == (422, [("query.wieght", unknown)])
    assert (twice.status_code, errors(twice)) == (422, [("query.label", "is given 2 times; give it once")])
    assert client.get(PATH).status_code == 404


def test_labels_of_no_outcome_are_counted_and_refused_where_there_are_no_others(client: httpx.Client) -> None:
    without_monitor = put(client).json()
    put_monitor(client)
    some = put(client, ROWS.replace("20,female,true,Risk", "20,female,true,risk"))
    none = put(client, label="Sex")

    assert (without_monitor["unclassified"], without_monitor["unclassified_examples"]) == (None, [])
    assert (some.json()["unclassified"], some.json()["unclassified_examples"]) == (1, ["risk"])
    assert none.status_code == 422
    assert errors(none) == [
        (
            "label",
            "no label is among the monitor's outcomes: found 'female', 'male'; favourable are 'No Risk', unfavourable 'Risk'",
        )
    ]
    assert client.get(PATH).json()["unclassified"] == 1
    put_monitor(client, favourable=["No Risk", "risk"])
    assert client.get(PATH).json()["unclassified"] == 0


def test_weights_that_are_all_zero_are_measured_as_nothing_with_that_reason(client: httpx.Client) -> None:
    put_monitor(client, strata="Owner", intersections=[])
    rows = "".join(f"{line},{'w' if number == 0 else 0}\n" for number, line in enumerate(ROWS.splitlines()))

    assert put(client, rows, weight="w").status_code == 200

    found = [figure for figure in client.get(f"{PATH}/measurements").json()["measurements"] if figure["attribute"] == "Sex"]
    assert {one["value"] for one in found} == {None}
    rates = [figure for figure in found if figure["metric"] == "base_rate" and figure["group"]]
    assert {(rate["n"], rate["reason"]) for rate in rates} == {
        (2, "the records of female weigh nothing"),
        (2, "the records of male weigh nothing"),
    }


def test_metrics_of_records_are_answered_with_why_there_are_none(client: httpx.Client, snapshot: SnapshotAssertion) -> None:
    put_monitor(client)
    put(client)

    found = measured(client, metric="consistency")

    assert (found["data"], found["attribute"], found["value"], found["verdict"]) == ("training", None, None, "not_computable")
    assert found["reason"] == snapshot


def test_only_the_upload_takes_other_types_and_larger_bodies(client: httpx.Client) -> None:
    big = "Age,Sex,Owner,Risk\n" + "20,female,true,Risk\n" * 100_000

    assert put(client, big).json()["records"] == 100_000
    csv_elsewhere = client.put(f"{DEPLOYMENT}/fairness-monitor", content=ROWS, headers={"Content-Type": "text/csv"})
    big_elsewhere = client.put(f"{DEPLOYMENT}/fairness-monitor", content=big, headers={"Content-Type": "application/json"})
    assert (csv_elsewhere.status_code, big_elsewhere.status_code) == (415, 413)


@pytest.mark.parametrize("is_announced", [True, False])
def test_a_body_over_the_limit_is_refused(client: httpx.Client, monkeypatch: pytest.MonkeyPatch, *, is_announced: bool) -> None:
    monkeypatch.setattr(training_data, "MAX_FILE_BYTES", 2**20)
    body = b"x" * (2**20 + 1)
    content = body if is_announced else iter([body])

    answer = client.put(PATH, content=content, headers={"Content-Type": "text/csv"})

    assert (answer.status_code, answer.json()["detail"]) == (413, "The body is larger than 1 MiB.")


@pytest.mark.usefixtures("client")
@pytest.mark.nightly
def test_a_client_that_falls_silent_loses_its_place(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_SILENCE_SECONDS", 0.1)

    def slowly() -> Iterator[bytes]:
        yield ROWS.encode()
        time.sleep(1)
        yield ROWS.encode()

    with httpx.Client(base_url=service.base_url, headers=service.client.headers, trust_env=False) as over_a_socket:
        answer = over_a_socket.put(PATH, content=slowly(), headers={"Content-Type": "text/csv"})

    assert (answer.status_code, errors(answer)) == (422, [("body", "did not arrive: nothing came for 0.1 seconds")])


def test_writing_needs_manage_and_reading_needs_read(service: RunningService, client: httpx.Client) -> None:
    put(client)
    manage, read, ingest = (service.as_(role) for role in (Role.MANAGE, Role.READ, Role.INGEST))
    client.post("/v1/deployments", json=deployment(id="other")).raise_for_status()
    elsewhere = service.as_(Role.MANAGE, _number(service, "other"))

    statuses = {
        name: [
            client.put(PATH, json=DISTRIBUTION, headers=headers).status_code,
            client.get(PATH, headers=headers).status_code,
            client.get(f"{PATH}/measurements", headers=headers).status_code,
            client.delete(PATH, headers=headers).status_code,
        ]
        for name, headers in (("read", read), ("ingest", ingest), ("elsewhere", elsewhere), ("manage", manage))
    }

    assert statuses == {
        "read": [403, 200, 409, 403],
        "ingest": [403, 403, 403, 403],
        "elsewhere": [404, 404, 404, 404],
        "manage": [200, 200, 409, 204],
    }


def test_measuring_without_a_monitor_says_what_to_do(client: httpx.Client, snapshot: SnapshotAssertion) -> None:
    put(client)

    answer = client.get(f"{PATH}/measurements")

    assert answer.status_code == 409
    assert answer.json()["detail"] == snapshot


def test_a_deployment_that_is_deleted_takes_its_training_data_along(client: httpx.Client) -> None:
    put_monitor(client)
    put(client)

    assert client.delete(DEPLOYMENT).status_code == 204
    client.post("/v1/deployments", json=deployment()).raise_for_status()
    assert client.get(PATH).status_code == 404


def test_a_monitor_that_is_changed_is_measured_by_the_distributions_and_told_what_to_upload_again(
    client: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    put_monitor(client, intersections=[], metrics=["disparate_impact"])
    put(client)
    put_monitor(
        client,
        attributes=[{"feature": "Owner", "monitored": [True]}, {"feature": "Sex", "monitored": ["male"]}],
        intersections=[["Owner", "Sex"]],
    )

    assert measured(client, metric="base_rate", attribute="Owner", scope="group", group="true")["value"] == 0.5
    lost = [figure for figure in client.get(f"{PATH}/measurements").json()["measurements"] if figure["attribute"] == "Owner × Sex"]
    assert {(figure["value"], figure["verdict"]) for figure in lost} == {(None, "not_computable")}
    texts = {one["reason"] for one in lost}
    assert says(min(texts), "Owner × Sex")
    assert texts == snapshot
    assert {figure["metric"] for figure in lost} >= {"class_imbalance", "conditional_demographic_disparity_in_labels"}

    put(client)

    assert measured(client, metric="base_rate", attribute="Owner × Sex", scope="group", group="true × female")["value"] == 0.5


def _number(service: RunningService, deployment_id: str) -> int:
    with service.database.transaction() as session:
        return int(session.scalar(text("SELECT no FROM deployments WHERE id = :id"), {"id": deployment_id}))
