"""The story: register a model, define what is fair, log its decisions, have it checked, all by the REST
API.
"""

import contextlib
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import httpx
import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from ...base.clock import HOUR, floor_to_hour
from ...base.errors import SetupError
from ...base.strict_json import JsonObject
from ...base.values import frozen
from ..import_service import read_content, request_until_answered
from .applicants import (
    BAD,
    DECISION,
    FEATURES,
    GOOD,
    Applicant,
    draw_applicants,
    draw_outcomes,
    training_data,
)
from .model_address import OUTPUTS

TIMEOUT_SECONDS = 30


class Stopped(Exception):
    pass


class Http:
    def __init__(
        self, base_url: str, stop: threading.Event, *, headers: dict[str, str] | None = None
    ) -> None:
        self._stop = stop
        # Loopback must not go through a proxy.
        self._client = httpx.Client(
            base_url=base_url, headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False
        )

    def ask(self, method: str, path: str, body: Any = None, **options: Any) -> Any:  # noqa: ANN401 - httpx' options
        """Raises SetupError, Unavailable and Stopped."""
        return read_content(self.request(method, path, json=body, **options))

    def find(self, path: str) -> Any | None:  # noqa: ANN401 - any JSON
        response = self.request("GET", path)
        return None if response.status_code == httpx.codes.NOT_FOUND else read_content(response)

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:  # noqa: ANN401 - as above
        return request_until_answered(self._client, method, path, pause=self._pause, **options)

    def _pause(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise Stopped


DEPLOYMENT_ID = "credit-risk"
ADDRESS = f"/v1/deployments/{DEPLOYMENT_ID}"


class Evenhand(Http):
    def log(self, kind: str, records: Sequence[JsonObject], **query: str) -> None:
        if not records:
            return
        receipt = self.ask("POST", f"{ADDRESS}/{kind}", {"records": list(records)}, params=query)
        if receipt["rejected"]:
            raise SetupError(
                f"{receipt['rejected']} of {receipt['sent']} {kind} were rejected: "
                f"{receipt['rejections'] or receipt['conflicts']}"
            )


def score(model: Http, people: Sequence[Applicant]) -> list[dict[str, Any]]:
    answer = model.ask(
        "POST",
        "/score",
        {"fields": list(FEATURES), "values": [list(applicant.values()) for applicant in people]},
    )
    return [dict(zip(answer["fields"], row, strict=True)) for row in answer["values"]]


SEED = 7
QUIET_VISITS = 150
BUSY_VISITS = 420
BUSIEST_HOUR = 13

SHARE_LABELLED = 0.4
LATEST_LABEL = timedelta(hours=12)


@frozen
class Visit:
    id: str
    at: datetime
    applicant: Applicant


@dataclass(frozen=True, slots=True, order=True)
class Label:
    known_at: datetime
    id: str
    outcome: str

    def record(self) -> JsonObject:
        return {"id": self.id, "label": self.outcome, "labelled_at": self.known_at.isoformat()}


def payload_records(visits: Sequence[Visit], model: Http) -> list[JsonObject]:
    return [
        {
            "id": visit.id,
            "scored_at": visit.at.isoformat(),
            "features": visit.applicant,
            "prediction": answer["prediction"],
            "probability": answer["probability"],
            "label": answer["predictedLabel"],
        }
        for visit, answer in zip(visits, score(model, [visit.applicant for visit in visits]), strict=True)
    ]


def draw_visits(hour: datetime) -> tuple[list[Visit], list[Label]]:
    random = np.random.default_rng([SEED, int(hour.timestamp())])
    wave = (1 + math.cos(2 * math.pi * (hour.hour - BUSIEST_HOUR) / 24)) / 2
    people = draw_applicants(round(QUIET_VISITS + (BUSY_VISITS - QUIET_VISITS) * wave), random)
    times = [hour + share * HOUR for share in sorted(random.random(len(people)))]
    visits = [
        Visit(f"{hour:%Y%m%dT%H}-{no:03}", at, applicant)
        for no, (at, applicant) in enumerate(zip(times, people, strict=True))
    ]
    return visits, draw_labels(visits, LATEST_LABEL, random)


def draw_labels(visits: Sequence[Visit], latest: timedelta, random: np.random.Generator) -> list[Label]:
    drawn = zip(
        visits,
        draw_outcomes([visit.applicant for visit in visits], random),
        random.random((len(visits), 2)),
        strict=True,
    )
    return [
        Label(visit.at + float(delay) * latest, visit.id, outcome)
        for visit, outcome, (chance, delay) in drawn
        if chance < SHARE_LABELLED
    ]


DEPLOYMENT = {
    "id": DEPLOYMENT_ID,
    "name": "Credit risk",
    "problem_type": "binary",
    "features": [{"name": name, "type": kind} for name, kind in FEATURES.items()],
    "outputs": OUTPUTS,
}
MONITOR = {
    "favourable": [GOOD],
    "unfavourable": [BAD],
    "attributes": [
        {
            "feature": "sex",
            "monitored": ["female"],
            "reference": ["male"],
            "threshold": 0.8,
            "upper_threshold": 1.25,
        },
        {
            "feature": "age",
            "monitored": [[18, 25]],
            "reference": [[26, 75]],
            "threshold": 0.8,
            "upper_threshold": 1.25,
        },
    ],
    "intersections": [["sex", "age"]],
    "min_records": 500,
    # Every applicant is made up for one visit.
    "evidence": {"each_record_another_person": True},
    "names": {
        "favourable": f"rated {GOOD}",
        "groups": {
            "sex": {"female": "women", "male": "men"},
            "age": {"18-25": "aged 18–25", "26-75": "aged 26–75"},
        },
    },
}
POLL_SECONDS = 0.2
_UNENDED_STATES = {"queued", "running"}


class Steps:
    def __init__(self, console: Console) -> None:
        self.console = console

    def done(self, what: str) -> None:
        self.console.print(f"[green]✓[/] {what}", highlight=False)

    @contextlib.contextmanager
    def bar(self, doing: str, total: int | None = None) -> Iterator[Callable[[], None]]:
        counts = [] if total is None else [BarColumn(), MofNCompleteColumn()]
        if not self.console.is_terminal:
            yield lambda: None
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"), *counts, TimeElapsedColumn())
        with Progress(*columns, console=self.console, transient=True) as progress:
            task = progress.add_task(doing, total=total)
            yield lambda: progress.advance(task)


@frozen
class Scene:
    evenhand: Evenhand
    model: Http
    model_url: str
    steps: Steps
    stop: threading.Event


def register(scene: Scene) -> None:
    evenhand = scene.evenhand
    endpoint = {"url": scene.model_url}
    stored = evenhand.find(ADDRESS)
    if stored is None:
        evenhand.ask("POST", "/v1/deployments", {**DEPLOYMENT, "endpoint": endpoint})
    elif (stored["endpoint"] or {}).get("url") != scene.model_url:
        evenhand.ask("PATCH", ADDRESS, {"endpoint": endpoint})
    if evenhand.find(f"{ADDRESS}/fairness-monitor") is None:
        evenhand.ask("PUT", f"{ADDRESS}/fairness-monitor", MONITOR)
    if evenhand.find(f"{ADDRESS}/training-data") is None:
        table = {"content": training_data().to_csv(index=False), "headers": {"Content-Type": "text/csv"}}
        evenhand.ask("PUT", f"{ADDRESS}/training-data", params={"label": DECISION}, **table)
    scene.steps.done(
        f"Registered [bold]{DEPLOYMENT_ID}[/], a monitor of sex, age and both, and training data"
    )


def catch_up(scene: Scene, hours: int, now: datetime) -> list[Label]:
    """Traffic of the unchecked ones of the last `hours` hours, each then checked; returns labels still to
    come.
    """
    checks = scene.evenhand.ask("GET", f"{ADDRESS}/checks", params={"limit": 1000})["checks"]
    checked = set()
    for check in checks:
        if check["state"] in _UNENDED_STATES:
            has_records = check["trigger"] == "range"  # left by an interrupted run
        else:
            # Silent hours get scheduled checks too; a check on request is of the present hour.
            has_records = check["trigger"] != "request" and (check["window"] or {}).get("logged_in_span")
        if has_records:
            checked.add(datetime.fromisoformat(check["from"]))
    missing = [
        hour
        for hour in (floor_to_hour(now) - ago * HOUR for ago in range(hours, 0, -1))
        if hour not in checked
    ]
    if not missing:
        scene.steps.done("The hours before this one are logged and checked already")
        return []

    span = f"{len(missing)} hour{'s' if len(missing) > 1 else ''}"
    records = 0
    labels = 0
    pending = list[Label]()
    with scene.steps.bar("Scoring applicants and logging them, hour by hour", total=len(missing)) as advance:
        for hour in missing:
            visits, later = draw_visits(hour)
            due = [label for label in later if label.known_at <= now]
            scene.evenhand.log("payload-records", payload_records(visits, scene.model), historical="true")
            scene.evenhand.log("feedback-records", [label.record() for label in due], historical="true")
            pending += [label for label in later if label.known_at > now]
            records += len(visits)
            labels += len(due)
            advance()
    scene.steps.done(f"Logged {span} of traffic: {records:,} scored applicants, {labels:,} labels")

    too_few = 0
    with scene.steps.bar("Checking hour by hour", total=len(missing)) as advance:
        bounds = [{"from": hour.isoformat(), "to": (hour + HOUR).isoformat()} for hour in missing]
        # All checks are requested before the first wait: the worker always has the next one.
        for check in [scene.evenhand.ask("POST", f"{ADDRESS}/checks", span) for span in bounds]:
            ended = _await_end(scene, check)
            if ended["state"] == "failed":
                raise SetupError(f"The check of the hour {ended['from']} failed: {ended['reason']}")
            too_few += ended["state"] == "insufficient_data"
            advance()
    remark = f"; the first {too_few if too_few > 1 else 'one'} had too few records yet" if too_few else ""
    scene.steps.done(f"Checked {span}{remark}")
    return pending


def check_now(scene: Scene) -> JsonObject:
    with scene.steps.bar("Checking the present hour"):
        check = _await_end(scene, scene.evenhand.ask("POST", f"{ADDRESS}/checks"))
    if check["state"] != "succeeded":
        raise SetupError(f"The check {check['id']} ended as {check['state']}: {check['reason']}")
    window = check["window"]
    scene.steps.done(
        f"Checked the present hour: {window['records']} records, topped up with "
        f"{window['additional_records']} earlier ones"
    )
    return check


def read_measurements(scene: Scene, check: JsonObject) -> Any:  # noqa: ANN401 - any JSON
    return scene.evenhand.ask("GET", f"{ADDRESS}/checks/{check['id']}/measurements", params={"limit": 1000})[
        "measurements"
    ]


def _await_end(scene: Scene, check: JsonObject) -> JsonObject:
    while check["state"] in _UNENDED_STATES:
        check = scene.evenhand.ask("GET", f"{ADDRESS}/checks/{check['id']}")
        if check["state"] in _UNENDED_STATES and scene.stop.wait(POLL_SECONDS):
            raise Stopped
    return check
