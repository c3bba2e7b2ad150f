"""Every page in a real browser, over names, values, ids and notes that try to be markup, script, a template or a formula."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from app.alerts.evaluate import evaluate_ended_checks
from app.base.clock import HOUR, floor_to_hour, utc_now
from app.database.engine import Database
from app.domain.check import Trigger
from app.domain.deployment import Column, Deployment, Endpoint, FieldKind, FieldType
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from tests.browsing import Visit, running_browser, visiting
from tests.builders.alerts import judge_single_checks
from tests.models.serving import serve
from tests.scenes import Scene, scene
from tests.service import RunningService, running_service

MARKUP = "\"><img src=x onerror=alert(1)>'{{7*7}}${alert(2)}</td></script><script>alert(3)</script></textarea><svg/onload=alert(4)>--><!--"
FIELD = "a.b[0]['x']\\\"<b>{{8*8}}=cmd|' /C'!A0 datum.constructor"
ADDRESS = "javascript:alert(5)//\u202e\u2066 &amp;&lt;b&gt;"
GROUPS = (MARKUP, ADDRESS, "../../?#%2F%0d%0aX: y")
COLUMNS = (
    Column(name=FIELD, type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
    Column(name=MARKUP, type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
)
MONITOR = Monitor(
    outcomes=OutcomeRule(favourable=(MARKUP,), unfavourable=(ADDRESS,)),
    attributes=(
        MonitoredAttribute(feature=FIELD, monitored=GROUPS[:2], reference=GROUPS[2:]),
        MonitoredAttribute(feature=MARKUP, monitored=GROUPS[:1], reference=GROUPS[1:2]),
    ),
    intersections=((FIELD, MARKUP),),
    min_records=10,
    max_records=1000,
)

INJECTED = (
    "() => document.querySelectorAll('img[src=x], img[onerror], svg[onload], main b, script:not([src]), a[href^=\"javascript:\"]').length"
)


class HostileModel:
    """Approves whoever is in the reference group, in words of its own."""

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        """(the class, 0.9 or 0.1) for each row."""
        place = list(columns).index(FIELD)
        return [(MARKUP, 0.9) if row[place] == GROUPS[2] else (ADDRESS, 0.1) for row in rows]


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    """The service, running on a fresh database."""
    with running_service(database, tmp_path) as service:
        yield service


@pytest.fixture
def stage(database: Database) -> Iterator[Scene]:
    """A watched deployment, nothing logged."""
    with serve(HostileModel()) as server:
        yield scene(database, COLUMNS, MONITOR, endpoint=Endpoint(url=server.url))


def _row(no: int) -> dict[str, Any]:
    first, second = GROUPS[no % 3], GROUPS[no % 2]
    prediction, probability = HostileModel().predict([FIELD], [[first]])[0]
    return {FIELD: first, MARKUP: second, "prediction": prediction, "probability": probability, "id": f"{MARKUP}{no}"}


def _fill(service: RunningService, stage: Scene) -> None:
    """What people write: names of the deployment, a rule, a channel and a key; a check that finds something; a note about it."""
    here, client = f"/v1/deployments/{stage.deployment.id}", service.client
    client.patch(here, json={"name": MARKUP, "model_revision": MARKUP}).raise_for_status()
    channel = {"name": MARKUP, "kind": "webhook", "url": "http://127.0.0.1:9/'%22%3E%3Cscript%3Ealert(6)%3C/script%3E"}
    client.put("/v1/alert-channels/c", json=channel).raise_for_status()
    client.post("/v1/alert-channels/c/tests").raise_for_status()
    rule = {"name": MARKUP, "condition": {"kind": "verdict", "attributes": [FIELD]}, "channels": ["c"]}
    client.put(f"{here}/alert-rules/r", json=rule).raise_for_status()
    client.post("/v1/api-keys", json={"name": MARKUP, "role": "read"}).raise_for_status()
    hour = floor_to_hour(utc_now()) - HOUR
    stage.log([_row(no) for no in range(120)], hour)
    stage.check(hour, trigger=Trigger.SCHEDULE)
    judge_single_checks(stage.database, stage.deployment.no)
    evaluate_ended_checks(stage.database)
    for alert in client.get("/v1/alerts").raise_for_status().json()["alerts"]:
        client.post(f"/v1/alerts/{alert['id']}/acknowledgement", json={"note": MARKUP}).raise_for_status()


def _pages(service: RunningService, deployment: Deployment) -> list[str]:
    here, client = f"/deployments/{deployment.id}", service.client
    check = client.get(f"/v1{here}/checks").json()["checks"][0]
    record = client.get(f"/v1{here}/payload-records?limit=1").json()["payload_records"][0]["id"]
    alerts = client.get("/v1/alerts").json()["alerts"]
    assert check["state"] == "succeeded"
    assert alerts
    hostile = quote(MARKUP)
    return [
        *("/", f"/?text={hostile}", f"/alerts?deployment={hostile[:40]}", f"/alerts/{alerts[0]['id']}", "/alerts/channels"),
        *(f"/activity?actor={hostile}&action={hostile}&deployment={hostile}", "/settings", "/register"),
        *("/activity", here, f"{here}?range=all&metric=statistical_parity_difference", f"{here}/checks", f"{here}/alerts"),
        *(f"{here}/checks/{check['id']}?view={view}" for view in ("openscale", "as_logged", "training", "mitigated")),
        *(f"{here}/transactions", f"{here}/transactions/{quote(record, safe='')}", f"{here}/configure"),
        *(f"/v1{here}/checks/{check['id']}/report.html", f"/v1{here}/report.html"),
    ]


def _look(visit: Visit, path: str) -> list[str]:
    """What went wrong on a page, its details opened."""
    visit.faults.clear()
    visit.go(path)
    visit.page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    visit.settle()
    found = visit.page.evaluate(INJECTED) if not path.startswith("/v1/") else 0
    return [f"{path}: {fault}" for fault in (*visit.faults, *([f"{found} injected elements"] if found else []))]


@pytest.mark.nightly
def test_no_page_takes_a_text_for_markup_or_script(service: RunningService, stage: Scene) -> None:
    _fill(service, stage)
    with running_browser() as browser, visiting(browser, service.base_url) as visit:
        dialogs: list[str] = []
        visit.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        visit.log_in(service.admin_key)

        wrong = [fault for path in _pages(service, stage.deployment) for fault in _look(visit, path)]

    assert (wrong, dialogs) == ([], [])
