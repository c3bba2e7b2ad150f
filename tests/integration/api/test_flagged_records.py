"""Records that need a second look, over HTTP: the list, the CSV, and the CSV with its labels filled in sent back as feedback."""

import base64
import csv
import io
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from app.access.principals import Role
from app.database.tables import DeploymentRow, FeedbackRecordRow, PayloadKeyRow
from app.domain.mitigation import ONLY_DIRECT
from tests.builders.bodies import deployment, monitor
from tests.integration.api.flagging import flag, lines_of
from tests.service import RunningService

DEPLOYMENT = "/v1/deployments/credit-risk"
PATH = f"{DEPLOYMENT}/flagged-records"
CSV = f"{PATH}.csv"
FEEDBACK = f"{DEPLOYMENT}/feedback-records"
SEXES = ["female", "=2+3", '+"x"', "@a,b", "-1", "two\nlines", "Größe 😀", " a ", "", "1"]
"""What a column of text may hold."""


@pytest.fixture
def logged(service: RunningService) -> RunningService:
    """The service with ten logged records `a-0` … `a-9` of a watched deployment."""
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    service.client.put(f"{DEPLOYMENT}/fairness-monitor", json=monitor()).raise_for_status()
    log(service, [record(no, Sex=sex) for no, sex in enumerate(SEXES)])
    return service


def record(no: int, **features: object) -> dict[str, Any]:
    return {
        "id": f"a-{no}",
        "features": {"Age": 20 + no, "Sex": "female", "Owner": None if no % 2 else True, **features},
        "meta": {"Postcode": f"0{no}"},
        "prediction": 0,
        "probability": 0.1 * no,
        "label": "Risk",
    }


def log(service: RunningService, records: Sequence[dict[str, Any]]) -> None:
    answer = service.client.post(f"{DEPLOYMENT}/payload-records", json={"records": records})
    assert answer.json().get("accepted") == len(records), answer.text


def listed(service: RunningService, **filters: object) -> list[dict[str, Any]]:
    answer = service.client.get(PATH, params=filters)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    return list(answer.json()["flagged_records"])


def labelled(answer: httpx.Response, label: Callable[[dict[str, str]], str], column: str = "label") -> bytes:
    """The file as it was got, with labels written into the empty column."""
    lines = lines_of(answer)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(lines[0]))
    writer.writeheader()
    writer.writerows([{**line, column: label(line)} for line in lines])
    return text.getvalue().encode()


def send(service: RunningService, body: bytes, **parameters: str) -> httpx.Response:
    return service.client.post(FEEDBACK, content=body, params=parameters, headers={"Content-Type": "text/csv"})


def test_a_flagged_record_says_why_and_shows_the_record(logged: RunningService) -> None:
    flag(logged, [("a-0", {"gap": 0.5, "bias_score": 0.75})])

    answer = logged.client.get(PATH).json()

    (found,) = answer["flagged_records"]
    assert datetime.fromisoformat(found["record"].pop("logged_at"))
    assert datetime.fromisoformat(found["record"].pop("scored_at"))
    assert found == {
        "attribute": "Sex",
        "group": "female",
        "kind": "changed",
        "direction": "lifted",
        "own_score": 0.25,
        "reference_score": 0.75,
        "gap": 0.5,
        "bias_score": 0.75,
        "why": "Asked again with reference values of Sex instead of female, the model's answer is favourable: the score is 0.7500 instead"
        " of 0.2500.",
        "record": {
            "id": "a-0",
            "model_revision": "r1",
            "features": {"Age": 20, "Sex": "female", "Owner": True},
            "meta": {"Postcode": "00"},
            "prediction": 0,
            "probability": 0,
            "label": "Risk",
            "mitigated": None,
        },
    }
    assert (answer["model_revision"], answer["next_cursor"], answer["notes"]) == ("r1", None, [ONLY_DIRECT])


def test_the_largest_gap_comes_first_and_without_scores_there_is_none(logged: RunningService) -> None:
    flag(logged, [("a-1", {"gap": 0.0}), ("a-2", {"gap": 0.25}), ("a-3", {"gap": 0.5, "direction": "lowered"})])

    assert [(flagged["record"]["id"], flagged["gap"]) for flagged in listed(logged)] == [("a-3", 0.5), ("a-2", 0.25), ("a-1", None)]


def test_pages_hold_every_flag_once(logged: RunningService) -> None:
    flag(logged, [(f"a-{no}", {"attribute": name, "gap": 0.3 * (no % 2)}) for no in range(10) for name in ("Sex", "Age")])

    found, cursor, pages = [], None, 0
    while cursor or not pages:
        page = logged.client.get(PATH, params={"limit": 7} | ({"cursor": cursor} if cursor else {})).json()
        found, cursor, pages = found + page["flagged_records"], page["next_cursor"], pages + 1

    assert pages == 3
    assert found == listed(logged)
    assert len({(flagged["record"]["id"], flagged["attribute"]) for flagged in found}) == 20


def test_each_filter_leaves_what_it_says(logged: RunningService) -> None:
    flag(
        logged,
        [("a-1", {"direction": "lowered"}), ("a-2", {"kind": "likely"}), ("a-3", {"attribute": "Age"}), ("a-4", {"model_revision": "r0"})],
    )
    filters = [{}, {"direction": "lowered"}, {"kind": "likely"}, {"attribute": "Age"}, {"model_revision": "r0"}]
    filters += [{"since": "2020-01-01T00:00:00+02:00"}, {"until": "2020-01-01T00:00:00Z"}]

    found = [[flagged["record"]["id"] for flagged in listed(logged, **wanted)] for wanted in filters]

    assert found == [["a-1", "a-2", "a-3"], ["a-1"], ["a-2"], ["a-3"], ["a-4"], ["a-1", "a-2", "a-3"], []]
    for wanted, ids in zip(filters, found, strict=True):
        assert [line["id"] for line in lines_of(logged.client.get(CSV, params=wanted))] == ids


def test_what_an_old_model_said_is_listed_only_on_request(logged: RunningService) -> None:
    flag(logged, [("a-1", {})])

    logged.client.patch(DEPLOYMENT, json={"model_revision": "r2"}).raise_for_status()

    assert listed(logged) == []
    assert [flagged["record"]["id"] for flagged in listed(logged, model_revision="r1")] == ["a-1"]


def test_what_cannot_be_understood_is_refused(logged: RunningService, subtests: pytest.Subtests) -> None:
    for parameters in (
        {"cursor": "x"},
        {"cursor": base64.urlsafe_b64encode(b'[0.5,1,"\\u0000"]').decode()},
        {"cursor": base64.urlsafe_b64encode(b'[0.5,9223372036854775808,"a"]').decode()},
        {"limit": 0},
        {"limit": 1001},
        {"direction": "up"},
        {"kind": "certain"},
        {"since": "yesterday"},
        {"since": "0001-01-01T00:00:00+14:00"},
        {"attribute": "a\0"},
    ):
        with subtests.test(parameters=parameters):
            assert logged.client.get(PATH, params=parameters).status_code == 422


def test_records_are_shown_to_readers_of_the_deployment_only(logged: RunningService) -> None:
    reader, logger = logged.as_(Role.READ), logged.as_(Role.INGEST)
    logged.client.post("/v1/deployments", json=deployment(id="another")).raise_for_status()
    with logged.database.transaction() as session:
        other = session.scalars(select(DeploymentRow.no).where(DeploymentRow.id == "another")).one()
    bound_elsewhere = logged.as_(Role.READ, other)

    for path in (PATH, CSV):
        answers = [logged.client.get(path, headers=headers).status_code for headers in (reader, logger, bound_elsewhere)]
        assert answers == [200, 403, 404]


def test_the_file_is_an_attachment_with_every_column_and_an_empty_label(logged: RunningService) -> None:
    flag(logged, [("a-3", {"gap": 0.5}), ("a-0", {})])

    answer = logged.client.get(CSV)

    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="credit-risk-flagged-records.csv"'
    first, second = lines_of(answer)
    assert datetime.fromisoformat(first.pop("logged_at"))
    assert first == {
        "id": "a-3",
        "attribute": "Sex",
        "group": "female",
        "kind": "changed",
        "direction": "lifted",
        "prediction": "Risk",
        "probability": "0.30000000000000004",
        "own_score": "0.25",
        "reference_score": "0.75",
        "gap": "0.5",
        "Age": "23",
        "Sex": "'@a,b",
        "Owner": "",
        "Postcode": "03",
        "label": "",
    }
    assert (second["id"], second["gap"], second["own_score"]) == ("a-0", "", "")


def test_without_flags_the_file_has_a_header_only(logged: RunningService) -> None:
    answer = logged.client.get(CSV)

    assert answer.text.count("\r\n") == 1
    assert lines_of(answer) == []


def test_the_file_with_its_labels_filled_in_is_accepted_as_it_is(logged: RunningService) -> None:
    flag(logged, [(f"a-{no}", {"gap": 0.05 * (no + 1)}) for no in range(10)])
    file = logged.client.get(CSV, params={"raw": True})

    receipt = send(logged, labelled(file, lambda line: "No Risk" if int(line["Age"]) % 2 else "Risk"))

    assert receipt.json() == {"sent": 10, "accepted": 10, "duplicate": 0, "rejected": 0, "rejections": [], "conflicts": []}
    with logged.database.transaction() as session:
        rows = session.scalars(select(FeedbackRecordRow).order_by(FeedbackRecordRow.feedback_id)).all()
        payload = {key.record_id: key.record_no for key in session.scalars(select(PayloadKeyRow))}
    assert [(row.feedback_id, row.label) for row in rows] == [(f"a-{no}", "No Risk" if no % 2 else "Risk") for no in range(10)]
    assert all(row.record_no == payload[row.feedback_id] and row.usable_at is not None for row in rows)
    # An empty text and a missing one look alike in a CSV; nothing else is lost.
    assert [(row.features or [])[1] for row in rows] == [sex or None for sex in SEXES]


def test_rows_whose_label_was_left_empty_are_refused_one_by_one_and_the_others_stored(logged: RunningService) -> None:
    flag(logged, [(f"a-{no}", {"gap": 0.1 * (5 - no)}) for no in range(4)])
    file = logged.client.get(CSV)

    receipt = send(logged, labelled(file, lambda line: "Risk" if line["id"] in {"a-0", "a-3"} else "")).json()

    assert (receipt["accepted"], receipt["rejected"]) == (2, 2)
    assert [(rejection["index"], rejection["field"]) for rejection in receipt["rejections"]] == [(1, "label"), (2, "label")]


def test_a_record_that_is_flagged_twice_may_be_labelled_in_both_rows(logged: RunningService) -> None:
    flag(logged, [("a-0", {"gap": 0.2}), ("a-0", {"attribute": "Age", "gap": 0.1})])
    file = logged.client.get(CSV)

    receipt = send(logged, labelled(file, lambda _line: "Risk")).json()

    assert (receipt["accepted"], receipt["duplicate"], receipt["rejected"]) == (1, 1, 0)


def test_a_deployment_whose_columns_are_called_like_ours_can_be_labelled_too(service: RunningService) -> None:
    columns = [{"name": name, "type": "string"} for name in ("id", "label", "group", "Sex")]
    service.client.post("/v1/deployments", json=deployment(features=columns)).raise_for_status()
    features = {"id": "x", "label": "good", "group": "b", "Sex": "female"}
    sent = {"id": "a-0", "features": features, "meta": {"Postcode": "1"}, "prediction": 0, "label": "Risk"}
    log(service, [sent])
    flag(service, [("a-0", {"gap": 0.5})])
    file = service.client.get(CSV)

    body = labelled(file, lambda _line: "No Risk", column="observed_label")
    receipt = send(service, body, label="observed_label").json()

    assert receipt["accepted"] == 1
    (line,) = lines_of(file)
    assert (line["record_id"], line["id"], line["label"], line["group"], line["flagged_group"]) == ("a-0", "x", "good", "b", "female")
    with service.database.transaction() as session:
        row = session.scalars(select(FeedbackRecordRow)).one()
    assert (row.feedback_id, row.label, row.record_no is not None) == ("a-0", "No Risk", True)


@pytest.mark.parametrize("limit", [None, 2500, 1000, 1, 3000])
@pytest.mark.thorough
def test_a_long_file_holds_every_flag_in_order(service: RunningService, limit: int | None) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    log(service, [record(no % 8) | {"id": f"a-{no}"} for no in range(2600)])
    flag(service, [(f"a-{no}", {"gap": 0.25 if no % 3 else 0.0}) for no in range(2600)])

    lines = lines_of(service.client.get(CSV, params={} if limit is None else {"limit": limit}))

    expected = [f"a-{no}" for no in sorted(range(2600), key=lambda no: (no % 3 == 0, no))][:limit]
    assert [line["id"] for line in lines] == expected
