"""Labels and predictions are corrected with a reason: the old value is kept, figures of past checks stay, evidence is counted again."""

import json
from datetime import timedelta
from random import Random
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.access.principals import Role
from app.checks.result_queries import CorrectedCount, describe_corrected
from app.database.engine import Database
from app.domain.check import Trigger
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.monitor import Monitor, OutcomeRule
from app.domain.record import digest_id
from app.retention.erase import perform_erasures
from app.retention.expire import apply_policies
from app.retention.policy import RecordSelector, RetentionPolicy
from app.retention.queries import place_hold, put_policy, request_erasure
from tests.builders.bodies import deployment
from tests.builders.evidence_worlds import SEX, START, Logged, log, update, watched
from tests.builders.page_words import says
from tests.builders.queries import rows
from tests.golden import golden
from tests.scenes import HOUR, Scene, SceneMemory, scene
from tests.service import RunningService

PATH = "/v1/deployments/a-model/corrections"


def read_world() -> dict[str, Any]:
    world: dict[str, Any] = json.loads(golden("A7_whole_decision.json").read_text())["A_corrections"]
    return world


def records_of(table: list[dict[str, Any]]) -> list[Logged]:
    return [Logged(START, cell["group"], cell["predicted"], cell["label"]) for cell in table for _ in range(cell["count"])]


@pytest.fixture
def stage(database: Database, memory: SceneMemory) -> Scene:
    """A deployment with the records of the golden table in one hour, counted and checked. A test asks for it before the service."""

    def make() -> Scene:
        made = watched(database)
        log(made, records_of(read_world()["before"]), first_no=1)
        update(made, START + 2000 * HOUR)
        return made

    return memory.recall(database, make)


def record(place: int) -> str:
    """Id of a woman's record without a favourable prediction: those with the label 1 come first."""
    return f"1-{42 + place}"


def of(record_id: str, new: object, what: str = "label", **more: object) -> dict[str, Any]:
    return {"record": record_id, "what": what, "new": new, "reason": "mixed up"} | more


def send(service: RunningService, *corrections: dict[str, Any], role: Role = Role.MANAGE) -> httpx.Response:
    return service.client.post(PATH, json={"corrections": list(corrections)}, headers=service.as_(role))


def hour_tables(stage: Scene) -> dict[str, list[Any]]:
    statement = f"""SELECT h.data, h.cells FROM evidence_hours h JOIN evidence_eras e ON e.no = h.era_no
        WHERE h.attribute = 'sex' AND e.deployment_no = {stage.deployment.no}"""  # noqa: S608 - a number
    return {data: sorted(cells) for data, cells in rows(stage.database, statement)}


@pytest.mark.thorough
def test_the_golden_corrections_leave_past_figures_and_change_tables_and_evidence(stage: Scene, service: RunningService) -> None:
    world = read_world()
    golden_world = world["labels_and_predictions_only"]
    before = stage.check(START)
    r_1, r_3 = record(0), record(10)

    answer = send(service, of(r_1, 0), of(r_3, 1, "prediction"), of(r_3, 1))
    update(stage, START + 2000 * HOUR)

    assert answer.json() == {"sent": 3, "corrected": 3, "duplicate": 0, "rejected": 0, "rejections": [], "conflicts": [], "warnings": []}
    as_if_logged = watched(service.database, deployment_id="another")
    log(as_if_logged, records_of(golden_world["after"]), first_no=1001)
    update(as_if_logged, START + 2000 * HOUR)
    assert hour_tables(stage) == hour_tables(as_if_logged)

    for result, figures in ((before, world["figures_before"]), (stage.check(START), golden_world["figures_after"])):
        assert result.value("disparate_impact", "as_logged", "sex", "female") == pytest.approx(figures["disparate_impact"], abs=1e-12)
        rate = result.value("true_positive_rate_difference", "labelled", "sex", "female")
        assert rate == pytest.approx(figures["true_positive_rate_difference"], abs=1e-12)

    check, day = f"/v1/deployments/a-model/checks/{before.run.id}", golden_world["text"].replace("since.", "since 2 Mar 2026.")
    assert service.client.get(check).json()["corrected_since"] == golden_world["corrected_since"]
    assert [describe_corrected([CorrectedCount(**counted) for counted in golden_world["corrected_since"]], "2 Mar 2026")] == [day]
    assert day in service.client.get(check.removeprefix("/v1")).text
    assert day in service.client.get("/deployments/a-model").text
    assert day in service.client.get(f"{check}/report.html").text
    assert day in service.client.get(f"{check}/report.json").text


def test_a_value_is_counted_once_and_only_where_the_check_read_it(stage: Scene, service: RunningService) -> None:
    before, other = stage.check(START), stage.check(START + 900 * HOUR)
    assert send(service, of(record(0), 0), of(record(0), 1)).json()["corrected"] == 2
    assert send(service, of(record(0), 0)).json()["corrected"] == 1

    found = [service.client.get(f"/v1/deployments/a-model/checks/{result.run.id}").json()["corrected_since"] for result in (before, other)]

    assert found == [[{"what": "label", "count": 1}], []]


@pytest.mark.thorough
def test_a_period_report_counts_corrections_of_before_its_cut_off_and_names_what_it_cannot_count(
    stage: Scene, service: RunningService
) -> None:
    stage.check(START)
    assert send(service, of(record(0), 0), of(record(10), 1, "prediction")).json()["corrected"] == 2
    with stage.database.transaction() as session:
        session.execute(text("UPDATE corrections SET made_at = :at"), {"at": START + 24 * HOUR})
    day = {"since": START.isoformat(), "until": (START + 24 * HOUR).isoformat(), "annex": "true"}

    def read(cut_off: str) -> tuple[int, str, str]:
        params = day | {"labels_until": cut_off}
        report = service.client.get("/v1/deployments/a-model/report.json", params=params).json()
        (attributes,) = (part["attributes"] for part in report["period"]["parts"])
        favourable = sum(figure["monitored"]["favourable"] for figure in attributes[0]["figures"])
        page = service.client.get("/v1/deployments/a-model/report.html", params=params).text
        return favourable, report["period"]["labels_until"], page

    before, after = read("2026-03-03"), read("2026-03-04")
    assert after[0] == before[0] + 1
    assert after[1] == "2026-03-04T00:00:00+00:00"
    assert says(after[2], "Corrections count that were made before it.")
    assert not says(after[2], "Corrected values that count")

    with stage.database.transaction() as session:
        selector = RecordSelector(record_ids=(record(5),))
        request_erasure(session, stage.deployment.no, "a-model", erasure_id="e", selector=selector, by="test")
    perform_erasures(stage.database, settled_after=timedelta(0))
    kept = read("2026-03-04")
    assert kept[0] == before[0]
    assert says(kept[2], "count as the checks of their hours read them: 1 in figures as logged, 2 in figures of labels.")

    refused = service.client.get("/v1/deployments/a-model/report.json", params=day | {"labels_until": "2100-01-01"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "labels_until")


@pytest.mark.usefixtures("stage")
def test_the_old_value_is_a_condition_and_ids_make_corrections_idempotent(service: RunningService) -> None:
    first = of(record(0), 0, old=1, id="c-1")
    assert send(service, first).json()["corrected"] == 1
    assert send(service, first).json()["duplicate"] == 1
    assert send(service, of(record(0), 0)).json()["duplicate"] == 1

    conflict = send(service, of(record(0), 1, old=1))
    assert conflict.status_code == 409
    assert conflict.json()["conflicts"] == [{"index": 0, "id": record(0), "reason": "old is 1, stored is 0: nothing was changed"}]
    assert conflict.json()["errors"][0]["field"] == "corrections[0].old"
    assert (
        send(service, first | {"new": 1}).json()["conflicts"][0]["reason"]
        == "a correction of this id is stored already, with other content"
    )

    back = send(service, of(record(0), 1, id="c-2"), of(record(0), 0, id="c-3"), of(record(0), 5, old=7)).json()
    assert (back["corrected"], back["rejected"]) == (2, 1)
    listed = service.client.get(PATH, params={"record": record(0), "what": "label"}).json()["corrections"]
    assert [(row["id"], row["number"], row["old"], row["new"]) for row in listed] == [
        ("c-3", 3, 1, 0),
        ("c-2", 2, 0, 1),
        ("c-1", 1, 1, 0),
    ]
    assert service.client.get(f"/v1/deployments/a-model/feedback-records/{record(0)}").json()["label"] == 0


def test_a_correction_is_refused_with_its_field(stage: Scene, service: RunningService, subtests: pytest.Subtests) -> None:
    log(stage, [Logged(START, "female", 1)], first_no=2)

    for change, field, reason in (
        ({"what": "feature:sex"}, "what", "must be label or prediction, found 'feature:sex'"),
        ({"what": None}, "what", "must be label or prediction, found null"),
        ({"record": "x"}, "record", "record 'x' is not stored; a value that was never logged cannot be corrected"),
        ({"record": "2-0"}, "record", "record '2-0' has no label; log it as feedback"),
        ({"reason": "  "}, "reason", "is needed: 1 to 500 characters, not only blanks"),
        ({"reason": "x" * 501}, "reason", "is needed: 1 to 500 characters, not only blanks"),
        ({"new": 1}, "new", "is the stored value 1"),
        ({"new": [1]}, "new", "must be text, a number or a boolean, found an array"),
        ({"old": [1]}, "old", "must be text, a number or a boolean, found an array"),
        ({"value": 1}, "value", "is not a member of a record; it may have id, new, old, reason, record, what"),
    ):
        with subtests.test(change=change, field=field, reason=reason):
            answer = send(service, of(record(0), 0) | change)

            assert answer.status_code == 422
            assert answer.json()["rejections"] == [{"index": 0, "field": field, "reason": reason}]
            assert answer.json()["errors"] == [{"field": f"corrections[0].{field}", "message": reason}]


@pytest.mark.usefixtures("stage")
def test_a_body_without_corrections_is_refused(service: RunningService, subtests: pytest.Subtests) -> None:
    for body in ({}, [], {"corrections": []}, {"corrections": [1] * 10_001}, {"corrections": {}}):
        with subtests.test(body=body):
            assert service.client.post(PATH, json=body).status_code == 422


def test_a_value_may_be_taken_away_and_is_left_out_as_that(stage: Scene, service: RunningService) -> None:
    assert send(service, of(record(0), None), of(record(1), None, "prediction")).json()["corrected"] == 2
    result = stage.check(START)

    found = service.client.get(f"/v1/deployments/a-model/checks/{result.run.id}").json()["records"]
    reasons = {data: {cause["reason"]: cause["count"] for cause in found[data]["sex"]["left_out"]} for data in ("as_logged", "labelled")}
    assert reasons == {"as_logged": {"corrected_away": 1}, "labelled": {"corrected_away": 2}}
    assert service.client.get(f"/deployments/a-model/transactions/{record(1)}").status_code == 200
    assert send(service, of(record(0), 1)).json()["corrected"] == 1


def test_a_decoded_prediction_is_corrected_as_it_counts(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    path = "/v1/deployments/credit-risk"
    logged = {"id": "a", "features": {"Age": 30, "Sex": "male", "Owner": True}, "prediction": 0, "label": "Risk"}
    service.client.post(f"{path}/payload-records", json={"records": [logged]}).raise_for_status()

    answer = service.client.post(f"{path}/corrections", json={"corrections": [of("a", "No Risk", "prediction", old="Risk")]})

    assert answer.json()["corrected"] == 1
    stored = service.client.get(f"{path}/payload-records/a").json()
    assert (stored["label"], stored["prediction"]) == ("No Risk", 0)


@pytest.mark.usefixtures("stage")
def test_only_manage_and_admin_may_correct_and_counts_need_no_records(service: RunningService) -> None:
    for role in (Role.INGEST, Role.AGGREGATES, Role.READ):
        answer = send(service, of(record(0), 0), role=role)
        refusal = f"This key has the role {role}, which may not change deployments, monitors, checks or stored values"
        assert (answer.status_code, answer.json()["detail"]) == (403, f"{refusal}; that needs the role manage.")
    assert send(service, of(record(0), 0), role=Role.ADMIN).status_code == 200

    assert service.client.get(PATH, headers=service.as_(Role.AGGREGATES)).status_code == 403
    assert len(service.client.get(PATH, headers=service.as_(Role.READ)).json()["corrections"]) == 1
    counts = service.client.get(f"{PATH}/counts", headers=service.as_(Role.AGGREGATES)).json()["days"]
    assert list(counts.values()) == [{"label": 1}]


@pytest.mark.usefixtures("stage")
def test_the_record_s_page_has_a_form_for_each_value_and_shows_its_corrections(service: RunningService) -> None:
    send(service, of(record(0), 0, reason="<typed> wrongly"))
    address = f"/deployments/a-model/transactions/{record(0)}"

    page = service.client.get(address).text

    assert "label <bdi>1</bdi> to <bdi>0</bdi>: <bdi>&lt;typed&gt; wrongly</bdi>" in page
    assert page.count('data-api="POST /v1/deployments/a-model/corrections"') == 2
    assert '"corrections[0].record" data-as="json" value="&#34;1-42&#34;"' in page
    assert "data-api" not in service.client.get(address, headers=service.as_(Role.READ)).text


@pytest.mark.usefixtures("stage")
def test_a_correction_is_audited_without_its_values(service: RunningService) -> None:
    send(service, of(record(0), 0, reason="typed wrongly"))

    (event,) = service.client.get("/v1/audit-events", params={"action": "record.corrected"}).json()["audit_events"]

    assert event["details"] == {"what": "label", "reason": "typed wrongly"}
    assert event["subject"] == digest_id(record(0)).hex()
    assert event["deployment_id"] == "a-model"
    assert send(service, of(record(1), 1)).status_code == 422
    actions = [event["action"] for event in service.client.get("/v1/audit-events").json()["audit_events"]]
    assert (actions.count("request.refused"), actions.count("request.made")) == (1, 0)


@pytest.mark.usefixtures("stage")
def test_csv_has_the_members_as_columns(service: RunningService) -> None:
    content = f"record_id,what,old,new,reason,correction_id\n{record(0)},label,1,0,mixed up,c-1\n{record(1)},label,,0,mixed up,\n"
    content += f"{record(2)},label,0,1\n{record(3)},label,1,,mixed up,\n"

    answer = service.client.post(PATH, content=content, headers={"Content-Type": "text/csv"}).json()

    assert (answer["corrected"], answer["rejected"]) == (3, 1)
    assert answer["rejections"] == [{"index": 2, "field": "line", "reason": "has 4 values under 6 columns"}]
    wrong = service.client.post(PATH, content="record_id,news\n1,2\n", headers={"Content-Type": "text/csv"})
    assert wrong.status_code == 422
    assert wrong.json()["errors"][0]["field"] == "corrections[0].news"


def test_the_next_check_measures_and_carries_nothing_forward(stage: Scene, service: RunningService) -> None:
    def check(hour: int) -> Any:  # noqa: ANN401 - JSON
        return stage.check(START + hour * HOUR, trigger=Trigger.REQUEST).run

    first, carried = check(0), check(1)
    assert carried.carried_from == first.id
    send(service, of(record(0), 0))
    assert check(2).carried_from is None


def test_an_erasure_empties_corrections_and_past_checks_still_count_them(stage: Scene, service: RunningService) -> None:
    before = stage.check(START)
    send(service, of(record(0), 0, id="c-1"), of(record(0), 1, "prediction"), of(record(1), 0))
    with stage.database.transaction() as session:
        selector = RecordSelector(record_ids=(record(0),))
        request_erasure(session, stage.deployment.no, "a-model", erasure_id="e", selector=selector, by="test")
    (ended,) = perform_erasures(stage.database, settled_after=timedelta(0))

    assert ended.counts["corrections"] == 2
    assert not {mark for mark in (f"'{record(0)}'", "'c-1'") if mark in str(rows(stage.database, "SELECT * FROM corrections"))}
    assert [correction["record"] for correction in service.client.get(PATH).json()["corrections"]] == [record(1)]
    counted = service.client.get(f"/v1/deployments/a-model/checks/{before.run.id}").json()["corrected_since"]
    assert counted == [{"what": "label", "count": 2}, {"what": "prediction", "count": 1}]
    assert send(service, of(record(0), 1)).json()["rejections"][0]["reason"] == f"record '{record(0)}' was erased"


@pytest.mark.parametrize(("policy", "left"), [({"records_months": 1}, 0), ({"feedback_months": 1}, 1)])
def test_a_policy_empties_corrections_with_their_record_or_label(
    stage: Scene, service: RunningService, policy: dict[str, int], left: int
) -> None:
    send(service, of(record(0), 0), of(record(0), 1, "prediction"))
    with stage.database.transaction() as session:
        put_policy(session, stage.deployment.no, RetentionPolicy(**policy))
    apply_policies(stage.database)

    assert len(service.client.get(PATH).json()["corrections"]) == left
    if not left:
        refusals = send(service, of(record(0), 0, "prediction"), of("x", 0)).json()["rejections"]
        assert [refusal["reason"] for refusal in refusals] == [
            f"record '{record(0)}' is gone: it is past its retention of 1 month",
            "record 'x' is not stored: it was never logged, or is gone, past its retention of 1 month",
        ]


def test_corrections_under_a_hold_are_allowed(stage: Scene, service: RunningService) -> None:
    with stage.database.transaction() as session:
        place_hold(session, stage.deployment.no, reason="a suit", by="test")
    assert send(service, of(record(0), 0)).json()["corrected"] == 1


@pytest.mark.usefixtures("stage")
def test_a_label_that_is_sent_again_names_the_route(service: RunningService) -> None:
    answer = service.client.post("/v1/deployments/a-model/feedback-records", json={"records": [{"id": record(0), "label": 0}]})

    assert answer.status_code == 409
    assert "POST …/corrections" in answer.json()["detail"]


@pytest.mark.parametrize("as_list", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_what_is_taken_away_is_in_no_score_and_never_right(service: RunningService, *, as_list: bool) -> None:
    """Figures are those of a world in which the record was never logged."""
    draw = Random(5)
    rows = [{"id": f"r-{no}", "sex": draw.choice(["female", "male"]), "prediction": draw.randint(0, 1)} for no in range(300)]
    labels = [(row["id"], row["prediction"] if draw.random() < 0.8 else 1 - row["prediction"]) for row in rows]
    for row in rows:
        score = draw.uniform(0.5, 1) if row["prediction"] else draw.uniform(0, 0.5)
        row["probability"] = [1 - score, score] if as_list else score
    outcomes, metrics = OutcomeRule(favourable=(1,), unfavourable=(0,)), ("accuracy", "standardized_mean_difference", "log_loss")
    monitor = Monitor(outcomes=outcomes, attributes=(SEX,), min_records=10, metrics=metrics)
    columns = (Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),)
    results = []
    for name, first in (("a-model", 0), ("without", 2)):
        stage = scene(service.database, columns, monitor, endpoint=None, deployment_id=name)
        stage.log(rows[first:], START)
        stage.label(labels[first:], START)
        if not first:
            corrections = [of("r-0", None, "prediction"), of("r-0", None), of("r-1", None, "prediction"), of("r-1", None)]
            assert send(service, *corrections).json()["corrected"] == 4
        check = stage.check(START)
        results.append(sorted((m.metric, m.data, str(m.group), str(m.value)) for m in check.measurements if m.value is not None))
    assert results[0] == results[1]
    assert set(metrics) <= {metric for metric, *_ in results[0]}
