import re
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import select
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from app.database.engine import Database
from app.database.tables import DeploymentRow
from app.deployments.queries import record_no_answer
from app.domain.deployment import OPENS_AFTER_FAILURES
from app.evidence.update import update_evidence
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.page_words import says, words
from tests.builders.row_server import RowServer, row_server
from tests.scenes import NOON, scene
from tests.service import RunningService

HOSTILE = "<script>alert(1)</script>"
ADDRESS = "/deployments/loans/configure"
PARTS = ("model", "recommended", "monitor", "persons", "training", "mitigation", "alerts", "log", "danger")
STEPS = ("data", "groups", "persons", "endpoint", "alerts", "log", "check")
SECRET = "correct horse battery staple"  # noqa: S105 - of an endpoint that the tests make up

DEPLOYMENT = {
    "id": "loans",
    "name": f"Loans {HOSTILE}",
    "problem_type": "binary",
    "features": [{"name": "sex", "type": "string"}, {"name": "age", "type": "integer"}],
    "meta": [{"name": f"postcode {HOSTILE}", "type": "string"}],
    "endpoint": {"url": "http://127.0.0.1:9/score", "credentials": {"kind": "basic", "name": "ada", "secret": SECRET}},
}
MONITOR = {
    "favourable": ["yes"],
    "unfavourable": ["no"],
    "attributes": [
        {"feature": "sex", "monitored": [f"female {HOSTILE}", " spaced"], "reference": None, "metric_limits": {"accuracy": {"lower": 0.5}}},
        {"feature": "age", "monitored": [[18, 25.5]], "reference": [[26, 70]], "upper_threshold": 1.25},
    ],
    "intersections": [["age", "sex"]],
}


@pytest.fixture
def no(service: RunningService) -> int:
    """A deployment that nothing is set of yet; its number."""
    service.client.post("/v1/deployments", json=DEPLOYMENT).raise_for_status()
    with service.database.transaction() as session:
        return session.scalars(select(DeploymentRow.no)).one()


def _as(service: RunningService, browser: httpx.Client, role: Role, deployment_no: int | None = None) -> httpx.Client:
    browser.post("/login", data={"key": service.key(role, deployment_no)})
    return browser


def configured(client: httpx.Client) -> str:
    """All parts of Configure, one after the other."""
    return "".join(client.get(f"{ADDRESS}/{part}").raise_for_status().text for part in PARTS)


def _told(page: str) -> str:
    """What a page says, but for the id of the request."""
    return re.sub(r"[0-9a-f]{32}", "", page.partition("<main")[2])


@pytest.mark.usefixtures("no")
def test_a_fresh_deployment_says_what_comes_next(reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    page, everything = reader.get(ADDRESS).text, configured(reader)

    assert [step for step in STEPS if f'?step={step}" aria-current="step"' in page] == ["groups"]
    assert page.count('<li class="done">') == 1  # the columns; the endpoint only after a test
    assert "No training data yet" in reader.get(f"{ADDRESS}?step=data").text
    assert words(everything) == snapshot


@pytest.mark.usefixtures("no")
@pytest.mark.thorough
def test_what_is_stored_is_shown_without_the_secret_and_with_hostile_names_as_text(service: RunningService, reader: httpx.Client) -> None:
    service.client.put("/v1/deployments/loans/fairness-monitor", json=MONITOR).raise_for_status()
    service.client.put("/v1/deployments/loans/mitigation", json={"attributes": ["sex"]}).raise_for_status()
    upload = {"content": b"sex,age,label\n" + 5 * b"female,20,yes\n" + b"male,40,no\n", "headers": {"Content-Type": "text/csv"}}
    service.client.put("/v1/deployments/loans/training-data", **upload).raise_for_status()  # type: ignore[arg-type]

    page = configured(reader)

    assert "<script>alert" not in page
    assert f"<code>female {HOSTILE}</code>".replace("<script>", "&lt;script&gt;").replace("</script>", "&lt;/script&gt;") in page
    assert SECRET not in page
    assert "the secret is stored and not shown" in page
    assert "<code>18 to 25.5</code>" in page
    assert "every other value" in page
    assert "Accuracy: 0.5 and more" in page
    assert "age × sex" in page
    assert "mitigated now: sex" in page
    assert "removes direct bias only" in page
    assert "yes 5" in page
    assert f"postcode {HOSTILE}".replace("<", "&lt;").replace(">", "&gt;") in page


@pytest.mark.thorough
def test_who_may_only_read_sees_everything_and_no_form(service: RunningService, browser: httpx.Client, no: int) -> None:
    service.client.put("/v1/deployments/loans/fairness-monitor", json=MONITOR).raise_for_status()

    for bound in (None, no):
        page = configured(_as(service, browser, Role.READ, bound))
        inside = re.sub(r"<!doctype.*?<main|<section class=\"range-bar\".*?</section>", "", page, flags=re.DOTALL)

        assert "Your role may only read" in page
        assert "18 to 25.5" in page
        assert "data-snippets=" in page
        assert "data-proposal" in page
        assert all(word not in inside for word in ("<form", "<input", "<select", "<textarea", "<button", 'id="danger"'))


def test_who_may_change_gets_forms_that_go_to_rest(service: RunningService, browser: httpx.Client, no: int) -> None:
    page = configured(_as(service, browser, Role.MANAGE, no))

    for form in ("deployment-form", "monitor-form", "endpoint-test", "recommended-form", "training-form"):
        assert f'id="{form}"' in page
    assert 'data-api="DELETE /v1/deployments/loans"' in page
    assert 'data-must-be="loans"' in page
    assert "fairness-monitor" not in page.partition('id="danger"')[2]  # there is none that could be deleted


def test_another_deployment_does_not_exist_for_a_bound_key(service: RunningService, browser: httpx.Client, no: int) -> None:
    service.client.post("/v1/deployments", json={**DEPLOYMENT, "id": "other"}).raise_for_status()
    bound = _as(service, browser, Role.MANAGE, no)

    there, other, none = bound.get(ADDRESS), bound.get("/deployments/other/configure"), bound.get("/deployments/none/configure")

    assert (there.status_code, other.status_code, none.status_code) == (200, 404, 404)
    assert _told(other.text).replace("other", "none") == _told(none.text)


def test_training_data_of_other_columns_are_said_to_be_old(service: RunningService, reader: httpx.Client, no: int) -> None:
    upload = {"content": b"sex,age,label\nfemale,20,yes\nmale,40,no\n", "headers": {"Content-Type": "text/csv"}}
    service.client.put("/v1/deployments/loans/training-data", **upload).raise_for_status()  # type: ignore[arg-type]
    before = reader.get(f"{ADDRESS}/training").text
    service.client.patch("/v1/deployments/loans", json={"meta": []}).raise_for_status()

    after = reader.get(f"{ADDRESS}/training").text

    assert no
    assert "Upload the training data again" not in before
    assert "Upload the training data again" in after


def test_registering_is_for_those_who_may_change_the_installation(service: RunningService, browser: httpx.Client, no: int) -> None:
    answers = {
        "admin": _as(service, browser, Role.ADMIN).get("/register"),
        "manage": _as(service, browser, Role.MANAGE).get("/register"),
        "bound": _as(service, browser, Role.MANAGE, no).get("/register"),
        "read": _as(service, browser, Role.READ).get("/register"),
    }

    assert {who: answer.status_code for who, answer in answers.items()} == {"admin": 200, "manage": 200, "bound": 403, "read": 403}
    assert 'id="deployment-form"' in answers["manage"].text
    assert "What it predicts" in answers["manage"].text
    assert "is bound to one deployment" in answers["bound"].text
    assert all(word not in answers["read"].text for word in ("<fieldset", "deployment-form"))


def test_an_endpoint_that_gave_checks_no_answer_is_shown_with_the_reason(service: RunningService, reader: httpx.Client, no: int) -> None:
    with service.database.transaction() as session:
        for _ in range(OPENS_AFTER_FAILURES):
            reason = "The model's endpoint did not answer within 30 seconds (4 attempts)."
            record_no_answer(session, no, reason)

    health = service.client.get("/v1/deployments/loans").json()["endpoint_health"]
    page = reader.get(f"{ADDRESS}/model").text

    assert (health["state"], health["failures"]) == ("open", OPENS_AFTER_FAILURES)
    assert health["tried_again_at"] is not None
    assert 'data-endpoint-health="open"' in page
    assert "did not answer within 30 seconds" in page


def test_under_the_limits_it_says_how_soon_an_unfairness_would_be_found(
    service: RunningService, browser: httpx.Client, no: int, snapshot: SnapshotAssertion
) -> None:
    service.client.put("/v1/deployments/loans/fairness-monitor", json=MONITOR).raise_for_status()
    page = _as(service, browser, Role.READ, no)
    assert "How soon a disparate impact" not in page.get(f"{ADDRESS}/monitor").text

    update_evidence(service.database, grace=timedelta(seconds=0))
    shown = page.get(f"{ADDRESS}/monitor").text
    assert says(words(shown), "How soon a disparate impact", "0.7")
    assert says(words(shown), "168 hours")
    assert words(shown) == snapshot


@pytest.mark.usefixtures("no")
def test_the_endpoint_is_done_after_a_test_of_what_is_stored(service: RunningService, reader: httpx.Client) -> None:
    def is_done() -> bool:
        return re.search(r'<li class="done"><a href="[^"]+step=endpoint"', reader.get(ADDRESS).text) is not None

    def test(model: RowServer, **changes: object) -> bool:
        endpoint = {"url": model.url, "payload_format": "fields_values", "credentials": None, **changes}
        service.client.patch("/v1/deployments/loans", json={"endpoint": endpoint}).raise_for_status()
        before, body = is_done(), {"records": [{"sex": "female", "age": 20}], "find_format": True}
        service.client.post("/v1/deployments/loans/endpoint-tests", json=body).raise_for_status()
        return not before and is_done()

    with row_server(lambda row: {"prediction": "yes" if row["age"] > 18 else "no", "probability": 0.5}) as model:
        model.columns = ["sex", "age"]
        assert test(model)
        model.only = "kserve_v1"
        assert not test(model, page_size=7)  # another format is the one
        assert test(model, payload_format="kserve_v1")
        model.only = "none"
        assert not test(model)
    service.client.patch("/v1/deployments/loans", json={"endpoint": None}).raise_for_status()
    assert not is_done()


def test_the_steps_lead_from_nothing_to_the_first_check(service: RunningService, reader: httpx.Client, no: int) -> None:
    def current() -> list[str]:
        page = reader.get(ADDRESS).text
        return [step for step in STEPS if f'?step={step}" aria-current="step"' in page]

    seen = [current()]
    service.client.put("/v1/deployments/loans/fairness-monitor", json=MONITOR).raise_for_status()
    seen.append(current())
    waiting = reader.get(f"{ADDRESS}?step=log").text
    record = {"features": {"sex": "female", "age": 20}, "prediction": "yes"}
    service.client.post("/v1/deployments/loans/payload-records", json={"records": [record]}).raise_for_status()
    seen.append(current())
    ready = reader.get(ADDRESS).text

    assert no
    assert seen == [["groups"], ["persons"], ["check"]]
    assert "No record has come yet." in waiting
    assert '<noscript><p><a href="">Look again</a></p></noscript>' in waiting
    assert 'id="check-now"' in ready
    assert "First record received ✓" in reader.get(f"{ADDRESS}?step=log").text
    assert reader.get(f"{ADDRESS}?step=none").status_code == 422
    assert reader.get(f"{ADDRESS}/check").status_code == reader.get(f"{ADDRESS}/none").status_code == 404


def test_a_missing_owner_and_purpose_are_said(database: Database, service: RunningService, reader: httpx.Client) -> None:
    stage = scene(database, APPLICANT, monitor_of(SEX), endpoint=None)
    stage.log(applicants(20, 20, 4), NOON)
    stage.check(NOON)
    address = "/deployments/a-model/configure"
    missing = reader.get(address).text
    service.client.patch("/v1/deployments/a-model", json={"owner": "Loans", "purpose": "Decide on loans"}).raise_for_status()
    named = reader.get(address).text

    for page in (missing, named):
        assert "The first check has ended. Optional, and not done: Persons, Endpoint, Alerts." in page
    for said in ("No owner is named, which every report says.", "No purpose is stated, which reports for a regulator say."):
        assert f'{said} <a href="{address}/model">Set it' in missing
        assert said not in named


def test_whose_records_they_are_is_asked_until_it_is_said(service: RunningService, browser: httpx.Client, no: int) -> None:
    browser = _as(service, browser, Role.MANAGE, no)
    path = "/v1/deployments/loans/fairness-monitor"
    service.client.put(path, json=MONITOR).raise_for_status()
    asked = browser.get(ADDRESS).text
    service.client.put(path, json=MONITOR | {"evidence": {"each_record_another_person": True}}).raise_for_status()
    said = browser.get(ADDRESS).text
    declared = service.client.get(path).json()["evidence"]

    assert 'step=persons" aria-current="step"' in asked
    assert "Not said yet: evidence counts at a tenth" in asked
    assert 'step=endpoint" aria-current="step"' in said
    assert re.fullmatch(r"[^()]+ \(key \w{8}\)", declared["declared_by"])
    assert f"as declared by {declared['declared_by']} on {declared['declared_on']}" in browser.get(f"{ADDRESS}/persons").text
    assert browser.get(f"{ADDRESS}/monitor").text.count('data-as="persons"') == 1
    assert browser.get(f"{ADDRESS}/recommended").text.count('data-as="persons"') == 1


def test_a_channel_is_offered_until_a_rule_of_the_deployment_names_one(service: RunningService, browser: httpx.Client, no: int) -> None:
    everybody = _as(service, browser, Role.MANAGE)
    before = everybody.get(f"{ADDRESS}/alerts").text
    service.client.put("/v1/alert-channels/team", json={"name": "Team", "kind": "email", "to": ["team@example.com"]})
    webhook = {"name": "On call", "kind": "webhook", "url": "https://alerts.example.com/in"}
    service.client.put("/v1/alert-channels/on-call", json=webhook).raise_for_status()
    offered = everybody.get(f"{ADDRESS}/alerts").text
    (rule, *_) = service.client.get("/v1/deployments/loans/alert-rules").json()["alert_rules"]
    body = {name: rule[name] for name in ("name", "condition", "remind_after_hours", "enabled")} | {"channels": ["on-call"]}
    service.client.put(f"/v1/deployments/loans/alert-rules/{rule['id']}", json=body).raise_for_status()
    named = everybody.get(f"{ADDRESS}/alerts").text
    bound = _as(service, browser, Role.MANAGE, no).get(f"{ADDRESS}/alerts").text

    assert "Alerts go nowhere" in before
    assert 'id="channel-form"' in before
    assert '<option value="on-call">' in offered
    assert "Alerts go nowhere" not in named
    assert 'id="channel-form"' not in bound
