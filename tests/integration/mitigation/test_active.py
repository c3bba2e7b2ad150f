"""The mitigated endpoint: which records change, by what, and how often the model is asked for it."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.builders.page_words import says
from tests.builders.row_server import credit, points, row_server
from tests.integration.mitigation.live import AGE, COLOUR, FEATURES, SEX, applicant, ask, register, words
from tests.models.serving import Reply
from tests.service import RunningService

BROKEN = Reply(422, b"no")


def test_an_unfavourable_monitored_record_becomes_what_it_would_be_with_the_reference_value(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        (row,) = ask(service, applicant())["predictions"]

    assert row == {
        "id": "a-0",
        "prediction": 0,
        "probability": pytest.approx(0.6 / 1.5),
        "label": None,
        "mitigated_prediction": 1,
        "mitigated_probability": pytest.approx(0.9 / 1.5),
        "mitigated_decoded_target": None,
        "changed": True,
        "changed_by": ["sex"],
        "mitigation": "changed",
        "logged": "stored",
    }
    assert (server.counts.requests, server.counts.rows) == (1, 2)


def test_every_record_is_said_what_became_of_it(service: RunningService) -> None:
    def odd(row: dict[str, Any]) -> dict[str, Any]:
        return {"prediction": 7, "probability": 0.5} if row["age"] == 77 else credit(row)

    with row_server(odd) as server:
        register(service, server, SEX)
        answer = ask(
            service,
            applicant(),
            applicant(income=-90_000),
            applicant(income=90_000),
            applicant(sex="male"),
            applicant(sex="other"),
            applicant(sex=None),
            applicant(age=77),
        )

    assert words(answer) == ["changed", "unchanged", "not_needed", "reference", "in_no_group", "in_no_group", "unclassified"]
    for row in answer["predictions"][1:]:
        assert (row["mitigated_prediction"], row["mitigated_probability"]) == (row["prediction"], row["probability"])
        assert (row["changed"], row["changed_by"]) == (False, [])
    # Few copies are asked about together with the records, those of women whom the model turns out to favour, too.
    assert (server.counts.requests, server.counts.rows) == (1, 7 + 4)


def test_many_copies_are_asked_about_in_a_call_of_their_own_and_only_those_that_are_needed(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX, calls={"page_size": 40})
        records = [applicant(), *[applicant(income=90_000)] * 30]
        answer = ask(service, *records)
        asked = (server.counts.requests, server.counts.rows)
        ask(service, *[applicant(income=90_000, sex="male")] * 30, applicant(sex="other"))

    assert words(answer) == ["changed", *["not_needed"] * 30]
    assert asked == (2, 31 + 1)
    assert (server.counts.requests, server.counts.rows) == (3, 32 + 31)


def test_of_three_groups_each_monitored_one_is_held_against_the_reference(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, COLOUR)
        answer = ask(service, *(applicant(colour=colour, income=30_000) for colour in ("red", "blue", "green", "pink")))

    assert words(answer) == ["changed", "changed", "reference", "in_no_group"]
    assert [row["prediction"] for row in answer["predictions"]] == [0, 0, 1, 0]
    assert [row["mitigated_prediction"] for row in answer["predictions"]] == [1, 1, 1, 0]


@pytest.mark.parametrize(
    ("income", "changed_by"),
    [(10_000, ["sex", "colour"]), (30_000, ["sex", "colour"]), (45_000, ["sex", "colour"]), (-10_000, ["sex", "colour"])],
)
def test_two_attributes_are_mitigated_together(service: RunningService, income: float, changed_by: list[str]) -> None:
    with row_server() as server:
        register(service, server, SEX, COLOUR)
        (row,) = ask(service, applicant(colour="red", income=income))["predictions"]

    alone = [0.2 + 0.3 + income / 100_000 > 0.75] * 2
    assert row["changed"] is (0.8 + income / 100_000 > 0.75)
    assert row["changed_by"] == ([] if not row["changed"] else changed_by)
    assert row["mitigation"] == ("changed" if row["changed"] else "unchanged")
    assert any(alone) == (income > 25_000)
    assert (server.counts.requests, server.counts.rows) == (1, 1 + 3)


def test_the_attribute_that_changes_the_outcome_by_itself_is_named(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX, COLOUR)
        both, only_sex = ask(service, applicant(colour="red", income=30_000), applicant(colour="blue", income=20_000))["predictions"]

    assert both["changed_by"] == ["sex", "colour"]
    assert (only_sex["changed"], only_sex["changed_by"]) == (True, ["sex"])


def test_a_range_is_stood_for_by_several_values_of_the_reference_range(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, AGE)
        young, old = ask(service, applicant(age=20, income=30_000), applicant(age=50, income=30_000))["predictions"]

    assert (young["prediction"], young["mitigated_prediction"], young["mitigation"]) == (0, 1, "changed")
    assert old["mitigation"] == "reference"


def test_reference_substitution_also_lowers(service: RunningService) -> None:
    def favours_women(row: dict[str, Any]) -> dict[str, Any]:
        return {"prediction": int(row["sex"] == "female"), "probability": 0.9 if row["sex"] == "female" else 0.1}

    with row_server(favours_women) as server:
        register(service, server, SEX)
        service.client.put("/v1/deployments/loans/mitigation", json={"mode": "reference_substitution"}).raise_for_status()
        answer = ask(service, applicant(), applicant(sex="male"))

    assert words(answer) == ["changed", "reference"]
    assert answer["predictions"][0]["mitigated_prediction"] == 0
    assert answer["predictions"][0]["mitigated_probability"] == 0.1
    assert (answer["mode"], answer["settings_version"]) == ("reference_substitution", 1)


def test_the_same_request_gets_the_same_answer_whatever_labels_were_observed(service: RunningService) -> None:
    applicants = [applicant(income=income) for income in range(0, 60_000, 2_000)]
    with row_server() as server:
        register(service, server, SEX, AGE)
        first = ask(service, *applicants)
        for wave in range(2):
            labels = [{"id": f"a-{place}", "label": (place + wave) % 2} for place in range(len(applicants))]
            service.client.post("/v1/deployments/loans/feedback-records", json={"records": labels})
            again = ask(service, *applicants)

            assert {row.pop("logged") for row in again["predictions"]} == {"duplicate"}
            assert again["predictions"] == [{name: row[name] for name in row if name != "logged"} for row in first["predictions"]]
            assert again["profile_version"] == first["profile_version"]


def test_copies_that_cannot_be_scored_leave_the_models_own_answers_marked(service: RunningService, snapshot: SnapshotAssertion) -> None:
    with row_server() as server:
        register(service, server, SEX)
        # Together with the records, and by themselves.
        server.replies |= {1: BROKEN, 3: BROKEN}
        answer = ask(service, applicant(), applicant(sex="male"))

    assert words(answer) == ["not_scored", "reference"]
    assert answer["predictions"][0]["mitigated_prediction"] == answer["predictions"][0]["prediction"] == 0
    assert answer["predictions"][0]["logged"] == "stored"
    assert says(answer["warning"], "1 of the answers", "model's own")
    assert answer["warning"] == snapshot
    assert "answered 422" in answer["warning"]


@pytest.mark.nightly
def test_copies_that_take_too_long_are_given_up_within_the_callers_time(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        ask(service, applicant())
        server.replies |= {2: 30.0, 4: 30.0}
        answer = ask(service, applicant(), timeout_seconds=2)

    assert words(answer) == ["not_scored"]
    assert "did not answer within" in answer["warning"]


def test_one_failure_of_asking_about_both_together_is_nobodys_loss(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        server.replies[1] = BROKEN
        answer = ask(service, applicant(), applicant(sex="male"))

    assert words(answer) == ["changed", "reference"]
    assert answer["warning"] is None
    assert server.counts.requests == 3


def test_a_label_of_the_model_that_cannot_be_logged_is_an_error_of_the_model(service: RunningService) -> None:
    with row_server(lambda row: credit(row) | {"decision": "x" * 20_000}) as server:
        register(service, server, SEX, outputs={"prediction": "prediction", "label": "decision"})
        failed = service.client.post("/v1/deployments/loans/mitigated-predictions", json={"records": [{"features": applicant()}]})

    assert (failed.status_code, failed.json()["type"]) == (502, "urn:evenhand:problem:scoring-failed")
    assert "label" in failed.json()["detail"]


def test_a_model_that_does_not_answer_the_records_themselves_is_an_error_and_nothing_is_stored(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        server.replies |= {1: BROKEN, 2: BROKEN}
        failed = service.client.post(
            "/v1/deployments/loans/mitigated-predictions", json={"records": [{"id": "a", "features": applicant()}]}
        )
        again = service.client.post("/v1/deployments/loans/mitigated-predictions", json={"records": [{"id": "a", "features": applicant()}]})

    assert (failed.status_code, failed.json()["type"]) == (502, "urn:evenhand:problem:scoring-failed")
    assert again.json()["predictions"][0]["logged"] == "stored"


def test_a_model_without_probabilities_is_mitigated_by_its_outcomes(service: RunningService) -> None:
    with row_server(lambda row: {"prediction": credit(row)["prediction"]}) as server:
        register(service, server, SEX, outputs={"prediction": "prediction"})
        (row,) = ask(service, applicant())["predictions"]

    assert (row["mitigated_prediction"], row["probability"], row["mitigated_probability"]) == (1, None, None)


def test_the_label_and_a_list_of_probabilities_come_from_the_copies_too(service: RunningService) -> None:
    def named(row: dict[str, Any]) -> dict[str, Any]:
        share = min(points(row) / 1.5, 1.0)
        return {"prediction": float(points(row) > 0.75), "probability": [1 - share, share], "name": "yes" if points(row) > 0.75 else "no"}

    with row_server(named) as server:
        register(
            service,
            server,
            SEX,
            outputs={"prediction": "prediction", "probability": "probability", "label": "name"},
            outcomes={"favourable": ["yes"], "unfavourable": ["no"]},
        )
        (row,) = ask(service, applicant())["predictions"]

    assert (row["label"], row["mitigated_decoded_target"], row["mitigated_prediction"]) == ("no", "yes", 1.0)
    assert row["mitigated_probability"] == pytest.approx([0.4, 0.6])


def test_a_regression_gets_the_mean_of_its_copies(service: RunningService) -> None:
    with row_server(lambda row: {"prediction": 1000 * points(row) + row["age"]}) as server:
        register(
            service,
            server,
            AGE,
            problem_type="regression",
            outputs={"prediction": "prediction"},
            outcomes={"favourable": [[500, 5000]], "unfavourable": [[0, 499.5]]},
        )
        lifted, poor, dropped = ask(service, applicant(age=20), applicant(age=20, income=-20_000), applicant(age=20, income=9_000))[
            "predictions"
        ]

    assert (lifted["prediction"], lifted["mitigation"]) == (420, "changed")
    assert lifted["mitigated_prediction"] > 600
    assert (poor["mitigated_prediction"], poor["mitigation"]) == (pytest.approx(120), "unchanged")
    assert dropped["mitigation"] == "changed"


def test_an_attribute_that_the_model_never_sees_is_not_mitigated_and_the_answer_says_why(service: RunningService) -> None:
    with row_server() as server:
        register(
            service,
            server,
            SEX | {"feature": "title", "monitored": ["Ms"], "reference": ["Mr"]},
            meta=[{"name": "title", "type": "string"}],
        )
        records = [{"features": applicant(), "meta": {"title": title}} for title in ("Ms", "Mr", None)]
        answer = service.client.post("/v1/deployments/loans/mitigated-predictions", json={"records": records}).json()

    assert words(answer) == ["undecided", "reference", "in_no_group"]
    assert any(note.startswith("title is not mitigated: ") for note in answer["notes"])
    assert server.counts.requests == 1


def test_large_requests_go_out_in_pages_side_by_side(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX, calls={"page_size": 100, "concurrency": 4})
        answer = ask(service, *(applicant(income=place) for place in range(1000)))

    assert [row["id"] for row in answer["predictions"]] == [f"a-{place}" for place in range(1000)]
    assert server.counts.requests == 10 + 10
    assert server.counts.connections <= 4


def test_connections_are_kept_between_requests(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        for _ in range(5):
            ask(service, applicant())

        assert (server.counts.requests, server.counts.connections) == (5, 1)


def test_a_deployment_that_changes_between_two_requests_is_read_anew(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        ask(service, applicant())
        service.client.patch(
            "/v1/deployments/loans", json={"features": [*FEATURES, {"name": "rooms", "type": "integer"}]}
        ).raise_for_status()
        body = {"records": [{"features": applicant(rooms=3)}]}
        after = service.client.post("/v1/deployments/loans/mitigated-predictions", json=body)
        (found,) = after.json()["predictions"]

    assert (found["logged"], found["mitigation"]) == ("stored", "changed")
