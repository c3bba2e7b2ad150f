from typing import Any

import pytest

from tests.builders.bodies import monitor
from tests.integration.ingest.logging import FEEDBACK, PAYLOAD, record
from tests.service import RunningService

MONITOR = "/v1/deployments/credit-risk/fairness-monitor"


def _watch(service: RunningService, favourable: list[Any], unfavourable: list[Any]) -> None:
    body = {"attributes": monitor()["attributes"], "favourable": favourable, "unfavourable": unfavourable}
    service.client.put(MONITOR, json=body).raise_for_status()


def _warnings(service: RunningService, address: str, *records: dict[str, Any]) -> list[tuple[str, int, str]]:
    receipt = service.client.post(address, json=list(records)).raise_for_status().json()
    assert receipt["accepted"] == len(records)
    return [(warning["field"], warning["records"], warning["message"]) for warning in receipt.get("warnings", ())]


@pytest.mark.parametrize(
    ("listed", "answer", "message"),
    [
        ([">50K", "<=50K"], ">50K.", "'>50K.' is in neither outcome list; did you mean '>50K'?"),
        (["approved", "refused"], "Approved", "'Approved' is in neither outcome list; did you mean 'approved'?"),
        (["1", "0"], 2, "2 is in neither outcome list"),
        ([1, 0], "1", "'1' is in neither outcome list; did you mean 1?"),
        ([True, False], "yes", "'yes' is in neither outcome list"),
        ([True, False], "TRUE", None),
    ],
)
def test_an_answer_in_no_outcome_list_is_stored_with_a_warning(
    service: RunningService, listed: list[Any], answer: str | int, message: str | None
) -> None:
    _watch(service, listed[:1], listed[1:])

    of_predictions = _warnings(service, PAYLOAD, record(id="a", prediction=answer), record(id="b", prediction=answer))
    of_labels = _warnings(service, FEEDBACK, {"id": "a", "features": record()["features"], "label": answer})

    assert of_predictions == ([] if message is None else [("prediction", 2, message)])
    assert of_labels == ([] if message is None else [("label", 1, message)])


def test_the_decoded_form_of_a_prediction_is_what_is_listed(service: RunningService) -> None:
    _watch(service, ["No Risk"], ["Risk"])

    assert _warnings(service, PAYLOAD, record(prediction=1, label="Risk"), record(prediction=0, label="No Risk")) == []
    assert _warnings(service, PAYLOAD, record(prediction=1, label="Risk "), record(prediction=0)) == [
        ("label", 1, "'Risk ' is in neither outcome list; did you mean 'Risk'?"),
        ("prediction", 1, "0 is in neither outcome list"),
    ]


def test_warnings_follow_the_monitor_at_once(service: RunningService) -> None:
    assert _warnings(service, PAYLOAD, record(prediction="good")) == []

    _watch(service, ["Good"], ["Bad"])
    assert len(_warnings(service, PAYLOAD, record(prediction="good"))) == 1

    _watch(service, ["good"], ["bad"])
    assert _warnings(service, PAYLOAD, record(prediction="good")) == []

    service.client.delete(MONITOR).raise_for_status()
    assert _warnings(service, PAYLOAD, record(prediction="Good")) == []


def test_the_most_frequent_ten_are_listed(service: RunningService) -> None:
    _watch(service, ["good"], ["bad"])

    warnings = _warnings(service, PAYLOAD, *(record(prediction=f"{n}", features=record()["features"]) for n in [*range(12), 11]))

    assert (len(warnings), warnings[0]) == (10, ("prediction", 2, "'11' is in neither outcome list"))


def test_records_that_are_refused_get_no_warning(service: RunningService) -> None:
    _watch(service, ["good"], ["bad"])

    answer = service.client.post(PAYLOAD, json=[record(prediction="Good", features={})]).json()

    assert "warnings" not in answer


@pytest.mark.parametrize(
    ("ids", "warned"),
    [
        (("caf\u00e9", "cafe\u0301", "cafe"), "'caf\\xe9', 'cafe\\u0301'"),
        (("a-1", "\u0430-1"), "'a-1', '\\u0430-1'"),
        (("a-1", "a-\u200b1"), "'a-1', 'a-\\u200b1'"),
        (("caf\u00e9", "cafe"), None),
        (("a-1", "A-1"), None),
    ],
)
def test_ids_that_only_look_alike_are_stored_apart_with_a_warning(
    service: RunningService, ids: tuple[str, ...], warned: str | None
) -> None:
    records = [record(id=record_id) for record_id in ids]

    assert _warnings(service, PAYLOAD, *records) == ([] if warned is None else [("id", 2, f"{warned} look alike, and are different ids")])
    assert service.client.post(PAYLOAD, json=records).json()["duplicate"] == len(ids)
